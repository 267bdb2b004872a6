// Long lists of numbers are sorted as by the standard library, in few comparisons, until the run ends.
#include "kernels/sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace deputy::host {
namespace {

using Numbers = std::vector<int64_t>;

Numbers Iota(int64_t count) {
  Numbers numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// Keys of elements, which are sorted by them and then by their numbers.
std::vector<std::pair<std::string, Numbers>> Keys(int64_t count) {
  std::mt19937_64 random(1);
  Numbers any = Iota(count), few = any, same(static_cast<size_t>(count), 7), up = any, down = any, pipe = any;
  for (int64_t& key : any) key = static_cast<int64_t>(random() % 1000000);
  for (int64_t& key : few) key %= 3;
  std::reverse(down.begin(), down.end());
  for (int64_t i = 0; i < count; ++i) pipe[static_cast<size_t>(i)] = std::min(i, count - i);
  return {{"any", any}, {"few", few}, {"same", same}, {"up", up}, {"down", down}, {"pipe", pipe}};
}

TEST(LongSort, GivesTheOrderOfTheStandardLibrary) {
  // So many steps that all of the list, most of it or nothing is sorted by the standard library.
  for (const int64_t steps : {int64_t{1}, int64_t{1000}, kStepsOfPart})
    for (const int64_t count : {0, 1, 2, 3, 16, 17, 1000, 40000})
      for (const auto& [name, keys] : Keys(count)) {
        const auto less = [&keys = keys](int64_t a, int64_t b) {
          const int64_t x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
          return x != y ? x < y : a < b;
        };
        Numbers wanted = Iota(count), sorted = wanted;
        std::sort(wanted.begin(), wanted.end(), less);
        SortUntilEnd(sorted.data(), sorted.data() + count, steps, less);
        EXPECT_EQ(sorted, wanted) << name << ", " << count << " elements of " << steps << " steps";
      }
}

TEST(LongSort, PutsTheFirstElementsInOrder) {
  constexpr int64_t kCount = 140000;
  for (const auto& [name, keys] : Keys(kCount))
    for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{10}, int64_t{1000}, kCount / 2, kCount}) {
      const auto less = [&keys = keys](int64_t a, int64_t b) {
        const int64_t x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
        return x != y ? x > y : a < b;
      };
      Numbers wanted = Iota(kCount), sorted = wanted;
      std::sort(wanted.begin(), wanted.end(), less);
      SortFirstUntilEnd(sorted.data(), first, kCount, less);
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + first, sorted.begin())) << name << ", " << first;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(sorted, Iota(kCount)) << name << ", " << first;
    }
}

// M. D. McIlroy, "A Killer Adversary for Quicksort" (1999): the keys are chosen while they are compared, so that each
// pivot divides as unevenly as it can.
TEST(LongSort, TakesFewComparisonsOfTheWorstList) {
  constexpr int64_t kCount = 4000;
  Numbers keys(kCount, kCount), list = Iota(kCount);
  int64_t solid = 0, candidate = 0, comparisons = 0;
  const auto less = [&](int64_t a, int64_t b) {
    ++comparisons;
    int64_t &x = keys[static_cast<size_t>(a)], &y = keys[static_cast<size_t>(b)];
    if (x == kCount && y == kCount) (a == candidate ? x : y) = solid++;
    if (x == kCount) candidate = a;
    if (y == kCount) candidate = b;
    return x < y;
  };
  SortUntilEnd(list.data(), list.data() + kCount, kStepsOfPart, less);
  EXPECT_LT(static_cast<double>(comparisons), 8 * kCount * std::log2(kCount));
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end(), [&](int64_t a, int64_t b) {
    return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
  }));
}

TEST(LongSort, EndsWithTheRunAndKeepsTheElements) {
  constexpr int64_t kCount = 100000;
  std::atomic<uint64_t> cancelled{0};
  const CancellationToken token{0, &cancelled};
  const CancellationScope scope(&token);
  int64_t comparisons = 0;
  const auto less = [&](int64_t a, int64_t b) {  // no order any more once the run has ended
    if (++comparisons == kCount) cancelled = 1;
    return scope.stopped() || a % 1009 != b % 1009 ? a % 1009 < b % 1009 : a < b;
  };
  Numbers list = Iota(kCount);
  SortUntilEnd(list.data(), list.data() + kCount, kStepsOfPart, less);
  EXPECT_TRUE(scope.stopped());
  EXPECT_LT(comparisons, kCount + 100);
  std::sort(list.begin(), list.end());
  EXPECT_EQ(list, Iota(kCount));
}

}  // namespace
}  // namespace deputy::host
