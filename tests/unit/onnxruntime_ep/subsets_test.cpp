// Subsets of nodes that become one node each: compared with the definition, on graphs with a fixed shape and on random
// ones.
#include "plugins/onnxruntime_ep/subsets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace ort_ep {
namespace {

using Subsets = std::vector<std::vector<size_t>>;

Subsets Find(size_t nodes, const std::vector<std::pair<size_t, size_t>>& edges, const std::vector<size_t>& others) {
  Readers readers(nodes);
  for (const auto& [from, to] : edges) readers[from].push_back(to);
  std::vector<bool> is_taken(nodes, true);
  for (const size_t node : others) is_taken[node] = false;
  return ConvexSubsets(readers, is_taken);
}

TEST(ConvexSubsets, AllNodesOfAConnectedGraphAreOne) {
  EXPECT_EQ(Find(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {}), (Subsets{{0, 1, 2, 3}}));
}

TEST(ConvexSubsets, UnconnectedPartsAreApart) { EXPECT_EQ(Find(4, {{0, 1}, {2, 3}}, {}), (Subsets{{0, 1}, {2, 3}})); }

TEST(ConvexSubsets, ANodeBetweenSplitsAChain) {
  EXPECT_EQ(Find(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, {2}), (Subsets{{0, 1}, {3, 4}}));
}

TEST(ConvexSubsets, APathAroundSplitsTheDirectOneToo) {
  // 0 -> 1 -> 3 and 0 -> 2 -> 3 with 2 of another: 0 and 3 cannot be one, and 1 is with one of them.
  EXPECT_EQ(Find(4, {{0, 1}, {1, 3}, {0, 2}, {2, 3}}, {2}), (Subsets{{0, 1}, {3}}));
}

TEST(ConvexSubsets, ASourceIsMergedWithItsOnlyReaders) {
  // 2 is behind another's node; 3 is a source that 4 alone reads, together with 2.
  EXPECT_EQ(Find(5, {{0, 1}, {1, 2}, {2, 4}, {3, 4}}, {1}), (Subsets{{0}, {2, 3, 4}}));
}

TEST(ConvexSubsets, NothingIsFoundWhereNothingIsTaken) { EXPECT_EQ(Find(2, {{0, 1}}, {0, 1}), Subsets{}); }

class Reachability {
 public:
  explicit Reachability(const Readers& readers) : reaches_(readers.size(), std::vector<bool>(readers.size())) {
    for (size_t from = readers.size(); from-- > 0;)
      for (const size_t reader : readers[from]) {
        reaches_[from][reader] = true;
        for (size_t to = 0; to < readers.size(); ++to)
          if (reaches_[reader][to]) reaches_[from][to] = true;
      }
  }
  bool operator()(size_t from, size_t to) const { return reaches_[from][to]; }

 private:
  std::vector<std::vector<bool>> reaches_;
};

// Kahn's algorithm over the graph with contracted subsets.
bool HasNoCycle(const Readers& readers, const Subsets& subsets) {
  std::vector<size_t> part(readers.size());
  for (size_t node = 0; node < readers.size(); ++node) part[node] = subsets.size() + node;
  for (size_t i = 0; i < subsets.size(); ++i)
    for (const size_t node : subsets[i]) part[node] = i;
  const size_t count = subsets.size() + readers.size();
  std::vector<std::vector<size_t>> edges(count);
  std::vector<size_t> waits(count, 0), ready;
  for (size_t node = 0; node < readers.size(); ++node)
    for (const size_t reader : readers[node])
      if (part[node] != part[reader]) {
        edges[part[node]].push_back(part[reader]);
        ++waits[part[reader]];
      }
  for (size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push_back(i);
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const size_t i = ready.back();
    ready.pop_back();
    for (const size_t next : edges[i])
      if (--waits[next] == 0) ready.push_back(next);
  }
  return done == count;
}

TEST(ConvexSubsets, OfRandomGraphsAreConvexDisjointAndWithoutCycles) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const size_t count = 2 + random() % 24;
    Readers readers(count);
    std::vector<bool> is_taken(count);
    for (size_t node = 0; node < count; ++node) is_taken[node] = random() % 4 != 0;
    for (size_t from = 0; from < count; ++from)
      for (size_t to = from + 1; to < count; ++to)
        if (random() % 5 == 0) readers[from].push_back(to);
    const Subsets subsets = ConvexSubsets(readers, is_taken);
    const Reachability reaches(readers);
    std::vector<size_t> times(count, 0);
    for (const std::vector<size_t>& subset : subsets) {
      for (const size_t node : subset) ++times[node];
      for (size_t node = 0; node < count; ++node) {
        if (std::find(subset.begin(), subset.end(), node) != subset.end()) continue;
        const bool is_read = std::any_of(subset.begin(), subset.end(), [&](size_t one) { return reaches(one, node); });
        const bool reads = std::any_of(subset.begin(), subset.end(), [&](size_t one) { return reaches(node, one); });
        EXPECT_FALSE(is_read && reads) << "node " << node << " is on a path";
      }
    }
    for (size_t node = 0; node < count; ++node) EXPECT_EQ(times[node], is_taken[node] ? 1U : 0U) << "node " << node;
    EXPECT_TRUE(HasNoCycle(readers, subsets));
  }
}

}  // namespace
}  // namespace ort_ep
