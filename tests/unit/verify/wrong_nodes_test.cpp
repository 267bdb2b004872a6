#include "verify/wrong_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace deputy::host {
namespace {

using Group = std::vector<uint32_t>;

// Differs where all nodes of one of the groups run together.
class Fault {
 public:
  explicit Fault(std::vector<Group> groups) : groups_(std::move(groups)) {}
  bool operator()(std::span<const uint32_t> nodes) {
    ++probes;
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
      return std::includes(nodes.begin(), nodes.end(), group.begin(), group.end());
    });
  }
  int probes = 0;

 private:
  const std::vector<Group> groups_;
};

WrongNodes Find(const std::vector<uint32_t>& operators, Fault& fault) {
  return FindWrongNodes(operators, [&](std::span<const uint32_t> nodes) { return fault(nodes); });
}
// Nodes of different operators.
std::vector<Group> Find(size_t count, Fault& fault) {
  std::vector<uint32_t> operators(count);
  std::iota(operators.begin(), operators.end(), 0U);
  return Find(operators, fault).groups;
}

TEST(WrongNodes, ASingleNodeIsFoundWhereverItIs) {
  for (uint32_t wrong = 0; wrong < 20; ++wrong) {
    Fault fault(std::vector<Group>{{wrong}});
    EXPECT_EQ(Find(20, fault), (std::vector<Group>{{wrong}}));
  }
}

TEST(WrongNodes, TheSearchIsLogarithmic) {
  Fault fault(std::vector<Group>{{777}});
  EXPECT_EQ(Find(100'000, fault), (std::vector<Group>{{777}}));
  EXPECT_LT(fault.probes, 25);
}

TEST(WrongNodes, AGroupIsFoundWithoutTheNodesBetween) {
  Fault fault(std::vector<Group>{{3, 7, 9}});
  EXPECT_EQ(Find(16, fault), (std::vector<Group>{{3, 7, 9}}));
}

TEST(WrongNodes, SeveralFaultsAreFoundOneAfterTheOther) {
  Fault fault({{2}, {5, 6}, {11}});
  EXPECT_EQ(Find(16, fault), (std::vector<Group>{{2}, {5, 6}, {11}}));
}

TEST(WrongNodes, ManyFaultsAreNotSeparated) {
  Fault fault({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}});
  const WrongNodes found = Find({0, 1, 2, 3, 4, 5, 6, 7, 8}, fault);
  EXPECT_TRUE(found.groups.empty());
  EXPECT_TRUE(found.too_many);
}

TEST(WrongNodes, AnyNumberOfNodesOfOneOperatorIsFound) {
  std::vector<uint32_t> operators;
  std::vector<Group> wrong;
  for (uint32_t node = 0; node < 300; ++node) {
    operators.push_back(node % 3);
    if (node % 3 == 1 && node % 5 != 0) wrong.push_back({node});
  }
  Fault fault(wrong);
  std::vector<Group> found = Find(operators, fault).groups;
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, wrong);
  EXPECT_LT(fault.probes, 100 + 20);
}

TEST(WrongNodes, WhatCannotBeRepeatedHasNoNodes) {
  Fault fault(std::vector<Group>{});
  EXPECT_TRUE(Find(8, fault).empty());
  EXPECT_EQ(fault.probes, 1);
}

TEST(WrongNodes, AnyGroupIsFoundAsASmallestOne) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const uint32_t count = static_cast<uint32_t>(2 + random() % 60);
    Group group;
    for (uint32_t node = 0; node < count; ++node)
      if (random() % count < 3) group.push_back(node);
    if (group.empty()) continue;
    Fault fault(std::vector<Group>{group});
    EXPECT_EQ(Find(count, fault), (std::vector<Group>{group})) << "seed " << seed;
  }
}

}  // namespace
}  // namespace deputy::host
