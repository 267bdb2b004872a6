// The comparison of a model's delegates with the CPU, partition by partition, for one set of inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deputy/compare.hpp"

namespace deputy {

// The verdict on a partition.
enum class VerificationResult : uint8_t {
  kRight,
  kRounding,  // differs by more than the tolerance, but not by more than rounding errors of the CPU explain
  kWrong,
  kNotVerified,  // it could not be compared: `detail` has the reason
};

// A partition, compared with the CPU.
struct PartitionVerification {
  std::string delegate;
  std::string plugin;     // its file; empty for a delegate of the application
  std::string partition;  // "npu0/1"
  std::vector<std::string> nodes;
  VerificationResult result = VerificationResult::kRight;
  double max_difference = 0;  // over all elements of all outputs
  std::string detail;
  // If wrong: each a node, or a smallest group of nodes, that is wrong by itself. Empty: only the whole partition is.
  std::vector<std::vector<std::string>> wrong_nodes;
  std::vector<std::string> case_folders;  // that were written, in the order of `wrong_nodes`
  std::vector<std::string> op_types;      // of `nodes`
};

// Tolerances of a verification, and where it writes cases.
struct VerifyOptions {
  ToleranceSettings tolerance;  // goes before that of the configuration
  // For each of the wrong nodes or groups, or a partition without such, a folder in this one gets that part as
  // model.onnx with inputs and expected outputs, in the layout of ONNX's backend tests, and inputs, expected and actual
  // outputs as .npy. Empty: nothing is written.
  std::string folder;
};

}  // namespace deputy
