// Numpy's rule of broadcasting, one element at a time.
#pragma once

#include "reference/tensor.hpp"

namespace deputy::conformance::reference {

// The shape that both broadcast to.
Dims BroadcastDims(const Dims& a, const Dims& b);

// The position of the element of `shape` at `index` (an index of a shape that it broadcasts to).
int64_t BroadcastFlat(const Dims& shape, const Dims& index);

}  // namespace deputy::conformance::reference
