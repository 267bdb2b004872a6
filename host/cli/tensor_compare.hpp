// Comparison of tensors: |got - want| <= atol + atol_scale * max|want| + rtol * |want|, for every element, or for all
// but a share that are off by at most a step.
#pragma once

#include <cstdint>
#include <string>

#include "deputy/tensor.hpp"

namespace deputy::cli {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  double atol_scale = 0;       // times the largest finite magnitude of the reference
  double least_magnitude = 0;  // lower bound of that largest magnitude
  // At most this share of the elements may be further off, by no more than step + step_scale times that magnitude.
  double outliers = 0, step = 0, step_scale = 0;
};

struct Comparison {
  bool ok = true;
  std::string misfit;  // another dtype or shape; then nothing was compared
  int64_t elements = 0, wrong = 0;
  int64_t outliers = 0;       // if there are more than allowed, also counted in `wrong`
  double max_difference = 0;  // over all elements
  // The element that exceeds its tolerance most; only if `wrong`.
  Shape worst_index;
  double worst_got = 0, worst_want = 0, worst_difference = 0, worst_allowed = 0;
};

// NaN equals NaN, an infinity only itself. Equal bits are always equal; different 64-bit integers differ by at least 1.
Comparison CompareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

// "3 of 10 elements differ, worst at [0,7]: got 1.5, want 1.25, |d| 0.25, allowed 0.00125", or the misfit.
std::string DescribeMismatch(const Comparison& comparison);

}  // namespace deputy::cli
