// ONNX's own notation of types, "seq(tensor(float))", in which an attribute that is a type is stored.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Kind and element type; the notation has no extents.
std::string NotationOf(const ValueType& type);
// kModel for text that is not a type of a value.
Result<ValueType> ParseNotation(std::string_view text);

}  // namespace deputy::host
