// The times of the steps of runs, added per operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {

// Sums over one or more runs. A partition that is run as one step counts for its operators together.
class OperatorTimes {
 public:
  void Add(const std::vector<RunEvent>& events, const PlacementReport& placement);
  // The time of a run, the longest first; `top` rows, 0: all.
  Shown Text(size_t top, const Terminal& terminal) const;
  // All rows: `operators`, `delegate`, `steps`, `time_ns` (a run), `time_share`.
  Json ToJson() const;

 private:
  struct Sum {
    std::string operators, delegate;
    uint64_t steps = 0, ns = 0;
  };
  std::vector<Sum> Sorted() const;

  uint64_t runs_ = 0;
  std::map<std::pair<std::string, std::string>, Sum> sums_;
};

}  // namespace deputy::cli
