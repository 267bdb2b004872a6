// Values of attributes and small constants as text, for people.
#pragma once

#include <string>

#include "deputy/placed_graph.hpp"

namespace deputy::cli {

// "1, 1, 2, 2"; a tensor begins with its type. After the first elements of a long list: "... (512 in all)"; long texts
// are cut.
std::string AttributeText(const AttributeValue& value);

// "float32 [4]: 0.1, 0.2, 0.3, 0.4"; a tensor of more than a few elements has its type only, so that weights are not
// read from the file.
std::string ConstantText(const Tensor& constant);

}  // namespace deputy::cli
