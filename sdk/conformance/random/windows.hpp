// Windows over the spatial dimensions: a kernel with its strides, dilations and pads, of which some keep their default.
#pragma once

#include <string>

#include "random/draft.hpp"

namespace deputy::conformance {

struct Window {
  reference::Dims kernel, strides, dilations, pads, input, output;
};

// A window over `rank` dimensions and an input that it fits into; sets strides, dilations, pads and auto_pad.
// `auto_pads` are the allowed values of auto_pad.
Window DrawWindow(Draft& d, size_t rank, const std::vector<std::string>& auto_pads);

inline const std::vector<std::string>& EveryAutoPad() {
  static const auto* const words = new std::vector<std::string>{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  return *words;
}

}  // namespace deputy::conformance
