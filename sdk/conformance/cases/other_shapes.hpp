// The same node with the same constants, and inputs of other extents.
#pragma once

#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// None for operators whose inputs cannot change alone. Labels name the new extents of the first input.
std::vector<Case> OtherShapes(const Case& tested);

}  // namespace deputy::conformance
