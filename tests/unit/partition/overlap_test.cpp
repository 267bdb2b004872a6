#include "partition/overlap.hpp"

#include <gtest/gtest.h>

#include <random>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

// Chains of so many nodes are worth a step of their own; each node has the work of its beginning and of four elements.
constexpr int kLong = 128;

// Branches of nodes that are named by what they are, "left.0", "left.1" ...; A is for the first delegate, B for the
// second, everything for the CPU.
class Branches {
 public:
  Branches& Input(const std::string& name) { return test_.Input(name), *this; }
  Branches& Node(const std::string& name, const std::string& op, const std::vector<std::string>& reads) {
    return test_.Node(name, op, reads), *this;
  }
  // `name` is the last of the chain.
  Branches& Chain(const std::string& name, const std::string& op, const std::string& from, int length = kLong) {
    std::string last = from;
    for (int i = 0; i + 1 < length; ++i) {
      std::string next = name + "." + std::to_string(i);
      test_.Node(next, op, {last});
      last = std::move(next);
    }
    return Node(name, op, {last});
  }
  Branches& Output(const std::string& name) { return test_.Output(name), *this; }
  const Graph& graph() const { return test_.graph; }

 private:
  TestGraph test_;
};

class OverlapCutsTest : public testing::Test {
 protected:
  OverlapCutsTest() { a_.overlap = b_.overlap = true; }

  // The last node of each partition of a delegate, in running order.
  std::vector<std::string> Partitions(const Branches& model, size_t delegate, const DelegateLimits& limits = {}) {
    const Result<Placement> placed = PlaceOn(model.graph(), {&a_, &b_, &cpu_}, {}, limits);
    EXPECT_TRUE(placed.ok()) << placed.status().ToString();
    std::vector<std::string> last;
    if (placed.ok())
      for (const std::vector<std::string>& names : PartitionsOf(model.graph(), *placed, delegate))
        last.push_back(names.back());
    return last;
  }

  TestDelegate a_{"a", {"A", "Join"}}, b_{"b", {"B"}}, cpu_ = TestCpu();
};

using Last = std::vector<std::string>;

Branches TwoBranches() {
  Branches model;
  model.Input("x").Chain("left", "A", "x").Chain("right", "B", "x").Node("join", "Join", {"left", "right"});
  model.Output("join");
  return model;
}

Branches Stem() {
  Branches model;
  model.Input("x").Chain("stem", "A", "x", 3).Chain("left", "A", "stem").Chain("right", "B", "stem");
  model.Output("left").Output("right");
  return model;
}

TEST_F(OverlapCutsTest, ANodeBehindTwoBranchesIsNoPartOfEither) {
  EXPECT_EQ(Partitions(TwoBranches(), 0), (Last{"left", "join"}));
  EXPECT_EQ(Partitions(TwoBranches(), 1), (Last{"right"}));
}

TEST_F(OverlapCutsTest, WhatTwoBranchesReadIsNoPartOfEither) {
  EXPECT_EQ(Partitions(Stem(), 0), (Last{"stem", "left"}));
  EXPECT_EQ(Partitions(Stem(), 1), (Last{"right"}));
}

TEST_F(OverlapCutsTest, AStemTwoBranchesAndTheirJoinAreFour) {
  Branches model;
  model.Input("x").Chain("stem", "A", "x", 3).Chain("left", "A", "stem").Chain("right", "B", "stem");
  model.Node("join", "Join", {"left", "right"}).Chain("tail", "A", "join", 3).Output("tail");
  EXPECT_EQ(Partitions(model, 0), (Last{"stem", "left", "tail"}));
  EXPECT_EQ(Partitions(model, 1), (Last{"right"}));
}

TEST_F(OverlapCutsTest, TheCpuRunsBesideADeviceToo) {
  Branches model;
  model.Input("x").Chain("left", "A", "x").Chain("right", "U", "x").Node("join", "Join", {"left", "right"});
  model.Output("join");
  EXPECT_EQ(Partitions(model, 0), (Last{"left", "join"}));
}

TEST_F(OverlapCutsTest, OneDelegateThatOverlapsIsEnough) {
  a_.overlap = false;
  EXPECT_EQ(Partitions(TwoBranches(), 0), (Last{"left", "join"}));
  EXPECT_EQ(Partitions(Stem(), 0), (Last{"stem", "left"}));
}

TEST_F(OverlapCutsTest, WithoutADelegateThatOverlapsNothingIsCut) {
  a_.overlap = b_.overlap = false;
  EXPECT_EQ(Partitions(TwoBranches(), 0), (Last{"join"}));
  EXPECT_EQ(Partitions(Stem(), 0), (Last{"left"}));
}

TEST_F(OverlapCutsTest, NothingIsCutForLittleWorkOnEitherSide) {
  for (const bool left_is_short : {true, false}) {
    Branches model;
    model.Input("x").Chain("left", "A", "x", left_is_short ? 90 : kLong);
    model.Chain("right", "B", "x", left_is_short ? kLong : 90).Node("join", "Join", {"left", "right"}).Output("join");
    EXPECT_EQ(Partitions(model, 0), (Last{"join"})) << left_is_short;
  }
}

// Both branches have the work of 128 nodes, and as much as one of them would be written and read between the parts.
TEST_F(OverlapCutsTest, ValuesBetweenThePartsAreWeighedAgainstTheGain) {
  TestGraph test(ValueType{DType::kFloat32, true, {1 << 17}});
  test.Input("x").Node("left", "A", {"x"}).Node("right", "B", {"x"}).Node("join", "Join", {"left", "right"});
  test.Output("join");
  const Result<Placement> placed = PlaceOn(test.graph, {&a_, &b_, &cpu_});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"left", "join"}}));
}

TEST_F(OverlapCutsTest, WorkOfTheSameDelegateIsNotBesideIt) {
  Branches model;
  model.Input("x").Chain("left", "A", "x").Chain("right", "A", "x").Node("join", "Join", {"left", "right"});
  model.Output("join");
  EXPECT_EQ(Partitions(model, 0), (Last{"join"}));
}

TEST_F(OverlapCutsTest, APartThatItsDelegateWouldRefuseStaysInTheWhole) {
  EXPECT_EQ(Partitions(TwoBranches(), 0, {.min_nodes = 2}), (Last{"join"}));
  a_.estimate = [](const PartitionSpec& partition) {
    Estimate estimate;
    estimate.feasible = partition.nodes.size() > 1;
    return Result<Estimate>(estimate);
  };
  EXPECT_EQ(Partitions(TwoBranches(), 0), (Last{"join"}));
}

TEST_F(OverlapCutsTest, GroupsAndClaimsStayWhole) {
  const Branches model = TwoBranches();
  const NodeId left = kLong - 1, join = 2 * kLong;
  ASSERT_EQ(model.graph().nodes[left].name, "left");
  ASSERT_EQ(model.graph().nodes[join].name, "join");
  a_.group_list = {{left, join}};
  EXPECT_EQ(Partitions(model, 0), (Last{"left.126", "join"})) << "the last of a branch goes with the join";
  a_.group_list.clear();
  a_.claims.emplace_back();
  for (NodeId node = 0; node < kLong; ++node) a_.claims.back().push_back(node);
  a_.claims.back().push_back(join);
  EXPECT_EQ(Partitions(model, 0), (Last{"join"}));
}

TEST_F(OverlapCutsTest, GraphsOfTooManyNodesAreNotCut) {
  Branches model;
  model.Input("x").Chain("left", "A", "x", OverlapCuts::kMostGroups).Chain("right", "B", "x");
  model.Node("join", "Join", {"left", "right"}).Output("join");
  EXPECT_EQ(Partitions(model, 0), (Last{"join"}));
}

// The placement has passed CheckPlacement; whatever is cut, every partition could still be cut or run in some order.
TEST_F(OverlapCutsTest, RandomGraphsHavePlacementsAndCuts) {
  std::mt19937 random(5);
  size_t cut = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Branches model;
    model.Input("v0");
    const int count = 4 + static_cast<int>(random() % 24);
    for (int i = 0; i < count; ++i) {
      const auto before = [&] { return "v" + std::to_string(random() % static_cast<unsigned>(i + 1)); };
      const std::string name = "v" + std::to_string(i + 1), op(1, "ABU"[random() % 3]);
      const std::string first = before(), second = before();
      model.Node(name + "in", op, {first, second}).Chain(name, op, name + "in", random() % 2 == 0 ? 1 : kLong);
    }
    model.Output("v" + std::to_string(count));
    a_.overlap = b_.overlap = false;
    const size_t whole = Partitions(model, 0).size() + Partitions(model, 1).size();
    a_.overlap = b_.overlap = true;
    const size_t parts = Partitions(model, 0).size() + Partitions(model, 1).size();
    EXPECT_GE(parts, whole);
    cut += parts > whole;
  }
  EXPECT_GT(cut, 10u);
}

}  // namespace
}  // namespace deputy::host
