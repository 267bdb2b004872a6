#include "kernels/parts.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(EndCheck, ManyShortLoopsEndWithTheRun) {
  const CancellationToken token{1};  // a deadline long ago
  const CancellationScope scope(&token);
  constexpr int64_t kSteps = 1000, kMost = kStepsOfPart / kSteps + 1;
  int64_t loops = 0;
  for (bool ended = false; !ended && loops <= kMost; ++loops) {
    EndCheck check;
    ended = check.Ends(kSteps);
  }
  EXPECT_LE(loops, kMost);
  EXPECT_TRUE(scope.stopped());
}

TEST(EndCheck, ALoopOfARunThatHasEndedEndsAtItsFirstCheck) {
  const CancellationToken token{1};
  CancellationScope scope(&token);
  ASSERT_TRUE(scope.Ends());
  EXPECT_TRUE(EndCheck().Ends(1));
}

TEST(EndCheck, ARunWithoutADeadlineDoesNotEnd) {
  const CancellationScope scope(nullptr);
  EndCheck check;
  EXPECT_FALSE(check.Ends(2 * kStepsOfPart));
}

}  // namespace
}  // namespace deputy::host
