// Shapes as they are typed ("1x3x224x224") and as they are shown ("[1,3,224,224]"), and NAME=VALUE arguments.
#pragma once

#include <string>
#include <string_view>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::cli {

struct NamedValue {
  std::string name, value;
};

// Splits at the first '='. `flag` and `form` ("--input", "NAME=FILE") are for the message.
Result<NamedValue> ParseNamedValue(std::string_view flag, std::string_view form, const std::string& text);

// "1x3x224x224", "5", or "scalar" for no extents. Extents are not negative.
Result<Shape> ParseShape(std::string_view text);

std::string ShapeText(const Shape& shape);     // "[1,3,224,224]"; "[]" for a scalar
std::string TypeText(const Tensor& tensor);    // "float32 [1,3,224,224]"
std::string TypeText(const TensorInfo& info);  // "float32 [batch,3,224,224]", "sequence of float32 [2,?]"
std::string TypedShape(const Shape& shape);    // "1x3x224x224", as ParseShape takes it

}  // namespace deputy::cli
