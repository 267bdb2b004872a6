// Profiled runs made by hand.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_profile.hpp"

namespace deputy::cli::test {

inline RunEvent Step(const std::string& name, const std::string& delegate, std::vector<std::string> nodes,
                     std::vector<std::string> op_types, uint64_t begin_ns, uint64_t end_ns) {
  RunEvent step;
  step.name = step.partition = name;
  step.delegate = delegate;
  step.nodes = std::move(nodes);
  step.op_types = std::move(op_types);
  step.begin_ns = begin_ns;
  step.end_ns = end_ns;
  step.is_step = true;
  return step;
}

inline RunEvent Operation(const std::string& name, std::vector<std::string> nodes, uint64_t begin_ns, uint64_t end_ns) {
  RunEvent operation;
  operation.name = name;
  operation.delegate = "npu0";
  operation.nodes = std::move(nodes);
  operation.begin_ns = begin_ns;
  operation.end_ns = end_ns;
  operation.on_device_clock = true;
  return operation;
}

// From `begin_ns` on 1000 ns: 100 before the steps, a partition of two nodes of 500 with operations of 200 and 100, 50
// between the steps, a node of 250 on the CPU, 100 after the steps.
inline ProfiledRun TwoSteps(uint64_t begin_ns) {
  ProfiledRun run;
  run.statistics.begin_ns = begin_ns;
  run.statistics.total_ns = 1000;
  RunEvent partition = Step("npu0/0", "npu0", {"conv", "relu"}, {"Conv", "Relu"}, begin_ns + 100, begin_ns + 600);
  partition.bytes_in = 40;
  partition.bytes_out = 80;
  partition.bytes_moved = 40;
  partition.copies = 2;
  partition.bytes_copied = 80;
  run.events = {partition, Operation("convolution", {"conv", "relu"}, begin_ns + 200, begin_ns + 400),
                Operation("copy out", {}, begin_ns + 450, begin_ns + 550),
                Step("cpu/0", "cpu", {"softmax"}, {"Softmax"}, begin_ns + 650, begin_ns + 900)};
  return run;
}

// From `begin_ns` on 1000 ns: 100 before the steps, partitions of two devices of 500 each that overlap for 400, a node
// of the CPU of 100 that begins 50 after both, 50 after the steps. The second partition to begin is the first in order.
inline ProfiledRun OverlappingSteps(uint64_t begin_ns) {
  ProfiledRun run;
  run.statistics.begin_ns = begin_ns;
  run.statistics.total_ns = 1000;
  run.events = {Step("npu0/0", "npu0", {"conv"}, {"Conv"}, begin_ns + 200, begin_ns + 700),
                Step("npu1/0", "npu1", {"pool"}, {"MaxPool"}, begin_ns + 100, begin_ns + 600),
                Step("cpu/0", "cpu", {"softmax"}, {"Softmax"}, begin_ns + 850, begin_ns + 950)};
  return run;
}

}  // namespace deputy::cli::test
