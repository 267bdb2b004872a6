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

}  // namespace
}  // namespace deputy::host
