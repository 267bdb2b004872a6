// The clock: what is granted for a wish, and that time follows the frequency exactly.
#include "plugins/sim_npu/clock.hpp"

#include <gtest/gtest.h>

namespace sim_npu {
namespace {

using deputy::sdk::FrequencyWish;

FrequencyWish Level(uint32_t level) { return {level, 0}; }
FrequencyWish Megahertz(uint64_t megahertz) { return {0, megahertz * kMegahertz}; }

// A clock on a device of its own.
struct OwnClock {
  explicit OwnClock(const FrequencyWish& wish) : clock(hardware, wish) {}
  Hardware hardware{"test", 1024};
  Clock clock;
};

TEST(Clock, LevelsHaveTheirFrequencies) {
  for (uint32_t level = 1; level <= 4; ++level) {
    const OwnClock own(Level(level));
    EXPECT_EQ(own.clock.hz(), level * 300 * kMegahertz);
    EXPECT_EQ(own.clock.State().level_granted, level);
    EXPECT_EQ(own.clock.State().level_requested, level);
    EXPECT_EQ(own.clock.State().frequency_requested_hz, 0u);
  }
}

TEST(Clock, ExplicitWishIsLoweredToAStep) {
  const OwnClock own(Megahertz(800));
  EXPECT_EQ(own.clock.hz(), 750 * kMegahertz);
  EXPECT_EQ(own.clock.State().level_granted, 0u);
  EXPECT_EQ(own.clock.State().frequency_requested_hz, 800 * kMegahertz);
}

TEST(Clock, ExplicitWishForALevelsFrequencyIsThatLevel) {
  EXPECT_EQ(OwnClock(Megahertz(600)).clock.State().level_granted, 2u);
}

TEST(Clock, WishOutsideIsClamped) {
  EXPECT_EQ(GrantedHz(Megahertz(1)), kLowestHz);
  EXPECT_EQ(GrantedHz(Megahertz(9000)), kHighestHz);
}

TEST(Clock, OfTwoOnOneDeviceTheFasterWishHoldsUntilItsClockIsGone) {
  Hardware hardware("test", 1024);
  const Clock slow(hardware, Level(2));
  {
    const Clock fast(hardware, Level(4));
    EXPECT_EQ(slow.State().level_granted, 4u);
    EXPECT_EQ(slow.State().level_requested, 2u);
  }
  EXPECT_EQ(slow.State().level_granted, 2u);
}

TEST(Clock, LastOneRestoresTheDevice) {
  Hardware hardware("test", 1024);
  EXPECT_EQ(hardware.frequency_hz(), kLowestHz);
  { const Clock clock(hardware, Level(4)); }
  EXPECT_EQ(hardware.frequency_hz(), kLowestHz);
}

TEST(Clock, TimeIsInverselyProportionalToTheFrequency) {
  OwnClock low(Level(1)), extreme(Level(4));
  low.clock.Spend(1'200'000'000);
  extreme.clock.Spend(1'200'000'000);
  EXPECT_EQ(low.clock.State().busy_ns, 4'000'000'000u);
  EXPECT_EQ(extreme.clock.State().busy_ns, 1'000'000'000u);
}

TEST(Clock, WorkCountsAtTheFrequencyThatItWasDoneAt) {
  Hardware hardware("test", 1024);
  Clock slow(hardware, Level(1));
  slow.Spend(300'000'000);
  {
    const Clock fast(hardware, Level(4));
    slow.Spend(1'200'000'000);
  }
  EXPECT_EQ(slow.State().busy_ns, 2'000'000'000u);
}

TEST(Clock, LongWorkDoesNotOverflow) {
  OwnClock own(Level(1));
  own.clock.Spend(300'000'000ull * 86400 * 365);
  EXPECT_EQ(own.clock.State().busy_ns, 1'000'000'000ull * 86400 * 365);
}

TEST(Clock, CountsRuns) {
  OwnClock own(Level(2));
  own.clock.Spend(1);
  own.clock.Spend(1);
  EXPECT_EQ(own.clock.State().runs, 2u);
}

TEST(Clock, EnergyGrowsWithTheSquareOfTheFrequency) {
  EXPECT_EQ(NanojoulesOf(1000, 600 * kMegahertz), 1000u);
  EXPECT_EQ(NanojoulesOf(1000, 1200 * kMegahertz), 4000u);
}

TEST(Clock, WorkCostsOverheadArithmeticAndBytes) {
  EXPECT_EQ(CyclesOf({}), kCyclesPerLayer);
  EXPECT_EQ(CyclesOf({kMacsPerCycle * 10, 0}), kCyclesPerLayer + 10);
  EXPECT_EQ(CyclesOf({0, kBytesPerCycle * 10 + 1}), kCyclesPerLayer + 11);
}

}  // namespace
}  // namespace sim_npu
