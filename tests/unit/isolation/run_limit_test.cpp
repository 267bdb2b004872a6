// The limit of a run that the host chooses, with times that the test gives.
#include "isolation/run_limit.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kCall{30000};

TEST(RunLimit, R171_FirstRunHasTheLimitOfACall) {
  const RunLimit limit;
  EXPECT_EQ(limit.For(100, kCall), kCall);
  EXPECT_EQ(limit.For(100, milliseconds(10)), RunLimit::kLeast);
}

TEST(RunLimit, R171_LaterRunsHaveAMultipleOfTheSlowestAndSecondsAtLeast) {
  RunLimit limit;
  limit.Ended(100, milliseconds(3));
  EXPECT_EQ(limit.For(100, kCall), RunLimit::kLeast);
  limit.Ended(100, seconds(2));
  limit.Ended(100, milliseconds(3));
  EXPECT_EQ(limit.For(100, kCall), seconds(40));
}

TEST(RunLimit, R171_OnlyTheFirstRunsAreMeasured) {
  RunLimit limit;
  for (uint32_t run = 0; run < RunLimit::kMeasured; ++run) {
    EXPECT_TRUE(limit.IsMeasured(100));
    limit.Ended(100, seconds(1));
  }
  EXPECT_FALSE(limit.IsMeasured(100));
  EXPECT_EQ(limit.For(100, kCall), seconds(20));
}

TEST(RunLimit, R171_ARunThatReadsMoreIsLikeTheFirst) {
  RunLimit limit;
  for (uint32_t run = 0; run < RunLimit::kMeasured; ++run) limit.Ended(100, milliseconds(1));
  EXPECT_EQ(limit.For(101, kCall), kCall);
  EXPECT_TRUE(limit.IsMeasured(101));
  limit.Ended(101, seconds(3));
  EXPECT_EQ(limit.For(101, kCall), seconds(60));
  EXPECT_EQ(limit.For(100, kCall), seconds(60));
  EXPECT_TRUE(limit.IsMeasured(101));  // runs of this size are measured anew
}

TEST(RunLimit, R171_OtherShapesBeginAnew) {
  RunLimit limit;
  limit.Ended(100, seconds(10));
  limit.Reset();
  EXPECT_EQ(limit.For(10, kCall), kCall);
}

}  // namespace
}  // namespace deputy::host
