// Long lists of numbers are sorted as by the standard library, in few comparisons, until the run ends.
#include "kernels/sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/parts.hpp"

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

// The elements ascend from group to group; those of a group, which has so many of them, are equal.
template <class T>
void ExpectPackedOrder(const std::vector<T>& elements, const std::vector<size_t>& sizes) {
  for (const bool largest_first : {false, true}) {
    std::vector<std::pair<int64_t, int64_t>> packed;  // number, rank of its group
    int64_t place = 0;
    size_t at = 0;
    for (size_t group = 0; group < sizes.size(); ++group)
      for (size_t i = 0; i < sizes[group]; ++i, ++place)
        packed.emplace_back(Packed(elements[at++], place, largest_first), static_cast<int64_t>(group));
    std::sort(packed.begin(), packed.end());
    for (size_t i = 1; i < packed.size(); ++i) {
      const auto [before, after] = std::pair{packed[i - 1].second, packed[i].second};
      EXPECT_TRUE(before == after || (before < after) != largest_first);
      EXPECT_TRUE(before != after || PlaceOf(packed[i - 1].first) < PlaceOf(packed[i].first));
    }
  }
}

TEST(Packed, NumbersHaveTheOrderOfTheElements) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  ExpectPackedOrder<float>({-infinity, -3, -1e-45f, 0, -0.0f, 0, 1e-45f, 3, infinity, nan, -nan, nan},
                           {1, 1, 1, 3, 1, 1, 1, 3});
  ExpectPackedOrder<uint32_t>({0, 1, 1, 0x7fffffff, 0x80000000, 0xffffffff}, {1, 2, 1, 1, 1});
  ExpectPackedOrder<int32_t>({INT32_MIN, -1, -1, 0, INT32_MAX}, {1, 2, 1, 1});
  ExpectPackedOrder<uint8_t>({0, 127, 128, 255}, {1, 1, 1, 1});
  ExpectPackedOrder<bool>({false, false, true}, {2, 1});
  for (const int64_t place : {int64_t{0}, kMostPacked - 1}) EXPECT_EQ(PlaceOf(Packed(-3.0f, place, true)), place);
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
