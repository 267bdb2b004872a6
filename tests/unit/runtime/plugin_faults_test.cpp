// The consequences of faults: contents and models that are kept away from a plugin, and a plugin that is given up.
#include "runtime/plugin_faults.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

Digest Numbered(uint8_t number) {
  Digest digest{};
  digest[0] = number;
  return digest;
}

FaultContent Part(uint8_t model, uint8_t part) {
  FaultContent content{Numbered(part), Numbered(model), "m.onnx", "partition npu/0 of 3 nodes"};
  content.content[1] = model;
  content.model[2] = 1;
  return content;
}

class PluginFaultsTest : public testing::Test {
 protected:
  std::unique_ptr<PluginFaults> Make(std::vector<FaultRecord> known = {}) {
    FaultHandling handling;
    handling.give_up = [this](const std::string& text, const FaultLimits& limits) {
      given_up.push_back(text);
      given_up_with = limits;
    };
    handling.known = std::move(known);
    return std::make_unique<PluginFaults>(std::move(handling));
  }
  std::vector<std::string> given_up;
  FaultLimits given_up_with;
};

FaultLimits Limits(uint64_t timeout, uint64_t memory = 0) {
  FaultLimits limits;
  limits.Add(FaultLimits::kTimeout, timeout);
  if (memory != 0) limits.Add(FaultLimits::kMemory, memory);
  return limits;
}

TEST_F(PluginFaultsTest, R159_ContentIsKeptAwayAfterItsSecondFault) {
  const auto faults = Make();
  faults->Count("was ended by SIGSEGV", Part(1, 1), true, true);
  EXPECT_FALSE(faults->keeps_any_away());
  EXPECT_TRUE(faults->Check(Part(1, 1)).ok());
  faults->Count("was ended by SIGSEGV", Part(1, 1), true, true);
  EXPECT_TRUE(faults->keeps_any_away());
  const Status status = faults->Check(Part(1, 1));
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_EQ(status.message(),
            "it failed with this partition npu/0 of 3 nodes before, for the second time: "
            "its worker process was ended by SIGSEGV");
  EXPECT_TRUE(faults->Check(Part(1, 2)).ok());
  EXPECT_TRUE(faults->Check(Part(2, 1)).ok());
}

// The data of one model may be made for it.
TEST_F(PluginFaultsTest, R206_OneModelTakesNoContentFromOthers) {
  const auto faults = Make();
  const auto same = [](uint8_t model) {
    FaultContent content = Part(model, 1);
    content.content = Numbered(1);
    return content;
  };
  for (int again = 0; again < 5; ++again) faults->Count("was ended by SIGSEGV", same(1), true, true);
  EXPECT_FALSE(faults->Check(same(1)).ok());
  EXPECT_TRUE(faults->Check(same(2)).ok());
  faults->Count("was ended by SIGSEGV", same(2), true, true);
  EXPECT_TRUE(faults->Check(same(2)).ok()) << "the first fault there";
  EXPECT_TRUE(faults->Check(same(3)).ok());
  faults->Count("was ended by SIGSEGV", same(2), true, true);
  EXPECT_FALSE(faults->Check(same(2)).ok());
  const Status status = faults->Check(same(3));
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_NE(status.message().find("in two other models"), std::string::npos) << status.message();
}

TEST_F(PluginFaultsTest, R159_OneModelNeverGivesThePluginUp) {
  const auto faults = Make();
  for (uint8_t part = 0; part < 50; ++part)
    for (int again = 0; again < 3; ++again) faults->Count("has ended", Part(1, part), true, true);
  EXPECT_TRUE(faults->given_up().ok());
  EXPECT_TRUE(given_up.empty());
}

TEST_F(PluginFaultsTest, R159_AModelWithManyFaultsIsKeptAwayAsAWhole) {
  const auto faults = Make();
  for (uint8_t part = 0; part < PluginFaults::kMostOfModel - 1; ++part)
    faults->Count("has ended", Part(1, part), true, true);
  EXPECT_TRUE(faults->Check(Part(1, 99)).ok());
  faults->Count("has ended", Part(1, 98), true, true);
  EXPECT_FALSE(faults->Check(Part(1, 99)).ok());
  EXPECT_TRUE(faults->Check(Part(2, 99)).ok());
}

TEST_F(PluginFaultsTest, R159_ThreeModelsGiveThePluginUpOnce) {
  const auto faults = Make();
  for (uint8_t model = 1; model < 3; ++model) faults->Count("has ended", Part(model, 1), true, true);
  EXPECT_TRUE(faults->given_up().ok());
  for (uint8_t model = 3; model < 6; ++model) faults->Count("has ended", Part(model, 1), true, true);
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_EQ(given_up[0], "failed 3 times within five minutes, with 3 different models: its worker process has ended");
  EXPECT_EQ(faults->given_up().code(), StatusCode::kUnavailable);
}

TEST_F(PluginFaultsTest, R159_FaultsOfEarlierProcessesCount) {
  const auto now = std::chrono::system_clock::now();
  std::vector<FaultRecord> known;
  AddFault(known, {Part(1, 1), 1, 1, "has ended", now});
  AddFault(known, {Part(1, 1), 1, 1, "has ended", now});
  AddFault(known, {Part(2, 1), 1, 1, "has ended", now});
  AddFault(known, {Part(4, 1), 1, 1, "has ended", now - std::chrono::minutes(6)});
  const auto faults = Make(known);
  EXPECT_FALSE(faults->Check(Part(1, 1)).ok());
  EXPECT_TRUE(faults->given_up().ok());
  faults->Count("has ended", Part(2, 2), true, true);  // of a model that counts already
  EXPECT_TRUE(faults->given_up().ok());
  faults->Count("has ended", Part(3, 1), true, true);
  EXPECT_FALSE(faults->given_up().ok());
}

TEST_F(PluginFaultsTest, R159_ModelsThatRanAtTheSameTimeDoNotGiveThePluginUp) {
  const auto faults = Make();
  for (uint8_t model = 1; model < 9; ++model) faults->Count("has ended", Part(model, 1), false, true);
  EXPECT_TRUE(faults->given_up().ok());
}

TEST_F(PluginFaultsTest, FaultsWithoutAModelGiveThePluginUp) {
  const auto faults = Make();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(faults->given_up().ok());
    faults->Count("was ended by SIGSEGV", std::nullopt, true, true);
  }
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_EQ(given_up[0], "failed 3 times within five minutes: its worker process was ended by SIGSEGV");
}

TEST_F(PluginFaultsTest, R201_ThePluginIsGivenUpForThoseWhoseLimitsAreNotLarger) {
  const auto faults = Make();
  faults->Count("was slow", Part(1, 1), true, true, Limits(50));
  faults->Count("was slow", Part(2, 1), true, true, Limits(40, 1000));
  faults->Count("has ended", Part(3, 1), true, true);
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_EQ(given_up_with, Limits(40, 1000));
}

TEST_F(PluginFaultsTest, R201_FaultsByTheLimitOfACallerCountForNoOtherProcess) {
  const auto faults = Make();
  for (uint8_t model = 1; model < 4; ++model) faults->Count("was late", Part(model, 1), true, /*kept=*/false);
  ASSERT_EQ(given_up.size(), 1u);  // here
  EXPECT_TRUE(given_up_with.Has(FaultLimits::kDeadline));
}

TEST_F(PluginFaultsTest, R201_FaultsCountWhereNoLimitIsLarger) {
  std::vector<FaultRecord> records;
  for (const uint64_t timeout : {5, 5, 50, 500})
    AddFault(records, {Part(1, 1), 1, 1, "was slow", {}, Limits(timeout)}, /*apart=*/true);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_TRUE(CountingWith(records, Limits(501)).empty());
  EXPECT_TRUE(CountingWith(records, {}).empty());
  for (const auto& [timeout, count] : {std::pair<uint64_t, uint32_t>{5, 4}, {6, 2}, {50, 2}, {51, 1}}) {
    const std::vector<FaultRecord> counting = CountingWith(records, Limits(timeout));
    ASSERT_EQ(counting.size(), 1u);
    EXPECT_EQ(counting[0].count, count) << timeout;
  }
}

TEST_F(PluginFaultsTest, R159_AnyNumberOfModelsTakesBoundedMemory) {
  std::vector<FaultRecord> records;
  AddFault(records, {Part(1, 1), 2, 1, "has ended", {}});
  for (size_t i = 0; i < 2 * PluginFaults::kMostRecords; ++i) {
    FaultContent content;
    content.content[5] = static_cast<uint8_t>(i);
    content.content[6] = static_cast<uint8_t>(i >> 8);
    AddFault(records, {content, 1, 1, "has ended", {}});
  }
  EXPECT_EQ(records.size(), PluginFaults::kMostRecords);
  EXPECT_TRUE(records.front().is_kept_away());  // the one that matters stays
}

}  // namespace
}  // namespace deputy::host
