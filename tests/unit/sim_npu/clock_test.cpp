// The clock: what is granted for a wish, and that time follows the frequency exactly.
#include "plugins/sim_npu/clock.hpp"

#include <gtest/gtest.h>

namespace sim_npu {
namespace {

using deputy::sdk::FrequencyWish;

FrequencyWish Level(uint32_t level) { return {level, 0}; }
FrequencyWish Megahertz(uint64_t megahertz) { return {0, megahertz * kMegahertz}; }

TEST(Clock, LevelsHaveTheirFrequencies) {
  for (uint32_t level = 1; level <= 4; ++level) {
    const Clock clock(Level(level));
    EXPECT_EQ(clock.granted_hz(), level * 300 * kMegahertz);
    EXPECT_EQ(clock.State().level_granted, level);
    EXPECT_EQ(clock.State().level_requested, level);
    EXPECT_EQ(clock.State().frequency_requested_hz, 0u);
  }
}

TEST(Clock, ExplicitWishIsLoweredToAStep) {
  const Clock clock(Megahertz(800));
  EXPECT_EQ(clock.granted_hz(), 750 * kMegahertz);
  EXPECT_EQ(clock.State().level_granted, 0u);
  EXPECT_EQ(clock.State().frequency_requested_hz, 800 * kMegahertz);
}

TEST(Clock, ExplicitWishForALevelsFrequencyIsThatLevel) { EXPECT_EQ(Clock(Megahertz(600)).State().level_granted, 2u); }

TEST(Clock, WishOutsideIsClamped) {
  EXPECT_EQ(GrantedHz(Megahertz(1)), kLowestHz);
  EXPECT_EQ(GrantedHz(Megahertz(9000)), kHighestHz);
}

TEST(Clock, TimeIsInverselyProportionalToTheFrequency) {
  Clock low(Level(1)), extreme(Level(4));
  low.Spend(1'200'000'000);
  extreme.Spend(1'200'000'000);
  EXPECT_EQ(low.State().busy_ns, 4'000'000'000u);
  EXPECT_EQ(extreme.State().busy_ns, 1'000'000'000u);
}

TEST(Clock, LongWorkDoesNotOverflow) {
  Clock clock(Level(1));
  clock.Spend(300'000'000ull * 86400 * 365);
  EXPECT_EQ(clock.State().busy_ns, 1'000'000'000ull * 86400 * 365);
}

TEST(Clock, CountsRuns) {
  Clock clock(Level(2));
  clock.Spend(1);
  clock.Spend(1);
  EXPECT_EQ(clock.State().runs, 2u);
}

TEST(Clock, WorkCostsOverheadArithmeticAndBytes) {
  EXPECT_EQ(CyclesOf({}), kCyclesPerLayer);
  EXPECT_EQ(CyclesOf({kMacsPerCycle * 10, 0}), kCyclesPerLayer + 10);
  EXPECT_EQ(CyclesOf({0, kBytesPerCycle * 10 + 1}), kCyclesPerLayer + 11);
}

}  // namespace
}  // namespace sim_npu
