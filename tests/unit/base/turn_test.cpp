#include "base/turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace deputy::host {
namespace {

// Numbers in the order in which the calls go.
std::vector<uint64_t> OrderOf(std::vector<Turn> turns) {
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.Precedes(b); });
  std::vector<uint64_t> numbers;
  for (const Turn& turn : turns) numbers.push_back(turn.number);
  return numbers;
}

TEST(Turn, TheLargestPriorityIsFirstAndThenTheFirstToCome) {
  EXPECT_EQ(OrderOf({{1, 0}, {2, INT32_MIN}, {3, INT32_MAX}, {4, 0}, {5, INT32_MAX}}),
            (std::vector<uint64_t>{3, 5, 1, 4, 2}));
}

TEST(Turn, CallsThatManyHaveOvertakenAreFirstInTheOrderOfArrival) {
  constexpr uint32_t kMost = Turn::kMostOvertakes;
  EXPECT_EQ(OrderOf({{1, 0, kMost - 1}, {2, -1, kMost}, {3, 5, kMost}, {4, 9}}), (std::vector<uint64_t>{2, 3, 4, 1}));
}

TEST(Turn, OnlyLaterCallsOvertake) {
  Turn turn{2, 0};
  turn.LetPass({1, 5});
  EXPECT_EQ(turn.overtakes, 0u);
  turn.LetPass({3, 5});
  EXPECT_EQ(turn.overtakes, 1u);
}

TEST(WaitUntil, ReturnsBeyondItsDeadlineAndAtOnceForOneInThePast) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  WaitUntil(changed, lock, 0);
  const uint64_t deadline_ns = NowNs() + 1'000'000;
  while (NowNs() <= deadline_ns) WaitUntil(changed, lock, deadline_ns);
  EXPECT_TRUE(lock.owns_lock());
}

}  // namespace
}  // namespace deputy::host
