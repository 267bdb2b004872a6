// Counts of elements from untrusted extents.
#include "base/checked.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace deputy::host {
namespace {

std::optional<int64_t> CountOf(const std::vector<int64_t>& extents) { return CheckedElementCount(extents); }

TEST(CheckedElementCount, IsTheProduct) {
  EXPECT_EQ(CountOf({}), 1);
  EXPECT_EQ(CountOf({2, 3, 4}), 24);
  EXPECT_EQ(CountOf({2, 0, 4}), 0);
  EXPECT_EQ(CountOf({2, -1}), std::nullopt);
}

TEST(CheckedElementCount, EndsAtTheMostElementsAlsoBesideAZero) {
  EXPECT_EQ(CountOf({kMostElements / 2, 2}), kMostElements);
  EXPECT_EQ(CountOf({kMostElements / 2, 0, 2}), 0);
  for (const int64_t extent : {kMostElements + 1, INT64_MAX}) {
    EXPECT_EQ(CountOf({extent}), std::nullopt);
    EXPECT_EQ(CountOf({0, extent}), std::nullopt);
  }
  EXPECT_EQ(CountOf({0, 1 << 30, 1 << 30}), std::nullopt);
}

}  // namespace
}  // namespace deputy::host
