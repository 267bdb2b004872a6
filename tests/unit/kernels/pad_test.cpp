#include <gtest/gtest.h>

#include <vector>

#include "kernels/copy.hpp"

namespace deputy::host {
namespace {

std::vector<int64_t> Map(PadSource source, int64_t before, int64_t first, int64_t kept, size_t total) {
  std::vector<int64_t> map(total, -1);
  MapPadding(source, before, first, kept, map);
  return map;
}

TEST(Pad, EdgeRepeatsTheOutermostElements) {
  EXPECT_EQ(Map(PadSource::kEdge, 2, 0, 3, 7), (std::vector<int64_t>{0, 0, 0, 1, 2, 2, 2}));
}

TEST(Pad, ReflectLeavesTheEdgeOut) {
  EXPECT_EQ(Map(PadSource::kReflect, 2, 0, 3, 7), (std::vector<int64_t>{2, 1, 0, 1, 2, 1, 0}));
}

TEST(Pad, ReflectWiderThanTheInputSwingsBackAndForth) {
  EXPECT_EQ(Map(PadSource::kReflect, 5, 0, 3, 9), (std::vector<int64_t>{1, 0, 1, 2, 1, 0, 1, 2, 1}));
}

TEST(Pad, ReflectOfOneElementRepeatsIt) {
  EXPECT_EQ(Map(PadSource::kReflect, 2, 0, 1, 4), (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(Pad, WrapGoesRound) {
  EXPECT_EQ(Map(PadSource::kWrap, 4, 0, 3, 9), (std::vector<int64_t>{2, 0, 1, 2, 0, 1, 2, 0, 1}));
}

TEST(Pad, CroppedInputIsAllThatIsPaddedFrom) {
  EXPECT_EQ(Map(PadSource::kEdge, 0, 2, 2, 4), (std::vector<int64_t>{2, 3, 3, 3}));
}

TEST(Pad, MapsPickInEveryDimension) {
  const std::vector<uint8_t> source = {1, 2, 3, 4};  // [2,2]
  const std::vector<int64_t> maps = {1, 0, 1, 0, 1, 1};
  std::vector<uint8_t> target(9, 0);
  ThreadPool pool(1);
  PadByMaps(std::vector<int64_t>{2, 2}, std::vector<int64_t>{3, 3}, maps.data(), source.data(), target.data(), 1, pool);
  EXPECT_EQ(target, (std::vector<uint8_t>{3, 4, 4, 1, 2, 2, 3, 4, 4}));
}

}  // namespace
}  // namespace deputy::host
