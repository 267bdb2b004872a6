// run --top: the classes with the largest values in a model's outputs, with their labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace deputy::cli {

// --top, --labels and --softmax.
struct TopOptions {
  uint32_t count = 0;  // 0: not asked for
  std::string labels;  // a file; empty: none
  bool softmax = false;

  void AddTo(CLI::App& syntax);
};

struct TopClass {
  int64_t index = 0;  // from 0
  double value = 0;
  std::string label;  // empty without labels
};

// The classes of one row of an output, the largest value first; of equal ones, the lower index first; NaN last.
struct TopRow {
  std::string output;
  int64_t row = 0;
  std::vector<TopClass> classes;
};

// One label a line. kInvalidArgument for a file of more than 16 MiB, kNotFound for a missing one.
Result<std::vector<std::string>> ReadLabels(const std::string& path);

// Of every output whose rows are classes: numeric, [classes] or [rows,classes], or the same with further extents of 1.
// With labels, of those that have as many classes. Empty if --top was not given; otherwise kInvalidArgument if there is
// none.
Result<std::vector<TopRow>> FindTopClasses(const TopOptions& options, const std::vector<std::string>& labels,
                                           const std::vector<TensorInfo>& infos, const std::vector<Tensor>& outputs);

void PrintTopClasses(const std::vector<TopRow>& rows, const Terminal& terminal);
// [{"output", "row", "classes": [{"index", "value", "label"}]}]; label is null without labels.
Json ToJson(const std::vector<TopRow>& rows);

}  // namespace deputy::cli
