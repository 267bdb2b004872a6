// Delegates that compute wrongly, each in a way of its own: every answer is the CPU's all the same, the guilty nodes
// are named and run by another delegate from then on, and what was found is known at the next start.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <thread>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/temp_folder.hpp"
#include "support/test_clock.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

using Names = std::set<std::string>;

const std::string kEach = "{when: first_run, every: 1}";

// An input of the pyramid: numbers from -scale to scale.
struct Picture {
  int64_t count = 1, edge = 8;
  float scale = 1;

  Tensor Make() const {
    Tensor tensor = *Tensor::Allocate(DType::kFloat32, {count, 3, edge, edge});
    uint32_t state = 1;
    for (float& value : tensor.mutable_values<float>()) {
      state = state * 1664525u + 1013904223u;
      value = scale * (static_cast<float>(state >> 8) / static_cast<float>(1u << 23) - 1);
    }
    return tensor;
  }
};

// What a context is made of, beside the folders of the test.
struct Scenario {
  std::string fault = "none", op_type = {}, verify = "first_run", entry = {};
  int error = 0;  // added to wrong elements; 0: the fixture's own
};

class VerificationTest : public testing::Test {
 protected:
  VerificationTest() {
    std::filesystem::create_directory(folder_.path() / "plugins");
    std::filesystem::copy(DEPUTY_TEST_FIXTURES "/wrong_fusions.so", plugin_);
    Context cpu = Read("log: {level: \"off\"}\n");
    EXPECT_TRUE(cpu_.Build(DEPUTY_TEST_MODELS "/pyramid.onnx", cpu).ok());
  }

  Context Read(const std::string& text) const {
    return *Context::FromYamlText("t.yaml", "version: 1\nplugins: {paths: [" + plugin_.parent_path().string() +
                                                "]}\ncache: {dir: " + (folder_.path() / "store").string() + "}\n" +
                                                text);
  }
  Context Make(const Scenario& setup) const {
    return Read("log: {level: debug}\ndelegates:\n- name: wrong_fusions\n  options: {fault: " + setup.fault +
                ", operator: \"" + setup.op_type + "\", error: " + std::to_string(setup.error) +
                ", trace: " + trace_.string() + "}\n  isolation: none\n  verify: " + setup.verify + "\n" + setup.entry);
  }
  // A model of a context of its own, as in another process.
  void Start(const Scenario& setup, const std::string& model = "pyramid") {
    model_ = Model();
    context_ = Make(setup);
    lines_.emplace(LogLevel::kDebug);
    std::filesystem::remove(trace_);
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/" + model + ".onnx", context_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  std::vector<float> Expected(const Picture& picture) {
    Session session = *cpu_.CreateSession();
    return Answer(session, picture.Make());
  }
  void ExpectAnswer(Session& session, const Picture& picture) {
    const std::vector<float> got = Answer(session, picture.Make()), want = Expected(picture);
    ASSERT_EQ(got.size(), want.size());
    float largest = 0.01F;
    for (const float value : want) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-5F * largest + 1e-3F * std::fabs(want[i])) << "element " << i;
  }

  size_t Verifications() const { return lines_->Count("verified partition"); }
  // The values that the delegate made in each run of a partition.
  std::vector<Names> Runs() const {
    std::vector<Names> runs;
    std::istringstream text(host::ReadAll<std::string>(trace_));
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      runs.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
    return runs;
  }
  static Names NodesOf(const PlacementReport& report, const std::string& delegate) {
    Names names;
    for (const NodeReport& node : report.nodes)
      if (node.delegate == delegate) names.insert(node.name);
    return names;
  }
  static Names All(const PlacementReport& report) {
    Names names;
    for (const NodeReport& node : report.nodes) names.insert(node.name);
    return names;
  }

  const host::TempFolder folder_;
  const std::filesystem::path plugin_ = folder_.path() / "plugins" / "wrong_fusions.so",
                              trace_ = folder_.path() / "runs";
  Model cpu_;
  Context context_;
  Model model_;
  std::optional<LogLines> lines_;
};

struct Fault {
  const char* name;
  Scenario setup;
  std::vector<Picture> pictures;  // the fault shows with the last one
  std::vector<Names> groups;      // guilty ones; none: the whole partition
};
std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.name; }

class FaultTest : public VerificationTest, public testing::WithParamInterface<Fault> {
 protected:
  Names Guilty(const PlacementReport& report) const {
    if (GetParam().groups.empty()) return All(report);
    Names names;
    for (const Names& group : GetParam().groups) names.insert(group.begin(), group.end());
    return names;
  }
  bool IsGuilty(const Names& run) const {
    if (GetParam().groups.empty()) return true;
    return std::any_of(GetParam().groups.begin(), GetParam().groups.end(), [&](const Names& group) {
      return std::includes(run.begin(), run.end(), group.begin(), group.end());
    });
  }
};

TEST_P(FaultTest, AnswersAreTheCpusAndOnlyTheGuiltyNodesMove) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam().setup));
  std::optional<Session> one = std::move(*model_.CreateSession()), other = std::move(*model_.CreateSession());
  for (const Picture& picture : GetParam().pictures)
    for (int run = 0; run < 3; ++run)
      for (Session* session : {&*one, &*other}) ASSERT_NO_FATAL_FAILURE(ExpectAnswer(*session, picture));

  const PlacementReport report = *one->Placement();
  const Names guilty = Guilty(report);
  EXPECT_EQ(NodesOf(report, "cpu"), guilty) << lines_->text();
  for (const NodeReport& node : report.nodes) {
    if (guilty.count(node.name) == 0) continue;
    ASSERT_FALSE(node.refusals.empty());
    EXPECT_EQ(node.refusals[0].reason, "wrong result");
    EXPECT_NE(node.refusals[0].detail.find("partition wrong_fusions/0 (13 nodes)"), std::string::npos);
    EXPECT_NE(node.refusals[0].detail.find(plugin_.string()), std::string::npos) << node.refusals[0].detail;
  }
  const HealthReport health = context_.Health();
  EXPECT_TRUE(health.degraded);
  ASSERT_EQ(health.incidents.size(), 1u);
  EXPECT_EQ(health.incidents[0].delegate, "wrong_fusions");
  EXPECT_EQ(health.incidents[0].partition, "wrong_fusions/0");
  EXPECT_EQ(health.incidents[0].nodes, guilty.size());
  EXPECT_EQ(health.incidents[0].taken_over, "cpu");
  for (const std::string& node : GetParam().groups.empty() ? Names() : guilty) {
    EXPECT_NE(health.incidents[0].failure.find("'" + node + "'"), std::string::npos) << health.incidents[0].failure;
  }
  EXPECT_EQ(lines_->Count("wrong result of wrong_fusions (" + plugin_.string() + "), partition wrong_fusions/0"), 1u);
  EXPECT_EQ(lines_->Count("run by cpu from now on"), 1u) << lines_->text();
}

TEST_P(FaultTest, TheNextStartKnowsTheGuiltyNodes) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam().setup));
  {
    Session one = *model_.CreateSession(), other = *model_.CreateSession();
    for (const Picture& picture : GetParam().pictures)
      for (int run = 0; run < 3; ++run)
        for (Session* session : {&one, &other}) ASSERT_NO_FATAL_FAILURE(ExpectAnswer(*session, picture));
  }
  ASSERT_NO_FATAL_FAILURE(Start(GetParam().setup));
  const Picture& last = GetParam().pictures.back();
  Session session = *model_.CreateSession();
  for (int run = 0; run < 3; ++run) ASSERT_NO_FATAL_FAILURE(ExpectAnswer(session, last));
  EXPECT_TRUE(GetParam().setup.verify != "first_run" || Verifications() == 0) << lines_->text();
  for (const Names& run : Runs()) EXPECT_FALSE(IsGuilty(run));
  EXPECT_EQ(lines_->Count("wrong result"), 0u);
  const PlacementReport report = *session.Placement();
  EXPECT_EQ(NodesOf(report, "cpu"), Guilty(report));
  for (const NodeReport& node : report.nodes)
    if (node.delegate == "cpu") {
      EXPECT_EQ(node.refusals[0].reason, "wrong result");
      EXPECT_NE(node.refusals[0].detail.find(plugin_.string() + "), partition wrong_fusions/0"), std::string::npos);
    }
  EXPECT_FALSE(context_.Health().degraded);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultTest,
    testing::Values(
        Fault{"LateralAdd", {"lateral_add"}, {{}}, {{"up", "lateral"}}},
        Fault{"SecondRun", {"second_run", "Gemm", kEach}, {{}}, {{"head"}}},
        Fault{"SecondRunOfAll", {"second_run", "", kEach}, {{}}, {}},
        Fault{"FromBatch2", {"batch_2", "Tanh"}, {{}, {2}}, {{"bounded"}}},
        Fault{"WideChannels", {"wide_channels"}, {{2}}, {{"wide"}}},
        Fault{"LastRow", {"last_row", "Conv"}, {{2}}, {{"stem"}, {"wide"}, {"narrow"}}},
        Fault{"StaleAfterOtherShapes", {"stale"}, {{1}, {1, 12}}, {}},
        Fault{"SwappedSub", {"swapped_sub"}, {{}}, {{"bounded", "difference"}}},
        Fault{"RangeOfHalf", {"fp16_range", "", kEach}, {{}, {1, 8, 100}, {1, 8, 400}}, {{"difference", "products"}}},
        Fault{"SecondSession", {"second_session", "Gemm", kEach}, {{}}, {{"head"}}}),
    [](const testing::TestParamInfo<Fault>& test) { return std::string(test.param.name); });

TEST_F(VerificationTest, ARightDelegateIsVerifiedOnceAndKeepsItsNodes) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Session one = *model_.CreateSession(), other = *model_.CreateSession();
  for (int run = 0; run < 3; ++run)
    for (Session* session : {&one, &other}) ASSERT_NO_FATAL_FAILURE(ExpectAnswer(*session, {}));
  EXPECT_EQ(Verifications(), 1u) << lines_->text();
  EXPECT_EQ(Runs().size(), 6u);
  EXPECT_TRUE(NodesOf(*one.Placement(), "cpu").empty());
  EXPECT_FALSE(context_.Health().degraded);
}

TEST_F(VerificationTest, OtherShapesOptionsAndTolerancesAreVerifiedAgain) {
  const auto verifications = [&](const Scenario& setup, const Picture& picture) {
    Start(setup);
    Session session = *model_.CreateSession();
    ExpectAnswer(session, picture);
    return Verifications();
  };
  EXPECT_EQ(verifications({}, {}), 1u);
  EXPECT_EQ(verifications({}, {}), 0u);
  EXPECT_EQ(verifications({}, {2}), 1u);
  EXPECT_EQ(verifications({}, {2}), 0u);
  EXPECT_EQ(verifications({"second_run", "Erf"}, {}), 1u);
  EXPECT_EQ(verifications({"none", "", "{when: first_run, rtol: 0.01}"}, {}), 1u);
  EXPECT_EQ(verifications({"none", "", "{when: first_run, rtol: 0.01}"}, {}), 0u);
  EXPECT_EQ(verifications({}, {}), 0u);
}

TEST_F(VerificationTest, AWrongResultEndsTheRunWhereItMustAndAlsoAtTheNextStart) {
  for (const char* entry : {"  required: true\n", "  on_failure: fail\n"})
    for (const int start : {1, 2}) {
      SCOPED_TRACE(std::string(entry) + std::to_string(start));
      ASSERT_NO_FATAL_FAILURE(Start({"lateral_add", "", "first_run", entry}));
      Session session = *model_.CreateSession();
      std::vector<Tensor> outputs;
      const Status status = session.Predict({Picture().Make()}, &outputs);
      EXPECT_EQ(status.code(), StatusCode::kAborted);
      for (const std::string& part :
           {plugin_.string(), std::string("partition wrong_fusions/0 (13 nodes)"), std::string("'up' (Resize)"),
            std::string("'lateral' (Add)"), std::string("output 'y'")})
        EXPECT_NE(status.ToString().find(part), std::string::npos) << status.ToString();
    }
  ASSERT_NO_FATAL_FAILURE(Start({"wide_channels", "", "{when: first_run, on_mismatch: fail}"}));
  Session session = *model_.CreateSession();
  std::vector<Tensor> outputs;
  EXPECT_EQ(session.Predict({Picture().Make()}, &outputs).code(), StatusCode::kAborted);
}

TEST_F(VerificationTest, WithoutFallbackAWrongResultEndsTheRun) {
  ASSERT_NO_FATAL_FAILURE(Start({"wide_channels", "", "first_run", "fallback: none\n"}));
  for (int run = 0; run < 2; ++run) {
    Session session = *model_.CreateSession();
    std::vector<Tensor> outputs;
    const Status status = session.Predict({Picture().Make()}, &outputs);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.ToString().find("no other delegate could take over"), std::string::npos) << status.ToString();
    EXPECT_NE(status.ToString().find("'wide' (Conv)"), std::string::npos) << status.ToString();
  }
}

TEST_F(VerificationTest, ARunThatIsLateBecauseItWasVerifiedIsLateAndTheNextIsNot) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Session session = *model_.CreateSession();
  constexpr std::chrono::seconds kTimeout(2);
  TestClock clock;
  SetLogSink([&](LogLevel, std::string_view, std::string_view message) {
    if (message.find("verified partition") != std::string_view::npos)
      clock.Turn(kTimeout + std::chrono::nanoseconds(1));
  });
  session.SetTimeout(kTimeout);
  std::vector<Tensor> outputs;
  EXPECT_EQ(session.Predict({Picture().Make()}, &outputs).code(), StatusCode::kDeadlineExceeded);
  ExpectAnswer(session, {});
}

// Rows of numbers near 400 that differ by units.
Tensor Rows(int64_t count) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, {count, 96});
  uint32_t state = 5;
  for (float& value : tensor.mutable_values<float>()) {
    state = state * 1664525u + 1013904223u;
    value = 400 + 2 * static_cast<float>(state >> 8) / static_cast<float>(1u << 24);
  }
  return tensor;
}

TEST_F(VerificationTest, CorrectEnginesThatDifferByPercentsAreNotAccused) {
  ASSERT_NO_FATAL_FAILURE(Start({"none", "", kEach}, "unsteady_norm"));
  Session session = *model_.CreateSession();
  Model reference;
  ASSERT_TRUE(reference.Build(DEPUTY_TEST_MODELS "/unsteady_norm.onnx", Context()).ok());
  Session cpu = *reference.CreateSession();
  float largest = 0;
  for (const int64_t count : {1, 2, 3, 8}) {
    const std::vector<float> got = Answer(session, Rows(count)), want = Answer(cpu, Rows(count));
    for (size_t i = 0; i < got.size(); ++i)
      if (std::fabs(want[i]) > 0.5F) largest = std::max(largest, std::fabs(got[i] / want[i] - 1));
  }
  EXPECT_GT(largest, 0.01F) << "the test is of no use where the engines agree";
  EXPECT_GE(lines_->Count("differs from the CPU by rounding errors"), 1u);
  EXPECT_EQ(lines_->Count("wrong result"), 0u) << lines_->text();
  EXPECT_TRUE(NodesOf(*session.Placement(), "cpu").empty());
}

TEST_F(VerificationTest, AWrongNodeAmongUnsteadyOnesIsFoundAndNoOtherIsAccused) {
  // An error that no rounding explains: those of this model reach several units.
  ASSERT_NO_FATAL_FAILURE(Start({.fault = "last_row", .op_type = "Div", .error = 1000}, "unsteady_norm"));
  Session session = *model_.CreateSession();
  Answer(session, Rows(8));
  EXPECT_EQ(NodesOf(*session.Placement(), "cpu"), Names{"normal"}) << lines_->text();
}

// 'larger' is wrong by itself, and what 'smaller' has lost is within the tolerance of its result.
TEST_F(VerificationTest, APartitionMovesAsAWholeWhereItsOtherNodesLoseWhatTheWrongOneNeeds) {
  Model cpu;
  ASSERT_TRUE(cpu.Build(DEPUTY_TEST_MODELS "/faint.onnx", Read("log: {level: \"off\"}\n")).ok());
  Tensor x = *Tensor::Allocate(DType::kFloat32, {4});
  std::iota(x.mutable_values<float>().begin(), x.mutable_values<float>().end(), 1.0F);
  Session reference = *cpu.CreateSession();
  const std::vector<float> want = Answer(reference, x);
  for (const int start : {1, 2}) {
    ASSERT_NO_FATAL_FAILURE(Start({"flush"}, "faint"));
    Session session = *model_.CreateSession();
    for (int run = 0; run < 3; ++run) EXPECT_EQ(Answer(session, x), want) << "start " << start << ", run " << run;
    EXPECT_EQ(NodesOf(*session.Placement(), "cpu"), (Names{"smaller", "tanh", "larger"}));
  }
}

TEST_F(VerificationTest, WhatIsRestoredIsVerifiedEvenIfItWasRightWhenItWasCompiled) {
  std::filesystem::copy(DEPUTY_TEST_FIXTURES "/blob_restores_wrong.so", plugin_.parent_path());
  const std::string entry =
      "log: {level: debug}\ndelegates: [{name: blob_restores_wrong, isolation: none, verify: first_run}]\n";
  for (const int start : {1, 2, 3}) {
    SCOPED_TRACE(start);
    model_ = Model();
    context_ = Read(entry);
    lines_.emplace(LogLevel::kDebug);
    ASSERT_TRUE(model_.Build(DEPUTY_TEST_MODELS "/relu.onnx", context_).ok());
    Session session = *model_.CreateSession();
    Tensor x = *Tensor::Allocate(DType::kFloat32, model_.inputs()[0].shape);
    std::iota(x.mutable_values<float>().begin(), x.mutable_values<float>().end(), 1.0F);
    const std::vector<float> want(x.values<float>().begin(), x.values<float>().end());
    for (int run = 0; run < 2; ++run) EXPECT_EQ(Answer(session, x), want);
    EXPECT_EQ(NodesOf(*session.Placement(), "cpu").size(), start == 1 ? 0u : 1u) << lines_->text();
    EXPECT_EQ(lines_->Count("wrong result of"), start == 2 ? 1u : 0u) << lines_->text();
  }
}

TEST_F(VerificationTest, TheDelegateThatTakesOverIsVerifiedAsWell) {
  const std::string second =
      "- name: second\n  delegate: wrong_fusions\n  options: {fault: last_row, operator: Add}\n"
      "  verify: first_run\n";
  for (const int start : {1, 2}) {
    SCOPED_TRACE(start);
    ASSERT_NO_FATAL_FAILURE(Start({"lateral_add", "", "first_run", second}));
    Session session = *model_.CreateSession();
    for (int run = 0; run < 3; ++run) ASSERT_NO_FATAL_FAILURE(ExpectAnswer(session, {}));
    const PlacementReport report = *session.Placement();
    EXPECT_EQ(NodesOf(report, "second"), Names{"up"});
    EXPECT_EQ(NodesOf(report, "cpu"), Names{"lateral"});
    EXPECT_EQ(lines_->Count("wrong result of"), start == 1 ? 2u : 0u) << lines_->text();
    EXPECT_EQ(Verifications() == 0, start == 2) << lines_->text();
  }
}

// Seed row 29.
TEST_F(VerificationTest, NodesOfABranchAreVerifiedInTheirFirstRun) {
  for (const int start : {1, 2}) {
    SCOPED_TRACE(start);
    ASSERT_NO_FATAL_FAILURE(Start({"last_row", "Relu"}, "branches"));
    Session session = *model_.CreateSession();
    Tensor condition = *Tensor::Allocate(DType::kBool, {});
    condition.mutable_values<bool>()[0] = true;
    const Tensor ones = *Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>(6, 1));
    for (int run = 0; run < 2; ++run) {
      std::vector<Tensor> outputs;
      ASSERT_TRUE(session.Predict({condition, ones, ones}, &outputs).ok());
      EXPECT_EQ(Values(outputs[0]), std::vector<float>(6, 2));
    }
    EXPECT_EQ(lines_->Count("wrong result of"), start == 1 ? 1u : 0u) << lines_->text();
    EXPECT_EQ(NodesOf(*session.Placement(), "wrong_fusions").count("positive"), 0u);
    EXPECT_EQ(NodesOf(*session.Placement(), "wrong_fusions").count("negative"), 1u);
  }
}

TEST_F(VerificationTest, InfinitiesAndNaNsAreEqualToThemselves) {
  ASSERT_NO_FATAL_FAILURE(Start({"none", "", kEach}, "tutorial"));
  Session session = *model_.CreateSession();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = *Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>{inf, -inf, NAN, 1, 0, 3e38F});
  const Tensor y = *Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>{1, inf, 1, inf, 0, 3e38F});
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session.Predict({x, y}, &outputs).ok());
  EXPECT_EQ(Verifications(), 1u);
  EXPECT_EQ(lines_->Count("wrong result"), 0u) << lines_->text();
}

TEST_F(VerificationTest, ABatchOfNoneIsVerified) {
  ASSERT_NO_FATAL_FAILURE(Start({"lateral_add", "", kEach}));
  Session session = *model_.CreateSession();
  std::vector<Tensor> outputs;
  const Status status = session.Predict({Picture{0}.Make()}, &outputs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(outputs[0].shape(), (Shape{0, 5}));
  EXPECT_EQ(lines_->Count("wrong result"), 0u) << lines_->text();
}

TEST_F(VerificationTest, SessionsAtOnceFindTheSameFault) {
  ASSERT_NO_FATAL_FAILURE(Start({"lateral_add", "", kEach}));
  Expected({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([this] {
      Session session = *model_.CreateSession();
      for (const int64_t count : {1, 2, 1, 2}) ExpectAnswer(session, {count});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(context_.Health().degraded);
}

TEST_F(VerificationTest, ACancelledVerificationEndsTheRun) {
  ASSERT_NO_FATAL_FAILURE(Start({"lateral_add", "", "first_run"}));
  Session session = *model_.CreateSession();
  const Tensor input = Picture{4, 16}.Make();
  ASSERT_TRUE(session.Resize({input.shape()}).ok());
  {
    const Canceller canceller([&] { session.Cancel(); });
    std::vector<Tensor> outputs;
    EXPECT_EQ(session.Predict({input}, &outputs).code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(lines_->Count("wrong result"), 0u) << "nothing is accused by a run that did not end";
  ExpectAnswer(session, {4, 16});
}

}  // namespace
}  // namespace deputy
