// The device's memory: the budget, and places that do not overlap.
#include "plugins/sim_npu/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sim_npu {
namespace {

TEST(DeviceMemory, ReservesUpToTheBudget) {
  const auto memory = std::make_shared<DeviceMemory>(100);
  const auto first = memory->Reserve(60);
  ASSERT_TRUE(first.ok());
  const auto second = memory->Reserve(40);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(memory->Reserve(1).ok());
}

TEST(DeviceMemory, RefusesMoreAndSaysHowMuchIsFree) {
  const auto memory = std::make_shared<DeviceMemory>(100 * 1024);
  const auto refused = memory->Reserve(200 * 1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), deputy::sdk::Code::kNotSupported);
  EXPECT_NE(refused.status().message().find("needs 200 KiB"), std::string::npos);
}

TEST(DeviceMemory, BlockGivesItsShareBack) {
  const auto memory = std::make_shared<DeviceMemory>(100);
  { const auto block = memory->Reserve(100); }
  EXPECT_EQ(memory->used(), 0u);
}

bool Overlap(const Lifetime& a, const Lifetime& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  return in_time && a.offset < b.offset + b.elements && b.offset < a.offset + a.elements;
}

TEST(PlanArena, TensorsThatLiveTogetherDoNotOverlap) {
  std::vector<Lifetime> tensors;
  for (size_t i = 0; i < 60; ++i) tensors.push_back({1 + i * 37 % 91, i / 2, i / 2 + i * 13 % 7, 0});
  const size_t size = PlanArena(tensors);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_LE(tensors[i].offset + tensors[i].elements, size);
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(Overlap(tensors[i], tensors[j])) << i << " and " << j;
  }
}

TEST(PlanArena, ManyTensorsThatLiveTogetherDoNotOverlap) {
  std::vector<Lifetime> tensors;
  for (size_t i = 0; i < 6000; ++i) tensors.push_back({i * 37 % 91, i / 2, i / 2 + i * 13 % 70, 0});
  const size_t size = PlanArena(tensors);
  size_t largest = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_LE(tensors[i].offset + tensors[i].elements, size);
    for (size_t j = 0; j < i; ++j) ASSERT_FALSE(Overlap(tensors[i], tensors[j])) << i << " and " << j;
    size_t together = 0;
    for (const Lifetime& other : tensors)
      if (other.first <= tensors[i].first && tensors[i].first <= other.last) together += other.elements;
    largest = std::max(largest, together);
  }
  EXPECT_LE(size, 2 * largest);
}

TEST(PlanArena, ChainNeedsTwoPlaces) {
  for (const size_t length : {10, 10'000}) {
    std::vector<Lifetime> chain;
    for (size_t i = 0; i < length; ++i) chain.push_back({100, i, i + 1, 0});
    EXPECT_EQ(PlanArena(chain), 200u);
  }
}

}  // namespace
}  // namespace sim_npu
