#include "cli/report/tensor_summary.hpp"

#include <algorithm>
#include <cmath>

#include "cli/inputs/element.hpp"

namespace deputy::cli {

TensorSummary Summarize(const Tensor& tensor) {
  TensorSummary summary;
  if (!IsNumeric(tensor.dtype()) || tensor.element_count() == 0) return summary;
  constexpr int64_t kFirst = 5;
  summary.count = tensor.element_count();
  double least = HUGE_VAL, most = -HUGE_VAL, sum = 0;
  for (int64_t i = 0; i < summary.count; ++i) {
    const double value = ElementAt(tensor, i);
    if (i < kFirst) summary.first.push_back(value);
    if (std::isnan(value)) {
      ++summary.nans;
      continue;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  if (!summary.has_range()) return summary;
  summary.min = least;
  summary.mean = sum / static_cast<double>(summary.count - summary.nans);
  summary.max = most;
  return summary;
}

}  // namespace deputy::cli
