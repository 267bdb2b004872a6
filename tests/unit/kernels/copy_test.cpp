#include "kernels/copy.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace deputy::host {
namespace {

std::vector<int32_t> Iota(size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Copy, CollapseMergesContiguousNeighboursAndDropsOnes) {
  StridedCopy copy;
  copy.Add(2, 12, 12);
  copy.Add(1, 5, 7);
  copy.Add(3, 4, 4);
  copy.Add(4, 1, 1);
  const StridedCopy collapsed = Collapse(copy);
  ASSERT_EQ(collapsed.dims.size(), 1u);
  EXPECT_EQ(collapsed.dims[0], 24);
}

TEST(Copy, CollapseKeepsDimensionsThatAreContiguousOnOneSideOnly) {
  StridedCopy copy;
  copy.Add(2, 8, 3);
  copy.Add(3, 1, 1);
  EXPECT_EQ(Collapse(copy).dims.size(), 2u);
}

TEST(Copy, NegativeStridesReverse) {
  ThreadPool pool(1);
  const std::vector<int32_t> source = Iota(6);
  std::vector<int32_t> target(6, -1);
  StridedCopy copy;
  copy.Add(6, -1, 1);
  CopyStrided(copy, source.data() + 5, target.data(), sizeof(int32_t), pool);
  EXPECT_EQ(target, (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));
}

TEST(Copy, ZeroStrideRepeats) {
  ThreadPool pool(1);
  const std::vector<int32_t> source = Iota(2);
  std::vector<int32_t> target(6, -1);
  StridedCopy copy;
  copy.Add(2, 1, 3);
  copy.Add(3, 0, 1);
  CopyStrided(copy, source.data(), target.data(), sizeof(int32_t), pool);
  EXPECT_EQ(target, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
}

TEST(Copy, NoDimensionsCopyOneElement) {
  ThreadPool pool(1);
  const int64_t source = 42;
  int64_t target = 0;
  CopyStrided(StridedCopy(), &source, &target, sizeof source, pool);
  EXPECT_EQ(target, 42);
}

TEST(Copy, ZeroExtentTouchesNothing) {
  ThreadPool pool(1);
  StridedCopy copy;
  copy.Add(3, 1, 1);
  copy.Add(0, 1, 1);
  const std::vector<int32_t> source = Iota(3);
  std::vector<int32_t> target(3, -1);
  CopyStrided(copy, source.data(), target.data(), sizeof(int32_t), pool);
  EXPECT_EQ(target, (std::vector<int32_t>{-1, -1, -1}));
  CopyStrided(copy, nullptr, nullptr, sizeof(int32_t), pool);
}

TEST(Copy, ManyRowsAreTheSameOnManyThreads) {
  const std::vector<int32_t> source = Iota(300 * 70 * 9);
  std::vector<int32_t> one(300 * 70 * 5, -1), many = one;
  StridedCopy copy;
  copy.Add(300, 70 * 9, 70 * 5);
  copy.Add(70, 9, 5);
  copy.Add(5, 2, 1);
  ThreadPool alone(1), pool(4);
  CopyStrided(copy, source.data(), one.data(), sizeof(int32_t), alone);
  CopyStrided(copy, source.data(), many.data(), sizeof(int32_t), pool);
  EXPECT_EQ(one, many);
  EXPECT_EQ(one[(299 * 70 + 69) * 5 + 4], (299 * 70 + 69) * 9 + 8);
}

TEST(Copy, FillWritesEveryElementOfEachSize) {
  ThreadPool pool(2);
  const uint16_t two = 0xabcd;
  std::vector<uint16_t> target(70000, 0);
  Fill(&two, target.data(), static_cast<int64_t>(target.size()), sizeof two, pool);
  EXPECT_EQ(target, std::vector<uint16_t>(70000, 0xabcd));
}

}  // namespace
}  // namespace deputy::host
