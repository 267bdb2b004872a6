// What a session measures of its last run: its time by delegates, and its events.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deputy/health.hpp"

namespace deputy {

// Time of the last Predict, from the call on: with the preparation for shapes that are new, the binding of the inputs
// and the copies of outputs, without a search for another placement.
struct RunStatistics {
  uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  uint64_t total_ns = 0;
  // Per delegate, in the order of the placement report: time of its steps in the host's clock.
  std::vector<std::pair<std::string, uint64_t>> delegate_ns;
  // Per delegate: time in which its device was busy; 0 where it does not report that. Without the measurements of
  // policy `measured` that follow the run.
  std::vector<uint64_t> device_ns{};
  // Per delegate, with profiling: nodes that it has run. Those of a partition that failed are counted for the delegates
  // that ran them instead, which PlacementReport does only once they own them.
  std::vector<std::pair<std::string, uint64_t>> delegate_nodes{};
  // Bound buffers that the host copied in this run, because no delegate that reads or writes the value could use them.
  uint64_t buffer_copies = 0;
  // Failures of delegates, and wrong results, of this run alone; Context::Health has those of all runs.
  std::vector<Incident> incidents{};
};

// An event of the last Predict: a step of the plan, or an operation of a delegate's device in it.
struct RunEvent {
  std::string name;      // the partition's for a step, otherwise the delegate's
  std::string metadata;  // of the delegate, often JSON; empty for a step
  std::string delegate, partition;
  std::vector<std::string> nodes;     // of the model; empty when the delegate does not report them
  std::vector<std::string> op_types;  // of these nodes
  uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC, unless `is_related` is false
  bool is_step = false;               // measured by the host
  bool on_device_clock = false;       // measured by the device
  bool is_related = true;             // false: of a device's clock that its delegate does not relate to the host's
  // Of a step: bytes of its inputs without constants, and of its outputs; and of these inputs, bytes that another
  // delegate or the caller has made.
  uint64_t bytes_in = 0, bytes_out = 0, bytes_moved = 0;
  // Of a step: tensors that the host copied for it between host memory and memory of a device, and their bytes. What
  // delegates copy within their runs is not counted.
  uint64_t copies = 0, bytes_copied = 0;
};

}  // namespace deputy
