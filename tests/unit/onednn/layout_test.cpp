// Questions about memory descriptors.
#include "plugins/onednn/layout.hpp"

#include <gtest/gtest.h>

namespace onednn {
namespace {

memory::desc ChannelsLast(const memory::dims& dims) {
  return memory::desc(dims, memory::data_type::f32, memory::format_tag::nhwc);
}

TEST(Layout, ChannelsLastOfOneChannelIsRowMajor) {
  EXPECT_TRUE(IsPlain(ChannelsLast({2, 1, 3, 4})));
  EXPECT_TRUE(IsPlain(ChannelsLast({2, 5, 1, 1})));
  EXPECT_FALSE(IsPlain(ChannelsLast({2, 5, 3, 4})));
}

TEST(Layout, TransposedChannelsLastIsRowMajor) {
  EXPECT_TRUE(IsPlain(Permuted(ChannelsLast({1, 5, 3, 4}), {0, 2, 3, 1})));
  EXPECT_EQ(Permuted(ChannelsLast({1, 5, 3, 4}), {0, 2, 3, 1}).dims(), (memory::dims{1, 3, 4, 5}));
}

TEST(Layout, PermutedThereAndBackIsTheSame) {
  const memory::dims order = {2, 0, 3, 1};
  const memory::desc desc = Plain({2, 3, 4, 5});
  EXPECT_EQ(Permuted(Permuted(desc, order), Inverse(order)), desc);
}

TEST(Layout, RowsOrColumnsOfAMatrixAreWithoutGaps) {
  const auto strided = [](const memory::dims& dims, const memory::dims& strides) {
    return memory::desc(dims, memory::data_type::f32, strides);
  };
  EXPECT_EQ(AsMatrices(strided({4, 5}, {9, 1})), strided({4, 5}, {9, 1}));
  EXPECT_EQ(AsMatrices(strided({4, 5}, {1, 9})), strided({4, 5}, {1, 9}));
  EXPECT_EQ(AsMatrices(strided({1, 5}, {50, 9})), strided({1, 5}, {1, 9}));
  EXPECT_EQ(AsMatrices(strided({5, 1}, {9, 50})), strided({5, 1}, {9, 1}));
  EXPECT_FALSE(AsMatrices(strided({4, 5}, {50, 9})));
}

TEST(Layout, PlainLikeKeepsTheOrderOfDimensions) {
  EXPECT_EQ(PlainLike(ChannelsLast({1, 8, 3, 4}), {1, 2, 5, 6}), ChannelsLast({1, 2, 5, 6}));
  const memory::desc blocked({1, 32, 3, 4}, memory::data_type::f32, memory::format_tag::nChw16c);
  EXPECT_FALSE(PlainLike(blocked, {1, 16, 3, 4}));
}

TEST(Layout, LaidOutLikeKeepsBlocksThatDivideTheExtents) {
  const auto blocked = [](const memory::dims& dims) {
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::nChw16c);
  };
  EXPECT_EQ(LaidOutLike(blocked({2, 32, 3, 4}), {3, 48, 5, 6}), blocked({3, 48, 5, 6}));
  EXPECT_FALSE(LaidOutLike(blocked({2, 32, 3, 4}), {2, 24, 3, 4}));
  EXPECT_EQ(LaidOutLike(ChannelsLast({1, 8, 3, 4}), {1, 2, 5, 6}), ChannelsLast({1, 2, 5, 6}));
}

TEST(Layout, APartIsNotDense) {
  EXPECT_FALSE(IsDense(Plain({2, 6}).submemory_desc({2, 3}, {0, 3})));
  EXPECT_TRUE(IsDense(ChannelsLast({2, 6, 3, 3})));
}

TEST(Layout, RowsThatAreApartCannotBecomeOne) {
  EXPECT_FALSE(Reshaped(Plain({2, 6}).submemory_desc({2, 3}, {0, 0}), {6}));
  EXPECT_TRUE(Reshaped(Plain({2, 6}), {12}));
}

TEST(Layout, KeysTellLayoutsApart) {
  EXPECT_EQ(KeyOf(ChannelsLast({1, 8, 3, 4})), KeyOf(ChannelsLast({1, 8, 3, 4})));
  EXPECT_NE(KeyOf(ChannelsLast({1, 8, 3, 4})), KeyOf(Plain({1, 8, 3, 4})));
  EXPECT_NE(KeyOf(Plain({1, 8, 3, 4})), KeyOf(WithType(Plain({1, 8, 3, 4}), memory::data_type::u8)));
}

TEST(Layout, BroadcastingOnlyGrowsOneSide) {
  EXPECT_TRUE(BroadcastsTo({3, 1}, {2, 3, 4}));
  EXPECT_FALSE(BroadcastsTo({2, 3, 4}, {3, 4}));
  EXPECT_FALSE(BroadcastsTo({2}, {3}));
}

}  // namespace
}  // namespace onednn
