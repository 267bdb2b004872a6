#include "measure/candidate.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(Candidate, HasTheTimeOfItsFastestTurn) {
  Candidate a("a", {}), b("b", {});
  EXPECT_FALSE(a.measured());
  for (const uint64_t ns : {400, 100, 300, 120}) a.AddTurn(ns);
  for (const uint64_t ns : {125, 500, 500, 500}) b.AddTurn(ns);
  EXPECT_EQ(a.time(), 100u);
  EXPECT_EQ(a.turns(), 4u);
  EXPECT_DOUBLE_EQ(a.RatioTo(b), 0.8);
}

TEST(Candidate, VariesByWhatItsTwoFastestTurnsDiffer) {
  Candidate candidate("candidate", {});
  const auto spread_after = [&](uint64_t ns) {
    candidate.AddTurn(ns);
    return candidate.spread();
  };
  EXPECT_DOUBLE_EQ(spread_after(200), 0);
  EXPECT_DOUBLE_EQ(spread_after(250), 0.25);
  EXPECT_DOUBLE_EQ(spread_after(900), 0.25);
  EXPECT_DOUBLE_EQ(spread_after(100), 1);
  EXPECT_DOUBLE_EQ(spread_after(150), 0.5);
}

bool GainsAfter(int turns, uint64_t ns, uint64_t other_ns, double margin = 0.03) {
  Candidate candidate("candidate", {}), other("other", {});
  for (int i = 0; i < turns; ++i) {
    candidate.AddTurn(ns);
    other.AddTurn(other_ns);
  }
  return Gains(candidate, other, margin);
}

TEST(Gains, AreMoreThanTheMargin) {
  EXPECT_TRUE(GainsAfter(5, 960'000, 1'000'000));
  EXPECT_FALSE(GainsAfter(5, 980'000, 1'000'000));
  EXPECT_FALSE(GainsAfter(5, 1'040'000, 1'000'000));
}

TEST(Gains, AreLargerWhereFewTurnsShowThem) {
  EXPECT_FALSE(GainsAfter(2, 900'000, 1'000'000));
  EXPECT_TRUE(GainsAfter(2, 860'000, 1'000'000));
  EXPECT_TRUE(GainsAfter(4, 910'000, 1'000'000));
}

TEST(Gains, OfLessThanAQuarterOfAMicrosecondCountOnlyWithoutAMargin) {
  EXPECT_FALSE(GainsAfter(5, 3'800, 4'000));
  EXPECT_TRUE(GainsAfter(5, 3'800, 4'000, 0));
  EXPECT_TRUE(GainsAfter(5, 3'700, 4'000));
}

}  // namespace
}  // namespace deputy::host
