// The events of profiled runs: a table of the steps and one of the operators, each with parts that add up to the runs,
// less the time in which steps overlapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/profile.hpp"

namespace deputy::cli {

// A run with events enabled.
struct ProfiledRun {
  RunStatistics statistics;
  std::vector<RunEvent> events;  // a step, then its operations
};

// An operation of a delegate in a step. Times here and below are sums over all runs, in nanoseconds.
struct OperationTotal {
  std::string name, clock, metadata;  // clock: "host"; "device"; "unrelated" to the host's
  std::vector<std::string> nodes;
  uint64_t time_ns = 0;
};

struct StepTotal {
  std::string name, delegate;
  std::vector<std::string> nodes, op_types;
  uint64_t time_ns = 0, bytes_in = 0, bytes_out = 0, bytes_moved = 0;
  uint64_t copies = 0, bytes_copied = 0;
  std::vector<OperationTotal> operations;
};

// Steps that run one operator, and operations of delegates, by operator.
struct OperatorTotal {
  std::string op, delegate;
  size_t nodes = 0;  // in one run
  uint64_t time_ns = 0;
};

class RunProfile {
 public:
  explicit RunProfile(const std::vector<ProfiledRun>& runs);

  size_t runs() const { return run_ns_.size(); }
  uint64_t total_ns() const { return total_ns_; }
  // Time of the host outside of steps: before the first one, between them, after the last one. With the steps it is
  // total_ns() and overlap_ns().
  uint64_t before_ns() const { return before_ns_; }
  uint64_t between_ns() const { return between_ns_; }
  uint64_t after_ns() const { return after_ns_; }
  // By how much the sum of the steps exceeds the time in which any of them ran; 0 where they run one after another.
  uint64_t overlap_ns() const { return overlap_ns_; }
  const std::vector<StepTotal>& steps() const { return steps_; }
  // The longest first. Of a partition whose delegate reports operations that lie within the step, each operation counts
  // for itself, and the rest of the step as "other"; another partition of several nodes is one row. With the host's
  // time outside of steps they are total_ns() and overlap_ns().
  std::vector<OperatorTotal> Operators() const;

  // Means of a run. The `top` longest steps, each with its `top` longest operations, in the order of the run; 0: all.
  Shown StepTable(size_t top, const Terminal& terminal) const;
  Shown OperatorTable(const Terminal& terminal) const;
  // Keys of `deputy profile --json`, without the model.
  Json ToJson() const;

 private:
  void Add(const ProfiledRun& run);

  std::vector<uint64_t> run_ns_;
  uint64_t total_ns_ = 0, before_ns_ = 0, between_ns_ = 0, after_ns_ = 0, overlap_ns_ = 0;
  std::vector<StepTotal> steps_;
};

// When the steps of a run took place; those of one that has none are 0.
struct StepTimes {
  uint64_t begin_ns = 0, end_ns = 0;        // of the first one to begin, of the last one to end
  uint64_t between_ns = 0, overlap_ns = 0;  // as in RunProfile
};
StepTimes TimesOfSteps(const std::vector<RunEvent>& events);

// Whether the times of the operations of a step can be those of the same clock as the step's.
bool LieWithin(const RunEvent& step, const RunEvent* operations, size_t count);

}  // namespace deputy::cli
