// Cases near to one that a delegate takes: the same node with one thing changed. A delegate that takes few forms of an
// operator takes many of these, so that there are as many cases of it as of others.
#pragma once

#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// Matrices with an odd number of rows and wide columns, images whose area needs more than 15 bits, or 16: for operators
// whose operands depend on each other, so that CaseIn has no such form.
std::vector<Case> Wider(const Case& tested, uint64_t seed);

// The same axes, counted from the other end, or written where they were the default; and data of four extents.
std::vector<Case> WithOtherAxes(const Case& tested, uint64_t seed);

// Other extents of the data.
std::vector<Case> OtherExtents(const Case& tested, uint64_t seed);

// All combinations of the attributes by which the forms of an operator differ that delegates take, in plain shapes;
// none for most operators.
std::vector<Case> CombinationsOf(const std::string& op_type, uint64_t seed);

}  // namespace deputy::conformance
