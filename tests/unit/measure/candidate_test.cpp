#include "measure/candidate.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(Candidate, TurnsAreComparedWithThoseBesideThem) {
  Candidate a("a", {}), b("b", {});
  const auto add = [&](uint64_t of_a, uint64_t of_b) {
    a.AddTurn(of_a);
    b.AddTurn(of_b);
  };
  add(100, 125);
  add(200, 250);  // the machine is slower for some turns
  add(200, 250);
  add(200, 125);  // and becomes faster between two of them
  add(100, 125);
  EXPECT_GT(a.median(), b.median());
  EXPECT_DOUBLE_EQ(a.RatioTo(b), 0.8);
  EXPECT_DOUBLE_EQ(b.RatioTo(a), 1.25);
}

TEST(Candidate, OneThatWasDroppedIsComparedAtItsOwnTurns) {
  Candidate a("a", {}), b("b", {});
  a.AddTurn(600);
  for (const uint64_t ns : {200, 100, 100}) b.AddTurn(ns);
  EXPECT_DOUBLE_EQ(a.RatioTo(b), 3);
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
