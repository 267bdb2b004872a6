// The colours of delegates in drawings of a graph.
#pragma once

#include <cstddef>
#include <string>

namespace deputy::cli {

// "#3b78c2" for the delegate at this place of the order of `count`; the last one, the CPU, is grey. Also distinct with
// a weak perception of red and green; repeated after the eighth.
std::string DelegateColour(size_t index, size_t count);

// The same colour, light enough for black text on it.
std::string PaleColour(const std::string& colour);

}  // namespace deputy::cli
