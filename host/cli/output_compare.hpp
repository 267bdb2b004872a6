// The comparison of outputs with references for `run --expect` and `test-case`: tolerance (from the flags, otherwise
// from element type and model), the element type of the comparison, and the description of the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/tensor_compare.hpp"
#include "deputy/dtype.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

// --rtol, --atol, --atol-scale and --outliers. Values that are not given follow from the output and the model.
struct ToleranceFlags {
  std::optional<double> rtol, atol, atol_scale, outliers;

  void AddTo(CLI::App& syntax);
};

// The properties of a model that bear on its accuracy.
struct ModelTraits {
  bool network = false;    // more than a few nodes: rounding errors add up
  bool quantized = false;  // quantizes values between its nodes: the last bit of a sum may become a step
  std::string drawing;     // a node that generates random numbers, so that outputs cannot be compared; or empty
};
ModelTraits TraitsOf(const PlacementReport& placement);

// Floats: atol-scale 1e-6, which is eight units in the last place of the largest element in single precision. 16-bit
// floats: rtol 1e-2, and atol-scale 1e-3, two units in theirs. Networks: atol-scale 1e-5, and a largest magnitude of at
// least 0.01: smaller outputs are the tails of a sigmoid or softmax, in which relative accuracy has no meaning.
// Quantized models: one element in a hundred may be off by one quantization step, which is one for 8-bit integers, and
// for floats, whose steps are unknown here, 1/16 of the largest magnitude: at least two steps of data that use a
// quarter of their range. All others: the defaults of Tolerance.
Tolerance ToleranceFor(const ToleranceFlags& given, DType output, const ModelTraits& model);

// Compares outputs one by one and summarizes the results. Both tensors must hold memory; there are no other
// requirements.
class OutputComparer {
 public:
  explicit OutputComparer(const ToleranceFlags& given) : given_(given) {}

  void set_model(ModelTraits model) { model_ = std::move(model); }
  // Empty if `got` is close enough to `want`, otherwise the difference. Floats are compared in the type of `want`.
  std::string Compare(const std::string& name, const Tensor& got, const Tensor& want);
  // Adds a note to the summary; the same note only once.
  void Note(std::string note);
  // "max |d| 1e-07, 2 of 100 elements off by one quantization step, 'y' compared as float64"
  std::string Summary() const;

 private:
  ToleranceFlags given_;
  ModelTraits model_;
  std::vector<std::string> notes_;
  int64_t outliers_ = 0, elements_ = 0;
  double max_difference_ = 0;
};

}  // namespace deputy::cli
