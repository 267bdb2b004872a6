// Random sums of costs against exhaustive search.
#include "partition/minimum_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace deputy::host {
namespace {

TEST(MinimumCut, FindsTheCheapestOfAllChoices) {
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
    const uint32_t choices = 1 + draw(8);
    MinimumCut cut(choices);
    // What each combination of sides costs; a set bit is the source side.
    std::vector<int64_t> costs(size_t{1} << choices, 0);
    const auto add = [&](int64_t cost, const std::function<bool(uint32_t)>& is_paid) {
      for (uint32_t sides = 0; sides < costs.size(); ++sides) costs[sides] += is_paid(sides) ? cost : 0;
    };
    const auto draw_side = [&] { return draw(2) == 0 ? Side::kSource : Side::kSink; };
    const auto is_on = [](uint32_t sides, uint32_t choice, Side side) {
      return (sides >> choice & 1) == (side == Side::kSource ? 1u : 0u);
    };
    for (uint32_t choice = 0; choice < choices; ++choice) {
      const auto cost = int64_t{draw(10)};
      const Side side = draw_side();
      cut.Pay(cost, choice, side);
      add(cost, [&](uint32_t sides) { return is_on(sides, choice, side); });
    }
    for (int term = 0; term < 6; ++term) {
      const auto cost = int64_t{draw(10)};
      const Side side = draw_side();
      const uint32_t choice = draw(choices);
      std::vector<uint32_t> others;
      for (uint32_t other = 0; other < choices; ++other)
        if (other != choice && draw(2) == 0) others.push_back(other);
      const auto any = [&](uint32_t sides) {
        return std::any_of(others.begin(), others.end(), [&](uint32_t other) { return is_on(sides, other, side); });
      };
      if (term % 2 == 0) {
        cut.PayForAny(cost, others, side);
        add(cost, any);
      } else {
        cut.PayAcross(cost, choice, others, side);
        add(cost, [&](uint32_t sides) { return any(sides) && !is_on(sides, choice, side); });
      }
    }
    const std::vector<Side> found = cut.Solve();
    uint32_t sides = 0;
    for (uint32_t choice = 0; choice < choices; ++choice) sides |= found[choice] == Side::kSource ? 1u << choice : 0u;
    ASSERT_EQ(costs[sides], *std::min_element(costs.begin(), costs.end())) << "sum " << round << " of seed " << kSeed;
  }
}

TEST(MinimumCut, BothSidesAtTheSameCostAreTheSink) {
  MinimumCut cut(1);
  cut.Pay(3, 0, Side::kSource);
  cut.Pay(3, 0, Side::kSink);
  EXPECT_EQ(cut.Solve().front(), Side::kSink);
}

}  // namespace
}  // namespace deputy::host
