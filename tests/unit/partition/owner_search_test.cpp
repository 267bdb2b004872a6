// The search against exhaustive enumeration, on random graphs with random costs, support and readers.
#include "partition/owner_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

using Owners = std::vector<uint32_t>;

// Transfers: a fixed cost per value and pair of delegates.
class FixedCosts final : public CostModel {
 public:
  explicit FixedCosts(size_t delegates) : delegates_(delegates) {}
  double NodeNs(size_t, NodeId) const override { return 0; }  // in OwnerProblem
  double TransferNs(size_t from, size_t to, ValueId value) const override {
    return transfers[(value * delegates_ + from) * delegates_ + to];
  }

  std::vector<double> transfers;  // per value, from, to

 private:
  const size_t delegates_;
};

class Case {
 public:
  Case(std::mt19937& random, size_t most_nodes, size_t delegates, bool symmetric)
      : costs(delegates), problem{graph, costs, delegates, {}}, random_(random) {
    MakeGraph(1 + Draw(most_nodes));
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      const size_t sure = Draw(delegates);
      for (size_t d = 0; d < delegates; ++d)
        problem.node_ns.push_back(d == sure || Draw(4) != 0 ? static_cast<double>(Draw(20)) : kNever);
    }
    // Symmetric: each delegate has a border of its own, as transfers have that pass the host's memory.
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      std::vector<double> border;
      for (size_t d = 0; d < delegates; ++d) border.push_back(static_cast<double>(Draw(6)));
      for (size_t from = 0; from < delegates; ++from)
        for (size_t to = 0; to < delegates; ++to)
          costs.transfers.push_back(symmetric ? border[from] + border[to] : static_cast<double>(Draw(12)));
    }
  }

  // The first delegate that may own each node.
  Owners Priority() const {
    Owners owners;
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      uint32_t owner = 0;
      while (problem.ns(node, owner) == kNever) ++owner;
      owners.push_back(owner);
    }
    return owners;
  }

  Owners Search() const {
    OwnerCosts found(problem, Priority());
    FindCheapestOwners(problem, found);
    return found.owners();
  }

  // Independent of OwnerCosts.
  double Cost(const Owners& owners) const {
    const auto host = static_cast<uint32_t>(problem.delegates - 1);
    double sum = 0;
    uint32_t read_on[kMostValues] = {};  // delegates as bits
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      sum += problem.ns(node, owners[node]);
      for (const ValueId id : graph.nodes[node].inputs) read_on[id] |= 1u << owners[node];
    }
    for (const ValueId id : graph.outputs) read_on[id] |= 1u << host;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      const uint32_t from = id == 0 ? host : owners[id - 1];  // node n makes value n + 1
      for (uint32_t to = 0; to < problem.delegates; ++to)
        if (to != from && (read_on[id] >> to & 1) != 0) sum += costs.TransferNs(from, to, id);
    }
    return sum;
  }

  double Optimum() const {
    const Owners first = Priority();
    Owners owners = first;
    const auto advance = [&](NodeId node) {
      do ++owners[node];
      while (owners[node] < problem.delegates && problem.ns(node, owners[node]) == kNever);
      return owners[node] < problem.delegates;
    };
    double best = kNever;
    for (;;) {
      best = std::min(best, Cost(owners));
      NodeId at = 0;
      for (; at < owners.size() && !advance(at); ++at) owners[at] = first[at];
      if (at == owners.size()) return best;
    }
  }

  Graph graph;
  FixedCosts costs;
  OwnerProblem problem;

 private:
  static constexpr size_t kMostValues = 16;

  size_t Draw(size_t below) { return random_() % below; }

  // Each node reads one to three values before it, which may be equal; values near the front have many readers.
  void MakeGraph(size_t nodes) {
    const ValueType type{DType::kFloat32, true, {4}};
    graph.inputs = {graph.AddValue("x", type)};
    for (size_t i = 0; i < nodes; ++i) {
      std::vector<ValueId> inputs;
      for (size_t reads = 1 + Draw(3); reads > 0; --reads) {
        const size_t at = Draw(graph.values.size());
        inputs.push_back(static_cast<ValueId>(Draw(2) == 0 ? at : Draw(at + 1)));
      }
      const ValueId made = graph.AddValue("v" + std::to_string(i), type);
      graph.nodes.push_back(MakeNode("Sum", 13, std::move(inputs), {made}));
      if (i + 1 == nodes || Draw(5) == 0) graph.outputs.push_back(made);
    }
  }

  std::mt19937& random_;
};

constexpr uint32_t kSeed = 20260311;

TEST(OwnerSearch, ExhaustiveSearchFindsNothingBetterForOneDelegateAndTheCpu) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const Case made(random, 14, 2, /*symmetric=*/false);
    ASSERT_DOUBLE_EQ(made.Cost(made.Search()), made.Optimum()) << "graph " << i << " of seed " << kSeed;
  }
}

TEST(OwnerSearch, SeveralDelegatesAreNeverWorseThanPriorityAndMostlyOptimal) {
  std::mt19937 random(kSeed);
  constexpr int kGraphs = 300;
  int optimal = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const Case made(random, 7, 4, /*symmetric=*/true);
    const double found = made.Cost(made.Search()), optimum = made.Optimum();
    EXPECT_LE(found, made.Cost(made.Priority())) << "graph " << i << " of seed " << kSeed;
    EXPECT_LE(found, 1.25 * optimum + 1e-9) << "graph " << i << " of seed " << kSeed;
    optimal += found <= optimum + 1e-9;
  }
  EXPECT_GE(optimal, kGraphs * 9 / 10) << "seed " << kSeed;
}

TEST(OwnerSearch, CostsThatAreNoMetricAreNeverWorseThanPriority) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    const Case made(random, 12, 3, /*symmetric=*/false);
    EXPECT_LE(made.Cost(made.Search()), made.Cost(made.Priority())) << "graph " << i << " of seed " << kSeed;
  }
}

TEST(OwnerSearch, TheSameProblemHasTheSameOwners) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 50; ++i) {
    const Case made(random, 14, 4, /*symmetric=*/true);
    EXPECT_EQ(made.Search(), made.Search()) << "graph " << i << " of seed " << kSeed;
  }
}

TEST(OwnerSearch, CostsOfSingleMovesAreThoseOfTheWhole) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 50; ++i) {
    const Case made(random, 10, 3, /*symmetric=*/true);
    OwnerCosts costs(made.problem, made.Priority());
    for (NodeId node = 0; node < made.graph.nodes.size(); ++node)
      for (uint32_t to = 0; to < 3; ++to) {
        if (made.problem.ns(node, to) == kNever) continue;
        const double before = costs.TotalNs(), here = costs.MarginalNs(node, costs.owner(node));
        const double there = costs.MarginalNs(node, to);
        costs.Move(node, to);
        EXPECT_NEAR(costs.TotalNs(), before + there - here, 1e-9) << "graph " << i << " of seed " << kSeed;
        EXPECT_NEAR(costs.TotalNs(), made.Cost(costs.owners()), 1e-9);
      }
  }
}

// x -> a -> {b, c}, which are outputs: on the delegate all three, or none.
class Fan : public testing::Test {
 protected:
  Fan() {
    test_.Input("x").Node("a", "Relu", {"x"}).Node("b", "Relu", {"a"}).Node("c", "Relu", {"a"}).Output("b").Output("c");
    costs_.transfers.assign(test_.graph.values.size() * 4, 10);
  }
  Owners Search(std::vector<double> node_ns) {
    const OwnerProblem problem{test_.graph, costs_, 2, std::move(node_ns)};
    OwnerCosts found(problem, {0, 0, 0});
    FindCheapestOwners(problem, found);
    return found.owners();
  }

  TestGraph test_;
  FixedCosts costs_{2};
};

TEST_F(Fan, AValueIsTransferredOnceForAllReadersOnADelegate) {
  // Only `a` is faster on the delegate, by more than x and one transfer of a, and less than x and two.
  EXPECT_EQ(Search({0, 25, 9, 0, 9, 0}), (Owners{0, 1, 1}));
  EXPECT_EQ(Search({0, 19, 9, 0, 9, 0}), (Owners{1, 1, 1}));
}

TEST_F(Fan, AtEqualCostTheFirstDelegateKeepsANode) {
  std::fill(costs_.transfers.begin(), costs_.transfers.end(), 0);
  EXPECT_EQ(Search({5, 5, 5, 5, 5, 4}), (Owners{0, 0, 1}));
}

TEST_F(Fan, ANodeThatNoDelegateMayOwnCostsNothing) {
  EXPECT_EQ(Search({kNever, kNever, 1, 2, 11, 0}), (Owners{0, 1, 1}));
}

}  // namespace
}  // namespace deputy::host
