// A policy ranks delegates per node: placements follow it, whatever the order of the configuration is.
#include "partition/policy.hpp"

#include <gtest/gtest.h>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

class Policy : public testing::Test {
 protected:
  // Node names of the partitions of `first_`, then of `second_`.
  std::vector<Names> PlaceBy(Ranking ranking, const std::string& ops) {
    struct Fixed final : PlacementPolicy {
      explicit Fixed(Ranking given) : ranking(std::move(given)) {}
      Ranking Rank(Eligibility&) const override { return ranking; }
      const Ranking ranking;
    };
    PlacementOptions options;
    options.policy = std::make_shared<Fixed>(std::move(ranking));
    const TestGraph test = Chain(ops);
    Result<Placement> placed = PlaceOn(test.graph, {&first_, &second_, &cpu_}, options);
    EXPECT_TRUE(placed.ok()) << placed.status().ToString();
    if (!placed.ok()) return {};
    placement_ = std::move(placed).value();
    return {PartitionsOf(test.graph, placement_, 0), PartitionsOf(test.graph, placement_, 1)};
  }

  const Ranking prefer_second_{{}, {{1, 1, 1}, {0, 0, 0}, {2, 2, 2}}};
  TestDelegate first_{"first", {"S", "T"}}, second_{"second", {"T"}}, cpu_ = TestCpu();
  Placement placement_;
};

TEST_F(Policy, OrderOfThePolicyWinsOverThatOfTheConfiguration) {
  EXPECT_EQ(PlaceBy({{1, 0, 2}}, "TST"), (std::vector<Names>{{{"n1"}}, {{"n0"}, {"n2"}}}));
  EXPECT_EQ(placement_.verdicts[0][0].detail, "second");
}

TEST_F(Policy, RanksAlternateBetweenNodes) {
  EXPECT_EQ(PlaceBy({{}, {{0, 1, 0}, {1, 0, 1}, {2, 2, 2}}}, "TTT"), (std::vector<Names>{{{"n0"}, {"n2"}}, {{"n1"}}}));
}

TEST_F(Policy, NodeThatThePreferredDelegateDoesNotSupportGoesToTheNextRank) {
  EXPECT_EQ(PlaceBy(prefer_second_, "STU"), (std::vector<Names>{{{"n0"}}, {{"n1"}}}));
  EXPECT_EQ(placement_.verdicts[1][0].reason, Reason::kOperatorUnknown);
  for (const TestDelegate* delegate : {&first_, &second_, &cpu_}) EXPECT_EQ(delegate->queries, 1) << delegate->name();
}

TEST_F(Policy, NodesThatThePreferredDelegateDoesNotClaimGoToTheNextRank) {
  second_.claims = {{0, 1}};
  EXPECT_EQ(PlaceBy(prefer_second_, "SSS"), (std::vector<Names>{{{"n2"}}, {{"n0", "n1"}}}));
  EXPECT_EQ(placement_.verdicts[1][2].detail, "not in any claim");
}

}  // namespace
}  // namespace deputy::host
