// Small models of the patterns that graph compilers rewrite: a bias that is folded into a product, a Transpose that
// moves, padding that is folded into a convolution, two nodes that become one. Each is as close as possible to the
// pattern for which the rewrite is right without being one: extents are equal, so that a wrong axis has a valid shape.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/models.hpp"

namespace deputy::conformance {

// With floats of `dtype`.
std::vector<ModelCase> Patterns(deputy_dtype dtype, uint64_t seed);

// Two nodes of one operator that differ in an attribute, or in their constants, in one model: a compiler, and the bytes
// of an executable, must keep both.
std::vector<ModelCase> RepeatedOperators(deputy_dtype dtype, uint64_t seed);

}  // namespace deputy::conformance
