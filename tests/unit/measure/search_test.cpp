// The search among delegates whose runs take known times by the clock of the test: they compute nothing but turn it.
#include "measure/search.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "plan/make_plan.hpp"
#include "support/test_clock.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

class SearchTest : public testing::Test {
 protected:
  SearchTest() {
    graph_.Input("x").Node("a", "Relu", {"x"}).Node("b", "Abs", {"a"}).Node("y", "Neg", {"b"}).Output("y");
    fast_->execute = Waiting(50);
    slow_->execute = Waiting(2000);
    cpu_->execute = Waiting(500);
    settings_.budget_ns = 5'000'000'000;
    settings_.share_of_others = [this] { return others_; };
  }
  std::function<Status(const RunArgs&)> Waiting(uint64_t us) {
    return [this, us](const RunArgs&) {
      clock_.Turn(std::chrono::microseconds(us));
      return Status();
    };
  }
  Result<SearchResult> Search(std::vector<HostedDelegate> delegates) {
    delegates_ = std::move(delegates);
    delegates_.emplace_back(cpu_);
    subject_.graph = std::make_shared<const Graph>(graph_.graph);
    subject_.delegates = delegates_;
    plan_ = *MakePlan(subject_.graph, delegates_, subject_.options);
    sample_ = *Execution::Create(plan_);
    for (const ValueId id : plan_->graph->inputs) sample_->Bind(id, input_.data());
    return SearchPlacement(subject_, *sample_, settings_, token_);
  }
  // The owner of each node by the decision.
  std::vector<std::string> Owners(const PlacementDecision& decision) {
    PlacementOptions options = subject_.options;
    Apply(decision, *subject_.graph, options);
    const std::shared_ptr<const Plan> plan = *MakePlan(subject_.graph, delegates_, options);
    std::vector<std::string> owners;
    for (NodeId node = 0; node < 3; ++node) owners.push_back(plan->delegate_names[plan->placement.delegate_of(node)]);
    return owners;
  }

  TestClock clock_;
  TestGraph graph_{{DType::kFloat32, true, {4}}};
  std::shared_ptr<TestDelegate> fast_ = std::make_shared<TestDelegate>("fast", std::set<std::string>{"*"});
  std::shared_ptr<TestDelegate> slow_ = std::make_shared<TestDelegate>("slow", std::set<std::string>{"*"});
  std::shared_ptr<TestDelegate> cpu_ = std::make_shared<TestDelegate>("cpu", std::set<std::string>{"*"}, true);
  std::vector<HostedDelegate> delegates_;
  SearchSubject subject_;
  SearchSettings settings_;
  CancellationToken token_;
  double others_ = 0;
  std::array<float, 16> input_{};
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Execution> sample_;
};

using Names = std::vector<std::string>;

TEST_F(SearchTest, AFastDelegateKeepsItsNodes) {
  const Result<SearchResult> found = Search({fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty()) << found->decision.summary;
  EXPECT_LT(found->best_ns, found->cpu_ns);
}

TEST_F(SearchTest, ASlowDelegateLosesItsNodes) {
  const Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"cpu", "cpu", "cpu"})) << found->decision.summary;
}

// 1,500 us on the CPU instead of 2,000 are a gain of a quarter.
TEST_F(SearchTest, BesideOtherWorkAChangeMustGainMoreThanThatMayCost) {
  others_ = 0.13;
  Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"cpu", "cpu", "cpu"})) << found->decision.summary;
  others_ = 0.14;
  found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"slow", "slow", "slow"})) << found->decision.summary;
  EXPECT_EQ(found->best_ns, found->order_ns);
  EXPECT_TRUE(found->decision.is_provisional());
  EXPECT_NE(found->decision.summary.find("the order stays"), std::string::npos);
  cpu_->execute = Waiting(10);
  others_ = 0.85;
  found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"cpu", "cpu", "cpu"})) << found->decision.summary;
}

TEST_F(SearchTest, ADelegateThatWasSlowForAMomentKeepsItsNodes) {
  int fast_us = 2000;
  fast_->execute = [&](const RunArgs& args) { return Waiting(fast_us)(args); };
  bool again = false;
  settings_.progress = [&](const std::string& candidate, double) {
    if (candidate != "the order once more") return;
    again = true;
    fast_us = 50;
  };
  const Result<SearchResult> found = Search({fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(again);
  EXPECT_TRUE(found->decision.slower.empty()) << found->decision.summary;
  EXPECT_LT(found->best_ns, found->cpu_ns);
}

// As where the kernel keeps its threads on one processor while another library's run in turns with them.
TEST_F(SearchTest, ADelegateThatIsSlowBesideTheOrderOnlyIsTaken) {
  int fast_us = 50;
  fast_->execute = [&](const RunArgs& args) { return Waiting(fast_us)(args); };
  settings_.progress = [&](const std::string& candidate, double) {
    fast_us = candidate == "the order once more" || candidate == "a part elsewhere" ? 4000 : 50;
  };
  const Result<SearchResult> found = Search({slow_, fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"fast", "fast", "fast"})) << found->decision.summary;
}

TEST_F(SearchTest, RunsThatWarmUpAfterThoseOfAnotherCandidateDoNotCount) {
  bool is_last = false;
  uint64_t since = 0;
  fast_->execute = [&](const RunArgs& args) {
    if (!std::exchange(is_last, true)) since = NowNs();
    return Waiting(NowNs() - since < 12'000'000 ? 2000 : 50)(args);
  };
  cpu_->execute = [&](const RunArgs& args) {
    is_last = false;
    return Waiting(200)(args);
  };
  const Result<SearchResult> found = Search({fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty()) << found->decision.summary;
}

TEST_F(SearchTest, ADelegateThatIsSlowInItsFirstTurnsIsTaken) {
  bool is_last = false;
  int turns = 0;  // and the run of its preparation
  fast_->execute = [&](const RunArgs& args) {
    if (!std::exchange(is_last, true)) ++turns;
    return Waiting(turns < 5 ? 4000 : 50)(args);
  };
  for (const auto& [other, us] : {std::pair(slow_, 2000), std::pair(cpu_, 500)})
    other->execute = [&is_last, run = Waiting(static_cast<uint64_t>(us))](const RunArgs& args) {
      is_last = false;
      return run(args);
    };
  const Result<SearchResult> found = Search({slow_, fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"fast", "fast", "fast"})) << found->decision.summary;
}

TEST_F(SearchTest, TheSecondDelegateMayBeTheFastest) {
  const Result<SearchResult> found = Search({slow_, fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"fast", "fast", "fast"})) << found->decision.summary;
}

TEST_F(SearchTest, NodesThatADelegateDoesNotSupportAreNotDecided) {
  slow_->verdict = [](const Node& node) {
    return node.primitive.op_type() == "Abs" ? Reason::kOperatorUnknown : Reason::kSupported;
  };
  const Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->decision.slower.size(), 1u) << found->decision.summary;
  EXPECT_EQ(found->decision.slower[0].nodes, (std::vector<uint32_t>{0, 2}));
}

TEST_F(SearchTest, TheTimesOfNodesAreCostsOfTheirDelegates) {
  slow_->execute = Waiting(20'000);
  const Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  const Work work{WorkUnit::kBytes, 32};
  // A third of the step of three nodes, and a step of its own.
  EXPECT_GE(found->costs.Find("slow", "Relu", DType::kFloat32, work).value_or(0), 20e6 / 3);
  EXPECT_LT(found->costs.Find("slow", "Relu", DType::kFloat32, work).value_or(0), 20e6);
  EXPECT_GE(found->costs.Find("cpu", "Relu", DType::kFloat32, work).value_or(0), 5e5);
}

TEST_F(SearchTest, EachPartitionGoesWhereItIsFastest) {
  cpu_->execute = Waiting(2000);
  // Two partitions of one delegate around a node that it does not support; one of them is slow.
  fast_->verdict = [](const Node& node) {
    return node.primitive.op_type() == "Abs" ? Reason::kOperatorUnknown : Reason::kSupported;
  };
  fast_->execute = [&](const RunArgs& args) {
    const bool is_first = args.inputs[0]->data == input_.data();
    return is_first ? Status() : Waiting(100'000)({});
  };
  const Result<SearchResult> found = Search({fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"fast", "cpu", "cpu"})) << found->decision.summary;
}

TEST_F(SearchTest, AChangeThatWasFasterByChanceIsNotKept) {
  fast_->verdict = [](const Node& node) {
    return node.primitive.op_type() == "Abs" ? Reason::kOperatorUnknown : Reason::kSupported;
  };
  fast_->execute = Waiting(500);
  // The CPU seems to be the faster one while parts are moved to it.
  int cpu_us = 2000, changes = 0;
  cpu_->execute = [&](const RunArgs& args) { return Waiting(cpu_us)(args); };
  settings_.progress = [&](const std::string& candidate, double) {
    changes += candidate == "a part elsewhere" ? 1 : 0;
    cpu_us = candidate == "a part elsewhere" ? 10 : 2000;
  };
  const Result<SearchResult> found = Search({fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_GT(changes, 0);
  EXPECT_TRUE(found->decision.slower.empty()) << found->decision.summary;
}

TEST_F(SearchTest, ARequiredDelegateIsNotOverruled) {
  HostedDelegate required = slow_;
  required.limits.required = true;
  const Result<SearchResult> found = Search({required});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty());
}

TEST_F(SearchTest, WithoutFallbackTheCpuIsNoCandidate) {
  subject_.options.cpu_fallback = false;
  const Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty());
}

TEST_F(SearchTest, WithoutTimeTheOrderStays) {
  settings_.budget_ns = 1'000;
  const Result<SearchResult> found = Search({slow_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty());
  EXPECT_FALSE(found->complete);
}

TEST_F(SearchTest, CompilingTheFirstCandidatesLeavesTheBudgetToMeasurements) {
  slow_->compiling = fast_->compiling = [this] { clock_.Turn(std::chrono::milliseconds(700)); };
  settings_.budget_ns = 500'000'000;
  Result<SearchResult> found = Search({slow_, fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->decision.slower.empty()) << "the budget ends with the first compilation";
  settings_.first_compile_ns = 1'500'000'000;
  found = Search({slow_, fast_});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Owners(found->decision), (Names{"fast", "fast", "fast"})) << found->decision.summary;
}

TEST_F(SearchTest, ACancelledSearchDecidesNothing) {
  std::atomic<uint64_t> cancelled{1};
  token_ = {0, &cancelled};
  EXPECT_EQ(Search({slow_}).status().code(), StatusCode::kCancelled);
}

TEST_F(SearchTest, ASearchThatIsCancelledWhileTheOrderIsMeasuredOnceMoreEnds) {
  std::atomic<uint64_t> cancelled = 0;
  token_.cancelled_ns = &cancelled;
  settings_.progress = [&](const std::string& candidate, double) {
    if (candidate == "the order once more") cancelled = NowNs();
  };
  // So far apart that a machine with other work makes no difference.
  slow_->execute = Waiting(20000);
  cpu_->execute = Waiting(0);
  EXPECT_EQ(Search({slow_}).status().code(), StatusCode::kCancelled);
  EXPECT_NE(cancelled, 0u);
}

TEST_F(SearchTest, ProgressNamesTheCandidates) {
  Names names;
  settings_.progress = [&](const std::string& name, double used) {
    names.push_back(name);
    EXPECT_GE(used, 0);
  };
  ASSERT_TRUE(Search({slow_, fast_}).ok());
  ASSERT_GE(names.size(), 3u);
  EXPECT_EQ(names[0], "as ordered");
}

}  // namespace
}  // namespace deputy::host
