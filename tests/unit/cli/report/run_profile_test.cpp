#include "cli/report/run_profile.hpp"

#include <gtest/gtest.h>

#include <map>

#include "unit/cli/report/profiled_run.hpp"

namespace deputy::cli {
namespace {

using test::OverlappingSteps;
using test::TwoSteps;

std::map<std::string, uint64_t> ByOperator(const RunProfile& profile) {
  std::map<std::string, uint64_t> times;
  for (const OperatorTotal& row : profile.Operators()) times[row.delegate + " " + row.op] = row.time_ns;
  return times;
}

TEST(RunProfileTest, StepsAndTheTimeOutsideOfThemAreTheWholeRun) {
  const RunProfile profile({TwoSteps(5000), TwoSteps(9000)});
  EXPECT_EQ(profile.runs(), 2u);
  EXPECT_EQ(profile.total_ns(), 2000u);
  EXPECT_EQ(profile.before_ns(), 200u);
  EXPECT_EQ(profile.between_ns(), 100u);
  EXPECT_EQ(profile.after_ns(), 200u);
  ASSERT_EQ(profile.steps().size(), 2u);
  EXPECT_EQ(profile.steps()[0].time_ns, 1000u);
  EXPECT_EQ(profile.steps()[0].bytes_moved, 80u);
  EXPECT_EQ(profile.steps()[1].time_ns, 500u);
  ASSERT_EQ(profile.steps()[0].operations.size(), 2u);
  EXPECT_EQ(profile.steps()[0].operations[0].time_ns, 400u);
  EXPECT_EQ(profile.steps()[0].operations[0].clock, "device");
}

TEST(RunProfileTest, CopiesOfTheHostAreARowAndMeansOfARun) {
  const RunProfile profile({TwoSteps(5000), TwoSteps(9000)});
  EXPECT_EQ(profile.ToJson()["steps"][0]["copies"], 4);
  EXPECT_EQ(profile.ToJson()["steps"][0]["bytes_copied"], 160);
  const std::string text = profile.StepTable(0, Terminal()).text();
  EXPECT_NE(text.find("2 tensors copied to and from devices"), std::string::npos) << text;
  EXPECT_EQ(RunProfile({OverlappingSteps(5000)}).StepTable(0, Terminal()).text().find("copied"), std::string::npos);
}

TEST(RunProfileTest, StepsThatOverlapAreLongerThanTheTimeInWhichTheyRan) {
  const RunProfile profile({OverlappingSteps(5000), OverlappingSteps(9000)});
  EXPECT_EQ(profile.before_ns(), 200u);
  EXPECT_EQ(profile.between_ns(), 300u);
  EXPECT_EQ(profile.after_ns(), 100u);
  EXPECT_EQ(profile.overlap_ns(), 800u);
  uint64_t sum = profile.before_ns() + profile.between_ns() + profile.after_ns();
  for (const StepTotal& step : profile.steps()) sum += step.time_ns;
  EXPECT_EQ(sum, profile.total_ns() + profile.overlap_ns());
  EXPECT_EQ(profile.ToJson()["overlap_ns"], 800);
  for (const std::string& text : {profile.StepTable(0, Terminal()).text(), profile.OperatorTable(Terminal()).text()})
    EXPECT_NE(text.find("overlap of steps"), std::string::npos) << text;
}

TEST(RunProfileTest, OperationsOfAPartitionCountForThemselvesAndItsRestAsOther) {
  const RunProfile profile({TwoSteps(5000)});
  EXPECT_EQ(ByOperator(profile),
            (std::map<std::string, uint64_t>{
                {"npu0 Conv+Relu", 200}, {"npu0 (copy out)", 100}, {"npu0 (other)", 200}, {"cpu Softmax", 250}}));
}

TEST(RunProfileTest, APartitionWhoseOperationsAreNotOfItsTimeIsOneRow) {
  ProfiledRun run = TwoSteps(5'000'000);
  run.events[1].begin_ns -= 1'000'000;
  run.events[1].end_ns -= 1'000'000;
  const RunProfile profile({run});
  EXPECT_EQ(ByOperator(profile), (std::map<std::string, uint64_t>{{"npu0 Conv, Relu", 500}, {"cpu Softmax", 250}}));
  EXPECT_EQ(profile.steps()[0].operations[0].clock, "unrelated");
}

TEST(RunProfileTest, APartitionWhoseOperationsAreLongerThanItselfIsOneRow) {
  ProfiledRun run = TwoSteps(5000);
  run.events[1].end_ns += 1000;
  EXPECT_EQ(ByOperator(RunProfile({run})),
            (std::map<std::string, uint64_t>{{"npu0 Conv, Relu", 500}, {"cpu Softmax", 250}}));
}

TEST(RunProfileTest, AStepThatAnotherDelegateRunsHasItsOwnRow) {
  ProfiledRun other = TwoSteps(9000);
  other.events[0].delegate = "cpu";
  const RunProfile profile({TwoSteps(5000), other});
  ASSERT_EQ(profile.steps().size(), 3u);
  EXPECT_EQ(profile.steps()[2].delegate, "cpu");
  EXPECT_EQ(profile.total_ns(), profile.before_ns() + profile.between_ns() + profile.after_ns() +
                                    profile.steps()[0].time_ns + profile.steps()[1].time_ns +
                                    profile.steps()[2].time_ns);
}

TEST(RunProfileTest, ARunWithoutStepsIsTimeOutsideOfThem) {
  ProfiledRun run;
  run.statistics = {1000, 70, {}};
  const RunProfile profile({run});
  EXPECT_EQ(profile.before_ns() + profile.between_ns() + profile.after_ns(), 70u);
}

TEST(RunProfileTest, TheTableOfTheLongestStepsCountsTheOthers) {
  const RunProfile profile({TwoSteps(5000)});
  const std::string text = profile.StepTable(1, Terminal()).text();
  EXPECT_NE(text.find("npu0/0"), std::string::npos) << text;
  EXPECT_EQ(text.find("cpu/0"), std::string::npos) << text;
  EXPECT_NE(text.find("1 other step"), std::string::npos) << text;
  EXPECT_NE(text.find("convolution"), std::string::npos) << text;
  EXPECT_EQ(text.find("copy out"), std::string::npos) << text;
  EXPECT_NE(text.find("  and 1 more"), std::string::npos) << text;
}

TEST(RunProfileTest, JsonHasTheSums) {
  const Json json = RunProfile({TwoSteps(5000)}).ToJson();
  uint64_t sum =
      json["before_ns"].get<uint64_t>() + json["between_ns"].get<uint64_t>() + json["after_ns"].get<uint64_t>();
  for (const Json& row : json["operators"]) sum += row["time_ns"].get<uint64_t>();
  EXPECT_EQ(sum, json["time_ns"].get<uint64_t>());
}

}  // namespace
}  // namespace deputy::cli
