// The stages that a context reports while it loads a model, prepares and verifies it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "deputy/sdk/sdk.hpp"
#include "support/digits.hpp"
#include "support/relu_delegate.hpp"

namespace deputy {
namespace {

const std::string kLoadedModel = DEPUTY_TEST_DIGITS;

// A copy, since texts are valid during the call only.
struct Reported {
  ProgressStage stage{};
  std::string delegate, subject;
  size_t number = 0, count = 0, nodes = 0;
};

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() {
    context_.SetDelegate(std::make_shared<ReluDelegate>());
    context_.SetProgress([this](const Progress& progress) {
      reported_.push_back({progress.stage, std::string(progress.delegate), std::string(progress.subject),
                           progress.number, progress.count, progress.nodes});
    });
  }

  std::vector<Reported> Of(ProgressStage stage, const std::string& delegate) const {
    std::vector<Reported> found;
    std::copy_if(reported_.begin(), reported_.end(), std::back_inserter(found),
                 [&](const Reported& one) { return one.stage == stage && one.delegate == delegate; });
    return found;
  }
  // The position of the first report of a stage.
  size_t First(ProgressStage stage) const {
    const auto found =
        std::find_if(reported_.begin(), reported_.end(), [&](const Reported& one) { return one.stage == stage; });
    EXPECT_NE(found, reported_.end()) << static_cast<int>(stage);
    return static_cast<size_t>(found - reported_.begin());
  }

  LogLines log_;
  Context context_;
  std::vector<Reported> reported_;
};

TEST_F(ProgressTest, StagesOfALoadFollowEachOther) {
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  ASSERT_TRUE(model.Placement({{2, 1, 28, 28}}).ok());
  EXPECT_EQ(reported_[First(ProgressStage::kOpen)].delegate, "in_process");
  EXPECT_EQ(reported_[First(ProgressStage::kImport)].subject, kLoadedModel);
  EXPECT_LT(First(ProgressStage::kOpen), First(ProgressStage::kImport));
  EXPECT_LT(First(ProgressStage::kImport), First(ProgressStage::kPasses));
  EXPECT_LT(First(ProgressStage::kPasses), First(ProgressStage::kPlacement));
  EXPECT_LT(First(ProgressStage::kPlacement), First(ProgressStage::kCompile));
}

TEST_F(ProgressTest, PartitionsOfADelegateAreCounted) {
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  const Result<PlacementReport> placement = model.Placement({{2, 1, 28, 28}});
  ASSERT_TRUE(placement.ok());
  const std::vector<Reported> compiled = Of(ProgressStage::kCompile, "in_process");
  ASSERT_EQ(compiled.size(), placement->delegates.front().partitions);
  ASSERT_GT(compiled.size(), 1u);
  for (size_t i = 0; i < compiled.size(); ++i) {
    EXPECT_EQ(compiled[i].number, i + 1);
    EXPECT_EQ(compiled[i].count, compiled.size());
    EXPECT_EQ(compiled[i].nodes, 1u);
  }
}

TEST_F(ProgressTest, VerifiedPartitionsAreNamed) {
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  const Result<std::vector<PartitionVerification>> verified = model.Verify({Pictures(2)}, {});
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  const std::vector<Reported> reported = Of(ProgressStage::kVerification, "in_process");
  ASSERT_EQ(reported.size(), verified->size());
  for (size_t i = 0; i < reported.size(); ++i) EXPECT_EQ(reported[i].subject, (*verified)[i].partition);
}

TEST_F(ProgressTest, ARunThatIsPreparedReportsNothing) {
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  Result<Session> session = model.CreateSession();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({Pictures(2)}, &outputs).ok());
  reported_.clear();
  ASSERT_TRUE(session->Predict({Pictures(2, 7)}, &outputs).ok());
  EXPECT_TRUE(reported_.empty());
}

TEST_F(ProgressTest, AnEmptyCallbackEndsTheReports) {
  context_.SetProgress(nullptr);
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  EXPECT_TRUE(reported_.empty());
}

TEST_F(ProgressTest, PartitionsThatAreNotCachedHaveAReason) {
  Model model;
  ASSERT_TRUE(model.Build(kLoadedModel, context_).ok());
  const Result<PlacementReport> placement = model.Placement({{2, 1, 28, 28}});
  ASSERT_TRUE(placement.ok());
  ASSERT_EQ(placement->partitions.front().delegate, "cpu");
  for (const PartitionReport& partition : placement->partitions)
    EXPECT_EQ(partition.not_cached, "the delegate does not serialize executables") << partition.name;
}

}  // namespace
}  // namespace deputy
