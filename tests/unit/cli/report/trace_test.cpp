#include "cli/report/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "unit/cli/report/profiled_run.hpp"

namespace deputy::cli {
namespace {

using test::OverlappingSteps;
using test::TwoSteps;

std::vector<Json> Events(const std::vector<ProfiledRun>& runs, const std::string& phase,
                         const std::vector<DelegateReport>& delegates = {}) {
  const Json trace = Json::parse(TraceJson("models/m.onnx", runs, delegates));
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == phase) events.push_back(event);
  return events;
}

TEST(TraceTest, ProcessesAndThreadsAreNumbersWithNames) {
  std::set<std::pair<std::string, std::string>> names;
  for (const Json& event : Events({TwoSteps(5000)}, "M")) {
    EXPECT_TRUE(event["pid"].is_number_integer());
    EXPECT_TRUE(event["tid"].is_number_integer());
    names.emplace(event["name"], event["args"]["name"]);
  }
  EXPECT_EQ(names, (std::set<std::pair<std::string, std::string>>{{"process_name", "deputy m.onnx"},
                                                                  {"thread_name", "host"},
                                                                  {"process_name", "npu0"},
                                                                  {"thread_name", "operations"}}));
}

TEST(TraceTest, TimesAreMicrosecondsFromTheFirstRun) {
  const std::vector<Json> slices = Events({TwoSteps(5000), TwoSteps(9000)}, "X");
  ASSERT_EQ(slices.size(), 14u);
  EXPECT_EQ(slices[0]["name"], "run 1");
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 1.0);
  EXPECT_EQ(slices[2]["name"], "npu0/0");
  EXPECT_EQ(slices[2]["ts"], 0.1);
  EXPECT_EQ(slices[3]["args"]["clock"], "device");
  EXPECT_NE(slices[3]["pid"], slices[2]["pid"]);
  EXPECT_EQ(slices[7]["name"], "run 2");
  EXPECT_EQ(slices[7]["ts"], 4.0);
}

TEST(TraceTest, BytesMovedAreACounter) {
  const std::vector<Json> counters = Events({TwoSteps(5000)}, "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0]["args"]["bytes"], 40);
  EXPECT_EQ(counters[1]["args"]["bytes"], 0);
}

TEST(TraceTest, TheClockOfADeviceIsACounter) {
  DelegateReport npu;
  npu.name = "npu0";
  npu.has_device = true;
  npu.device.frequency_granted_hz = 800'000'000;
  const std::vector<Json> counters = Events({TwoSteps(5000)}, "C", {npu});
  ASSERT_EQ(counters.size(), 3u);
  EXPECT_EQ(counters[0]["name"], "clock of npu0");
  EXPECT_EQ(counters[0]["args"]["MHz"], 800.0);
}

TEST(TraceTest, OperationsAtOnceAreOnThreadsOfTheirOwn) {
  ProfiledRun run = TwoSteps(5000);
  run.events[2].begin_ns = run.events[1].begin_ns + 10;
  const std::vector<Json> slices = Events({run}, "X");
  EXPECT_EQ(slices[3]["pid"], slices[4]["pid"]);
  EXPECT_NE(slices[3]["tid"], slices[4]["tid"]);
}

TEST(TraceTest, StepsAtOnceAreOnThreadsOfTheirDelegates) {
  const std::vector<ProfiledRun> runs = {OverlappingSteps(5000), OverlappingSteps(9000)};
  std::map<std::string, std::set<Json>> threads;  // of the steps of both runs
  for (const Json& slice : Events(runs, "X")) {
    EXPECT_GE(slice["dur"].get<double>(), 0) << slice;
    if (slice["cat"] == "step") threads[slice["name"]].insert(slice["tid"]);
  }
  ASSERT_EQ(threads.size(), 3u);
  for (const auto& [step, numbers] : threads) EXPECT_EQ(numbers.size(), 1u) << step;
  EXPECT_EQ(threads["npu0/0"], threads["cpu/0"]);
  EXPECT_NE(threads["npu0/0"], threads["npu1/0"]);
  std::set<std::string> names;
  for (const Json& event : Events(runs, "M")) names.insert(event["args"]["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"deputy m.onnx", "host", "host, steps of npu1"}));
}

// Of a clock that is not related to the host's; the durations and distances stay.
TEST(TraceTest, OperationsOfAnotherTimeBeginWithTheirStep) {
  ProfiledRun run = TwoSteps(50'000'000);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    run.events[i].begin_ns -= 40'000'000;
    run.events[i].end_ns -= 40'000'000;
    run.events[i].is_related = false;
  }
  const std::vector<Json> slices = Events({run}, "X");
  EXPECT_EQ(slices[3]["ts"], slices[2]["ts"]);
  EXPECT_EQ(slices[3]["dur"], 0.2);
  EXPECT_EQ(slices[4]["ts"], slices[2]["ts"].get<double>() + 0.25);
  EXPECT_EQ(slices[4]["args"]["clock"], "unrelated");
}

}  // namespace
}  // namespace deputy::cli
