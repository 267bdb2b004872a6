// Comparison of tensors, and the tolerances for results of correct engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "deputy/dtype.hpp"
#include "deputy/tensor.hpp"
#include "deputy/tolerance.hpp"

namespace deputy {

// The result of a comparison; `ok` is the answer, the rest explains it.
struct Comparison {
  bool ok = true;
  std::string misfit;  // another dtype or shape; then nothing was compared
  int64_t elements = 0, wrong = 0;
  int64_t outliers = 0;       // if there are more than allowed, also counted in `wrong`
  double max_difference = 0;  // over all elements
  // The element that exceeds its tolerance most; only if `wrong`.
  Shape worst_index;
  double worst_got = 0, worst_want = 0, worst_difference = 0, worst_allowed = 0;
  // "3 of 10 elements differ, worst at [0,7]: got 1.5, want 1.25, |d| 0.25, allowed 0.00125", or the misfit; empty: ok.
  std::string description;
};

// The properties of a model, or of a part of one, that bear on its accuracy.
struct ModelTraits {
  size_t nodes = 0;
  bool quantized = false;  // quantizes values between its nodes: the last bit of a sum may become a step
  std::string drawing;     // a node that generates random numbers, so that outputs cannot be compared; or empty
  // The narrowest float type in which a delegate of the model has declared to compute; undefined: none has.
  DType computes_in = DType::kUndefined;

  // More than a few nodes: rounding errors add up.
  bool is_network() const { return nodes > 10; }
};

// Floats: atol-scale 1e-6, which is eight units in the last place of the largest element in single precision. 16-bit
// floats: rtol 1e-2, and atol-scale 1e-3, two units in theirs. Networks: atol-scale 1e-5, and a largest magnitude of at
// least 0.01: smaller outputs are the tails of a sigmoid or softmax, in which relative accuracy has no meaning.
// Quantized models: one element in a hundred may be off by one quantization step, which is one for 8-bit integers, and
// for floats, whose steps are unknown here, 1/16 of the largest magnitude: at least two steps of data that use a
// quarter of their range. Floats that a delegate has computed in a narrower type: 16 units in the last place of that
// type, relative and of the largest magnitude; in networks the latter is 64 units. Integers of more than two bytes,
// which are indices, counts and sums of integers: rtol 0, unless the model is quantized. All others: the defaults of
// Tolerance.
Tolerance ToleranceFor(const ToleranceSettings& given, DType output, const ModelTraits& model);

// NaN equals NaN, an infinity only itself. Equal bits are always equal; different 64-bit integers differ by at least 1.
Comparison CompareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/compare.hpp"  // IWYU pragma: export
#endif
