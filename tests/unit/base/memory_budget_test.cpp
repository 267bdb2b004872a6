#include "base/memory_budget.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(MemoryBudgetTest, TakesUpToItsLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.Take(60));
  EXPECT_FALSE(budget.Take(41));
  EXPECT_EQ(budget.used(), 60u);  // a refused request takes nothing
  EXPECT_TRUE(budget.Take(40));
  budget.Give(100);
  EXPECT_TRUE(budget.Take(100));
}

TEST(MemoryBudgetTest, ARequestBeyondTheAddressSpaceIsRefused) {
  MemoryBudget budget(100);
  ASSERT_TRUE(budget.Take(1));
  EXPECT_FALSE(budget.Take(SIZE_MAX));
  EXPECT_EQ(budget.used(), 1u);
}

TEST(MemoryBudgetTest, TheErrorHasThePurposeAndTheBytes) {
  MemoryBudget budget(100);
  ASSERT_TRUE(budget.Take(60));
  const Status status = TakeMemory(&budget, 41, "a tensor");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "41 bytes for a tensor exceed the memory limit of the session: 100 bytes, of which 60 are in use");
  EXPECT_NE(status.advice().find("limits: {memory: ...}"), std::string::npos);
}

TEST(MemoryBudgetTest, WithoutOneEverythingIsGranted) {
  EXPECT_TRUE(TakeMemory(nullptr, SIZE_MAX, "anything").ok());
  GiveMemory(nullptr, 1);
}

TEST(WeightMemoryScopeTest, LimitsWhatKernelsKeep) {
  const size_t before = WeightMemoryScope::Taken();
  {
    const WeightMemoryScope scope(100);
    EXPECT_NE(AllocateWeights(60), nullptr);
    EXPECT_TRUE(WeightMemoryScope::Check().ok());
    EXPECT_EQ(AllocateWeights(41), nullptr);
    EXPECT_EQ(WeightMemoryScope::Check().message(),
              "41 bytes for packed weights exceed the memory limit of a session: 100 bytes, of which packed weights "
              "have 60");
    EXPECT_EQ(WeightMemoryScope::Taken() - before, 60u);
    WeightMemoryScope::Give(60);
  }
  EXPECT_EQ(WeightMemoryScope::Taken(), before);
  EXPECT_TRUE(WeightMemoryScope::Check().ok());
}

TEST(WeightMemoryScopeTest, OutsideOfAScopeTheyAreOnlyCounted) {
  const size_t before = WeightMemoryScope::Taken();
  EXPECT_NE(AllocateWeights(1000), nullptr);
  EXPECT_EQ(WeightMemoryScope::Taken() - before, 1000u);
  WeightMemoryScope::Give(1000);
}

}  // namespace
}  // namespace deputy::host
