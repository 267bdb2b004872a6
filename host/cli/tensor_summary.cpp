#include "cli/tensor_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cli/element.hpp"
#include "cli/quantity.hpp"

namespace deputy::cli {
namespace {

constexpr int64_t kFirst = 5;

}  // namespace

TensorSummary Summarize(const Tensor& tensor) {
  if (!IsNumeric(tensor.dtype()) || tensor.element_count() == 0) return {};
  const int64_t count = tensor.element_count();
  double least = HUGE_VAL, most = -HUGE_VAL, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = ElementAt(tensor, i);
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  TensorSummary summary;
  if (nans < count) {
    summary.min = NumberText(least);
    summary.mean = NumberText(sum / static_cast<double>(count - nans));
    summary.max = NumberText(most);
  }
  for (int64_t i = 0; i < std::min(count, kFirst); ++i)
    summary.first += fmt::format("{}{}", i == 0 ? "" : " ", NumberText(ElementAt(tensor, i)));
  if (count > kFirst) summary.first += " ...";
  if (nans != 0) summary.first += fmt::format(" ({} NaN)", nans);
  return summary;
}

}  // namespace deputy::cli
