#include "kernels/broadcast.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

Result<BroadcastPlan<2>> Plan(const Dims& first, const Dims& second, const Dims& output) {
  return PlanBroadcast<2>({std::span<const int64_t>(first), std::span<const int64_t>(second)}, output);
}

// Offset in an operand of shape `dims` of the output element `flat`, by definition.
int64_t OffsetByDefinition(const Dims& dims, const Dims& output, int64_t flat) {
  int64_t offset = 0, step = 1;
  for (size_t back = 0; back < output.size(); ++back) {
    const int64_t extent = output[output.size() - 1 - back];
    if (back < dims.size()) {
      const int64_t own = dims[dims.size() - 1 - back];
      offset += (own == 1 ? 0 : flat % extent) * step;
      step *= own;
    }
    flat /= extent;
  }
  return offset;
}

TEST(Broadcast, EqualShapesAreOneRun) {
  const BroadcastPlan<2> plan = Plan({2, 3, 4}, {2, 3, 4}, {2, 3, 4}).value();
  EXPECT_EQ(plan.rank, 1u);
  EXPECT_EQ(plan.inner(), 24);
  EXPECT_TRUE(plan.is_dense(0) && plan.is_dense(1));
}

TEST(Broadcast, BiasPerChannelRunsOverTheWholeImage) {
  const BroadcastPlan<2> plan = Plan({2, 3, 5, 5}, {3, 1, 1}, {2, 3, 5, 5}).value();
  EXPECT_EQ(plan.inner(), 25);
  EXPECT_EQ(plan.inner_stride(0), 1);
  EXPECT_EQ(plan.inner_stride(1), 0);
}

TEST(Broadcast, ScalarsAreOneElement) {
  const BroadcastPlan<2> plan = Plan({}, {1, 1}, {1, 1}).value();
  EXPECT_EQ(plan.rank, 0u);
  EXPECT_EQ(plan.count, 1);
}

TEST(Broadcast, ZeroExtentHasNoElements) {
  const BroadcastPlan<2> plan = Plan({2, 0}, {1}, {2, 0}).value();
  EXPECT_EQ(plan.count, 0);
}

TEST(Broadcast, ExtentThatIsNeitherOneNorTheOutputsIsRefused) {
  EXPECT_FALSE(Plan({2, 3}, {2}, {2, 3}).ok());
  EXPECT_FALSE(Plan({1, 2, 3}, {3}, {2, 3}).ok());
}

TEST(Broadcast, RunsOfAnyRangeVisitTheElementsOfTheDefinition) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    Dims output(random() % 7), first, second;
    for (int64_t& dim : output) dim = 1 + random() % 4;
    for (const int64_t dim : output) first.push_back(random() % 2 == 0 ? dim : 1);
    for (const int64_t dim : output) second.push_back(random() % 2 == 0 ? dim : 1);
    second.erase(second.begin(), second.begin() + static_cast<ptrdiff_t>(random() % (output.size() + 1)));
    const BroadcastPlan<2> plan = Plan(first, second, output).value();
    const int64_t begin = random() % static_cast<uint32_t>(plan.count);
    int64_t next = begin;
    ForEachRun(plan, begin, plan.count, [&](int64_t at, const std::array<int64_t, 2>& offsets, int64_t count) {
      ASSERT_EQ(at, next);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(offsets[0] + i * plan.inner_stride(0), OffsetByDefinition(first, output, at + i));
        ASSERT_EQ(offsets[1] + i * plan.inner_stride(1), OffsetByDefinition(second, output, at + i));
      }
      next += count;
    });
    ASSERT_EQ(next, plan.count);
  }
}

}  // namespace
}  // namespace deputy::host
