// Other values for the inputs of a case: those of the fixed cases are multiples of 1/32, which every float type holds,
// so that they cannot show a delegate that computes in a narrower type than it says, nor one that mistreats numbers at
// the ends of a type.
#pragma once

#include <optional>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// Floats with all bits of their fraction, in the range of the case's own values, so that functions stay inside of their
// domain. Nothing for operators whose result depends on ties, or that read floats as positions.
std::optional<Case> WithFullMantissas(const Case& tested, uint64_t seed);

// One case each, as far as the operator's definition gives a result for it: NaN, infinities, signed zeros, subnormal
// numbers; numbers whose exponentials are infinite or zero; the ends of integer types, and integers that no float of
// that size holds.
std::vector<Case> WithSpecialValues(const Case& tested, uint64_t seed);

}  // namespace deputy::conformance
