// One case in the layout of ONNX's backend tests: model.onnx (or model.tflite), and in each test_data_set_* the inputs
// and the expected outputs as input_<i>.pb and output_<i>.pb: a TensorProto, a SequenceProto or an OptionalProto, as
// the model declares.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_compare.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

enum class CaseVerdict { kPass, kFail, kSkip };
const char* NameOf(CaseVerdict verdict);  // "pass", "fail", "skip"

struct CaseOptions {
  ToleranceFlags tolerance;
  std::vector<std::string> excepted;  // outputs of which only type and shape count, by name
  bool via_dpm = false;               // saves the model as .dpm first, and runs that
  size_t sessions = 1;                // at once, each on a thread of its own
};

struct CaseResult {
  std::string name;  // the folder's own
  CaseVerdict verdict = CaseVerdict::kSkip;
  std::string detail;                                 // why it failed or was skipped; how far off it was
  std::vector<std::pair<std::string, size_t>> nodes;  // per delegate, of the last data set
};

// What nobody here supports is skipped with the reason; everything else that goes wrong is a failure of the case.
CaseResult RunCase(const std::filesystem::path& folder, const Context& context, const CaseOptions& options);

}  // namespace deputy::cli
