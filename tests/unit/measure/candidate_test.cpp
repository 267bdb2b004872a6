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

}  // namespace
}  // namespace deputy::host
