// Steps of a run, added per operator.
#include "cli/report/operator_times.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

RunEvent EventOf(const std::string& name, const std::string& delegate, std::vector<std::string> nodes, uint64_t ns,
                 bool is_step = true) {
  RunEvent event;
  event.name = name;
  event.delegate = delegate;
  event.nodes = std::move(nodes);
  event.begin_ns = 1000;
  event.end_ns = 1000 + ns;
  event.is_step = is_step;
  return event;
}

// Three steps; that of the NPU has two events of its device.
std::vector<RunEvent> Events() {
  return {EventOf("cpu/0", "cpu", {"first"}, 300), EventOf("npu0/0", "npu0", {"conv", "relu", "conv2"}, 500),
          EventOf("multiply", "npu0", {"conv"}, 90, false), EventOf("clip", "npu0", {"relu"}, 10, false),
          EventOf("cpu/1", "cpu", {"last"}, 250)};
}

PlacementReport Placed() {
  PlacementReport report;
  for (const auto& [name, op_type] : std::vector<std::pair<std::string, std::string>>{
           {"first", "Softmax"}, {"conv", "Conv"}, {"relu", "Relu"}, {"conv2", "Conv"}, {"last", "Softmax"}}) {
    report.nodes.emplace_back();
    report.nodes.back().name = name;
    report.nodes.back().op_type = op_type;
  }
  return report;
}

TEST(OperatorTimes, StepsOfAnOperatorAreAddedAndDividedByRuns) {
  OperatorTimes times;
  times.Add(Events(), Placed());
  times.Add(Events(), Placed());
  EXPECT_EQ(times.Text(0, Terminal()).text(),
            "  operators   delegate  steps    time   share\n"
            "  Softmax     cpu           2  550 ns  52.4 %\n"
            "  Conv, Relu  npu0          1  500 ns  47.6 %\n");
  const Json rows = times.ToJson();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["operators"], "Softmax");
  EXPECT_EQ(rows[0]["time_ns"], 550);
  EXPECT_EQ(rows[1]["time_share"], 500.0 / 1050);
}

TEST(OperatorTimes, StepsWithoutNodesHaveTheirOwnName) {
  OperatorTimes times;
  times.Add({EventOf("copy", "cpu", {}, 5)}, Placed());
  EXPECT_EQ(times.ToJson()[0]["operators"], "copy");
}

}  // namespace
}  // namespace deputy::cli
