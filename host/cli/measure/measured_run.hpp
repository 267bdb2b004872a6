// Times of a placement and its differences from the CPU, measured for drawings of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::cli {

// Times are medians over the runs, in nanoseconds.
struct MeasuredRun {
  uint32_t runs = 0;
  uint64_t total_ns = 0;
  std::map<std::string, uint64_t> partition_ns;  // partitions of regions are part of their node's
  std::map<std::string, uint64_t> node_ns;       // nodes that a device or a partition of one node measured alone
  std::vector<PartitionVerification> verifications;
};

const char* VerificationText(VerificationResult result);  // "right", "rounding errors", ...

// Compares every partition with the CPU, then runs the model once to warm up and `runs` times.
Result<MeasuredRun> MeasureRun(const Model& model, const std::vector<Tensor>& inputs, uint32_t runs);

}  // namespace deputy::cli
