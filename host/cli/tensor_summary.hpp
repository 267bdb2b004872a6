// A tensor in one line: its range and its first values.
#pragma once

#include <string>

#include "deputy/tensor.hpp"

namespace deputy::cli {

// Texts; empty for a tensor without numbers. NaNs are left out of the range and counted after the first values.
struct TensorSummary {
  std::string min, mean, max, first;
};

TensorSummary Summarize(const Tensor& tensor);

}  // namespace deputy::cli
