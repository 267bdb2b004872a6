// A delegate whose process ends: the next one is started with the options that were in force, executables are compiled
// again when a context of them is made, and claims belong to one process.
#include "runtime/isolated_delegate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

// Each start is another TestDelegate; `ended` says which of them have ended.
class IsolatedDelegateTest : public testing::Test {
 protected:
  IsolatedDelegateTest() : graph_(TestGraph({{"first", "Relu"}, {"second", "Relu"}}).graph) {
    view_.graph = &graph_;
    view_.offered.assign(graph_.nodes.size(), true);
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) view_.order.push_back(id);
    partition_.nodes = {0};
    partition_.name = "test.0";
  }
  std::unique_ptr<Delegate> Open() {
    Result<std::unique_ptr<Delegate>> opened = IsolatedDelegate::Open(
        [this]() -> Result<ServedDelegate> {
          if (!start_status.ok()) return start_status;
          started.push_back(std::make_shared<TestDelegate>("npu", std::set<std::string>{"*"}));
          started.back()->claims = claims;
          started.back()->estimate = estimate;
          ended.push_back(std::make_shared<std::atomic<bool>>(false));
          return ServedDelegate{started.back(), [has_ended = ended.back()] { return has_ended->load(); },
                                [this, has_ended = ended.back()] { return has_ended->load() ? fault : ""; }};
        },
        {.give_up = [this](const std::string& faults, const FaultLimits&) { given_up.push_back(faults); }});
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return std::move(opened).value();
  }
  void End() { *ended.back() = true; }
  // A run during which the process ends.
  std::function<Status(const RunArgs&)> EndingIt() {
    return [this](const RunArgs&) {
      End();
      return Status(StatusCode::kDeviceLost, "its worker process was ended by SIGSEGV");
    };
  }

  const Graph graph_;
  GraphView view_;
  PartitionSpec partition_;
  std::vector<std::vector<NodeId>> claims;
  std::function<Result<Estimate>(const PartitionSpec&)> estimate;
  std::vector<std::shared_ptr<TestDelegate>> started;
  std::vector<std::shared_ptr<std::atomic<bool>>> ended;
  Status start_status;
  std::string fault;  // of each that has ended
  std::vector<std::string> given_up;
};

TEST_F(IsolatedDelegateTest, ExecutableIsCompiledAgainForANewProcess) {
  const std::unique_ptr<Delegate> delegate = Open();
  const std::shared_ptr<const Executable> made = *delegate->Compile(view_, partition_);
  const std::unique_ptr<ExecutionContext> before = *made->CreateContext();
  EXPECT_TRUE(before->Execute({}).ok());
  End();
  const Status lost = before->Execute({});
  EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
  EXPECT_TRUE(before->was_lost_before());
  EXPECT_EQ(started.back()->runs, 1);
  const std::unique_ptr<ExecutionContext> after = *made->CreateContext();
  EXPECT_TRUE(after->Execute({}).ok());
  EXPECT_FALSE(after->was_lost_before());
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[1]->compiles, 1);
  EXPECT_EQ(started[1]->runs, 1);
  EXPECT_TRUE((*made->CreateContext())->Execute({}).ok());
  EXPECT_EQ(started[1]->compiles, 1);
}

TEST_F(IsolatedDelegateTest, ProcessIsStartedAgainForTheNextCall) {
  const std::unique_ptr<Delegate> delegate = Open();
  End();
  std::vector<Verdict> verdicts(graph_.nodes.size());
  EXPECT_TRUE(delegate->QuerySupport(view_, verdicts).ok());
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[1]->queries, 1);
  End();
  start_status = Status(StatusCode::kPlugin, "no such file");
  EXPECT_EQ(delegate->QuerySupport(view_, verdicts).message(), "no such file");
}

// Seed row 64.
TEST_F(IsolatedDelegateTest, OptionsThatWereChangedAreSetAgain) {
  const std::unique_ptr<Delegate> delegate = Open();
  EXPECT_TRUE(delegate->SetOption("frequency", "low").ok());
  EXPECT_TRUE(delegate->SetOption("frequency", "high").ok());
  End();
  std::vector<Verdict> verdicts(graph_.nodes.size());
  EXPECT_TRUE(delegate->QuerySupport(view_, verdicts).ok());
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0]->options_set, (std::vector<std::string>{"frequency=low", "frequency=high"}));
  EXPECT_EQ(started[1]->options_set, (std::vector<std::string>{"frequency=high"}));
}

TEST_F(IsolatedDelegateTest, ClaimOfAnEndedProcessIsNotCompiled) {
  claims = {{0}, {1}};
  const std::unique_ptr<Delegate> delegate = Open();
  std::vector<PartitionSpec> proposed = *delegate->proposer()->Propose(view_);
  ASSERT_EQ(proposed.size(), 2u);
  End();
  const Status status = delegate->Compile(view_, proposed[0]).status();
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  delegate->proposer()->ReleaseClaim(proposed[1].claim);
  EXPECT_EQ(started[0]->open_claims, 1);  // of the compilation that the ended process never saw
}

TEST_F(IsolatedDelegateTest, APartThatANewProcessLacksIsAnError) {
  claims = {{0}};
  const std::unique_ptr<Delegate> delegate = Open();
  End();
  claims.clear();
  EXPECT_EQ(delegate->proposer()->Propose(view_).status().code(), StatusCode::kPlugin);
  EXPECT_EQ(delegate->grouper(), nullptr);
}

TEST_F(IsolatedDelegateTest, ClaimIsProposedAgainForANewProcess) {
  claims = {{0}, {1}};
  const std::unique_ptr<Delegate> delegate = Open();
  const std::vector<PartitionSpec> proposed = *delegate->proposer()->Propose(view_);
  const std::shared_ptr<const Executable> made = *delegate->Compile(view_, proposed[1]);
  delegate->proposer()->ReleaseClaim(proposed[0].claim);
  End();
  EXPECT_TRUE((*made->CreateContext())->Execute({}).ok());
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[1]->compiles, 1);
  EXPECT_EQ(started[1]->open_claims, 1);  // the one that Compile takes over
  claims = {{0}};
  End();
  const Status status = made->CreateContext().status();
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_NE(status.message().find("does not propose the partition"), std::string::npos) << status.message();
}

// Ends between calls, and no model is known that could have caused it.
TEST_F(IsolatedDelegateTest, ProcessesAreNotStartedAfterThreeFaultsOfTheirOwn) {
  const std::unique_ptr<Delegate> delegate = Open();
  fault = "was ended by SIGSEGV";
  for (size_t ends = 1; ends < 3; ++ends) {
    End();
    EXPECT_TRUE(delegate->SetOption("frequency", "low").ok());
    EXPECT_EQ(started.size(), ends + 1);
  }
  EXPECT_TRUE(given_up.empty());
  End();
  for (int again = 0; again < 2; ++again) {
    const Status status = delegate->SetOption("frequency", "low");
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.message(), "failed 3 times within five minutes: its worker process was ended by SIGSEGV");
  }
  EXPECT_EQ(started.size(), 3u);
  EXPECT_EQ(given_up.size(), 1u);
}

TEST_F(IsolatedDelegateTest, R159_APartitionWhoseRunsEndTheProcessTwiceReachesNoOther) {
  const std::unique_ptr<Delegate> delegate = Open();
  fault = "was ended by SIGSEGV";
  const std::shared_ptr<const Executable> killer = *delegate->Compile(view_, partition_);
  for (size_t ends = 1; ends < 3; ++ends) {
    const std::unique_ptr<ExecutionContext> context = *killer->CreateContext();
    EXPECT_EQ(started.size(), ends);
    started.back()->execute = EndingIt();
    EXPECT_EQ(context->Execute({}).code(), StatusCode::kDeviceLost);
    EXPECT_TRUE(context->ended_its_process());
  }
  const Status kept_away = killer->CreateContext().status();
  EXPECT_EQ(kept_away.code(), StatusCode::kPlugin);
  EXPECT_NE(kept_away.message().find("partition test.0 of 1 node"), std::string::npos) << kept_away.message();
  EXPECT_FALSE(delegate->Compile(view_, partition_).ok());
  PartitionSpec other = partition_;
  other.nodes = {0, 1};
  EXPECT_TRUE((*(*delegate->Compile(view_, other))->CreateContext())->Execute({}).ok());
  EXPECT_EQ(started.size(), 3u);
  EXPECT_TRUE(given_up.empty());
}

// Of several runs at once, of one partition and of another of the model.
TEST_F(IsolatedDelegateTest, R159_OneEndCountsOnceWithAnyNumberOfRuns) {
  const std::unique_ptr<Delegate> delegate = Open();
  fault = "was ended by SIGSEGV";
  PartitionSpec other = partition_;
  other.nodes = {0, 1};
  const std::shared_ptr<const Executable> killer = *delegate->Compile(view_, partition_),
                                          second = *delegate->Compile(view_, other);
  for (size_t ends = 1; ends < 3; ++ends) {
    std::vector<std::unique_ptr<ExecutionContext>> contexts;
    for (int i = 0; i < 4; ++i) {
      Result<std::unique_ptr<ExecutionContext>> made = (i < 3 ? killer : second)->CreateContext();
      ASSERT_TRUE(made.ok()) << made.status().ToString() << " after " << ends - 1 << " ends";
      contexts.push_back(*std::move(made));
    }
    std::atomic<size_t> running{0};
    started.back()->execute = [&](const RunArgs&) {
      if (++running == contexts.size()) End();
      while (!*ended.back()) std::this_thread::yield();
      return Status(StatusCode::kDeviceLost, "its worker process was ended by SIGSEGV");
    };
    std::vector<std::thread> threads;
    for (const auto& context : contexts) threads.emplace_back([&] { EXPECT_FALSE(context->Execute({}).ok()); });
    for (std::thread& thread : threads) thread.join();
  }
  const int usable = (killer->CreateContext().ok() ? 1 : 0) + (second->CreateContext().ok() ? 1 : 0);
  EXPECT_GE(usable, 1) << "two ends keep one of them away, or count for each once";
  EXPECT_TRUE(given_up.empty());
}

TEST_F(IsolatedDelegateTest, R159_APartitionThatEndsTheProcessWhileItIsEstimatedIsKeptAway) {
  estimate = [this](const PartitionSpec&) -> Result<Estimate> { return EndingIt()({}); };
  const std::unique_ptr<Delegate> delegate = Open();
  fault = "was ended by SIGSEGV";
  for (size_t ends = 1; ends < 3; ++ends) {
    std::vector<Verdict> verdicts(graph_.nodes.size());
    EXPECT_TRUE(delegate->QuerySupport(view_, verdicts).ok());  // starts it again
    EXPECT_EQ(delegate->estimator()->EstimatePartition(view_, partition_).status().code(), StatusCode::kDeviceLost);
  }
  EXPECT_EQ(delegate->estimator()->EstimatePartition(view_, partition_).status().code(), StatusCode::kPlugin);
  EXPECT_EQ(delegate->Compile(view_, partition_).status().code(), StatusCode::kPlugin);
  std::vector<Verdict> verdicts(graph_.nodes.size());
  EXPECT_TRUE(delegate->QuerySupport(view_, verdicts).ok());
}

// A crash that shows only after the run counts for what ran last.
TEST_F(IsolatedDelegateTest, R159_AnEndBetweenCallsCountsForTheLastRun) {
  const std::unique_ptr<Delegate> delegate = Open();
  fault = "was ended by SIGSEGV";
  const std::shared_ptr<const Executable> killer = *delegate->Compile(view_, partition_);
  std::unique_ptr<ExecutionContext> context;
  for (size_t ends = 1; ends < 3; ++ends) {
    context = *killer->CreateContext();
    EXPECT_TRUE(context->Execute({}).ok());
    End();
  }
  EXPECT_EQ(killer->CreateContext().status().code(), StatusCode::kPlugin);
  EXPECT_TRUE(given_up.empty());
}

TEST_F(IsolatedDelegateTest, ProcessesThatOthersKilledAreStartedAgainWithoutEnd) {
  const std::unique_ptr<Delegate> delegate = Open();
  std::vector<Verdict> verdicts(graph_.nodes.size());
  for (size_t ends = 1; ends < 10; ++ends) {
    End();
    EXPECT_TRUE(delegate->QuerySupport(view_, verdicts).ok());
    EXPECT_EQ(started.size(), ends + 1);
  }
  EXPECT_TRUE(given_up.empty());
}

}  // namespace
}  // namespace deputy::host
