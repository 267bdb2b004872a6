// The values of a tensor in a few numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/tensor.hpp"

namespace deputy::cli {

struct TensorSummary {
  int64_t count = 0;  // elements; 0 also for a tensor without numbers
  int64_t nans = 0;   // left out of the next three, which are 0 if nothing else is there
  double min = 0, mean = 0, max = 0;
  std::vector<double> first;  // at most five values

  bool has_range() const { return nans < count; }
};

TensorSummary Summarize(const Tensor& tensor);

}  // namespace deputy::cli
