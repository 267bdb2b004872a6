// The comparison of outputs with references for `run --expect` and `test-case`: tolerance (from the flags, otherwise
// from element type and model), the element type of the comparison, and the description of the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "deputy/compare.hpp"
#include "deputy/verification.hpp"

namespace deputy::cli {

// For a report of differences.
inline constexpr const char* kToleranceHint =
    "for a delegate that computes with fewer bits than its plugin declares: --rtol, --atol-scale, or 'verify' of its "
    "entry";

// --rtol, --atol, --atol-scale and --outliers. Values that are not given follow from the output and the model.
struct ToleranceFlags : ToleranceSettings {
  void AddTo(CLI::App& syntax);
};

// "up (Resize) with lateral (Add)": one of the groups of wrong nodes.
std::string WrongNodesText(const PartitionVerification& partition, const std::vector<std::string>& group);

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
