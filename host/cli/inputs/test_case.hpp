// One case in the layout of ONNX's backend tests: model.onnx (or model.tflite), and in each test_data_set_* the inputs
// and the expected outputs as input_<i>.pb and output_<i>.pb: a TensorProto, a SequenceProto or an OptionalProto, as
// the model declares.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/inputs/output_compare.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

enum class CaseVerdict { kPass, kFail, kSkip };
const char* NameOf(CaseVerdict verdict);  // "pass", "fail", "skip"

struct CaseOptions {
  ToleranceFlags tolerance;
  std::vector<std::string> excepted;  // outputs compared only by type and shape, by name
  bool via_dpm = false;               // saves the model as .dpm and runs the result
  size_t sessions = 1;                // concurrent, each on its own thread
  size_t in_flight = 0;               // requests of each data set, submitted at once; 0: the caller waits for each run
};

struct CaseResult {
  std::string name;  // of the folder
  CaseVerdict verdict = CaseVerdict::kSkip;
  std::string detail;                                 // reason of a failure or skip; largest difference
  std::vector<std::pair<std::string, size_t>> nodes;  // per delegate, of the last data set
};

// A case that is not supported is skipped with the reason; all other errors are failures of the case.
CaseResult RunCase(const std::filesystem::path& folder, const Context& context, const CaseOptions& options);

}  // namespace deputy::cli
