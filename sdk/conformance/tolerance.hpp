// The allowed error of a delegate's element, with the reason.
#pragma once

#include <cstdint>
#include <string>

#include "case.hpp"

namespace deputy::conformance {

// An element may differ by absolute + relative * |expected| + scaled * LargestMagnitude(expected).
struct Tolerance {
  double absolute = 0, relative = 0, scaled = 0;
  std::string reason;         // "float32; 36 products are summed"
  bool signed_zeros = false;  // the sign of a zero must be right as well

  double For(double expected, double largest) const;
};

// Does the operator only move elements, so that every bit of them must arrive?
bool OnlyMoves(const reference::Node& node);

// For output `output` of a case whose outputs are of type `dtype`. `computes_in` is the narrowest float format that the
// delegate says it computes in; undefined: that of the tensors.
Tolerance ToleranceOf(const Case& tested, deputy_dtype dtype, deputy_dtype computes_in);

// Whether a finite number has at least half the magnitude of the largest one of its floating-point type: a mask, or the
// maximum of nothing, which says nothing about the size of other elements.
bool IsLimit(deputy_dtype dtype, double value);
// Of the finite elements, without such limits.
double LargestMagnitude(const Tensor& tensor);

// "" when they agree; else the largest error, its position, and the tolerance. An infinity is right for an infinity of
// the same sign, and for a number that differs from it by the rounding at the end of the type.
std::string Difference(const Tensor& got, const Tensor& expected, const Tolerance& tolerance);

}  // namespace deputy::conformance
