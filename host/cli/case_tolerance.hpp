// How far an output of a case may be off: what the flags say, otherwise what its element type and model call for.
#pragma once

#include <optional>
#include <string>

#include "cli/tensor_compare.hpp"
#include "deputy/dtype.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

// As given on the command line; what is not given follows from the output.
struct CaseTolerance {
  std::optional<double> rtol, atol, atol_scale, outliers;
};

// What of a model bears on its accuracy.
struct CaseModel {
  bool network = false;    // more than a few nodes: rounding adds up
  bool quantized = false;  // rounds values between its nodes to a few bits: the last bit of a sum may show as a step
  std::string drawing;     // a node that draws numbers: its outputs are like no others; empty without one
};
CaseModel CaseModelOf(const PlacementReport& placement);

// Floats: atol-scale 1e-6, which is eight units in the last place of the largest element in single precision. 16-bit
// floats: rtol 1e-2, and atol-scale 1e-3, two units in theirs. Networks: atol-scale 1e-5, and a largest magnitude of
// 0.01 at least: outputs that all are smaller are the tails of a sigmoid or softmax, in which relative accuracy means
// nothing. Quantized models: one element in a hundred may be a step off, which is one for integers of 8 bits, and for
// floats, whose steps are not known here, 1/16 of the largest magnitude: two steps and more of data that fill their
// range to a quarter. Everything else: the defaults of Tolerance.
Tolerance ToleranceFor(const CaseTolerance& given, DType output, const CaseModel& model);

}  // namespace deputy::cli
