// Bounds of comparisons of tensors: |got - want| <= atol + atol_scale * max|want| + rtol * |want|, for every element,
// or for all but a share that are off by at most a step.
#pragma once

#include <optional>

#include "deputy/dtype.hpp"

namespace deputy {

// The bounds of a comparison; the formula is at the top of this file.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  // Times the largest finite magnitude of the reference, of those below half of the largest number of its type: what is
  // above is a mask, or the maximum of nothing.
  double atol_scale = 0;
  double least_magnitude = 0;  // lower bound of that largest magnitude
  // At most this share of the elements may be further off, by no more than step + step_scale times that magnitude.
  double outliers = 0, step = 0, step_scale = 0;
};

// Tolerances that are given; the others follow from the output and the model.
struct ToleranceSettings {
  std::optional<double> rtol, atol, atol_scale, outliers;
  DType computes_in = DType::kUndefined;  // the float type in which the results were computed, if it is known
};

}  // namespace deputy
