// A tensor in a line: its range and its first values.
#pragma once

#include <string>

#include "deputy/tensor.hpp"

namespace deputy::cli {

// Texts; empty where there is nothing to say. NaNs are left out of the range and counted behind the first values.
struct TensorSummary {
  std::string min, mean, max, first;
};

TensorSummary Summarize(const Tensor& tensor);

}  // namespace deputy::cli
