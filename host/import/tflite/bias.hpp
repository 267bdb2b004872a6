// The bias of a convolution or product, in real numbers.
#pragma once

#include <cstdint>

#include "import/tflite/operation.hpp"

namespace deputy::host::tflite_import {

// Indexes of inputs.
struct BiasPlaces {
  size_t input, weights, bias;
};

// kNone where the operator has none. Integers are sums of products: their scale is the input's times the weights',
// regardless of the scale in the file.
Result<ValueId> ImportBias(const Operation& op, BiasPlaces places, int64_t channels);

}  // namespace deputy::host::tflite_import
