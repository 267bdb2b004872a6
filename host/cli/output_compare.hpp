// The comparison of outputs with reference outputs, one for `run --expect` and `test-case`: how far an output may be
// off (what the flags say, otherwise what its element type and its model call for), in which element type the two are
// compared, and what is said about the result.
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

// --rtol, --atol, --atol-scale and --outliers. What is not given follows from the output and the model.
struct ToleranceFlags {
  std::optional<double> rtol, atol, atol_scale, outliers;

  void AddTo(CLI::App& syntax);
};

// The properties of a model that bear on its accuracy.
struct ModelTraits {
  bool network = false;    // more than a few nodes: rounding errors add up
  bool quantized = false;  // rounds values between its nodes to a few bits: the last bit of a sum may show as a step
  std::string drawing;     // a node that draws random numbers, so that no outputs can be expected; empty without one
};
ModelTraits TraitsOf(const PlacementReport& placement);

// Floats: atol-scale 1e-6, which is eight units in the last place of the largest element in single precision. 16-bit
// floats: rtol 1e-2, and atol-scale 1e-3, two units in theirs. Networks: atol-scale 1e-5, and a largest magnitude of
// 0.01 at least: outputs that all are smaller are the tails of a sigmoid or softmax, in which relative accuracy means
// nothing. Quantized models: one element in a hundred may be off by one quantization step, which is one for integers of
// 8 bits, and for floats, whose steps are not known here, 1/16 of the largest magnitude: two steps and more of data
// that fill their range to a quarter. Everything else: the defaults of Tolerance.
Tolerance ToleranceFor(const ToleranceFlags& given, DType output, const ModelTraits& model);

// Compares outputs one by one and sums up. Both tensors must hold memory; nothing else is required of them.
class OutputComparer {
 public:
  explicit OutputComparer(const ToleranceFlags& given) : given_(given) {}

  void set_model(ModelTraits model) { model_ = std::move(model); }
  // Empty if `got` is close enough to `want`, otherwise how it differs. Floats are compared in the type of `want`.
  std::string Compare(const std::string& name, const Tensor& got, const Tensor& want);
  // Adds to the summary what else the reader must know; the same note only once.
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
