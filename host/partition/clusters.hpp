// Grows assigned nodes into partitions whose quotient graph is acyclic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/compressed_lists.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Successor lists of nodes, or of groups of nodes, ascending and without duplicates.
using Successors = CompressedLists;
Successors NodeSuccessors(const Graph& graph);

// Input of clustering. Groups are nodes or claims (several nodes that stay together).
struct ClusterInput {
  std::span<const uint32_t> group_of;  // per node
  size_t group_count = 0;
  std::span<const uint32_t> color;  // per group: groups of one color may share a partition (one color per delegate)
  std::span<const uint8_t> alone;   // per group: a partition of its own, never merged
};

// Partition number per group, dense from 0. Near-linear in nodes and edges, deterministic.
//
// Every group gets a stage: the largest number of changes of color on any path to it. Stages never fall along an edge
// and rise where the color changes, so groups of one color and stage can be contracted together without making a cycle.
// Then connected components move to a later stage of their color where their readers allow it, which joins partitions
// that the earliest stages kept apart; remaining pairs are joined if no third partition lies between them.
std::vector<uint32_t> Cluster(const Successors& successors, const ClusterInput& input);

// Groups from first to last so that edges point forward; empty when the graph has a cycle. Of the ready groups
// those of `preferred` go first, so that their runs are long. Ties: smallest number.
std::vector<uint32_t> TopologicalOrder(const Successors& successors, std::span<const uint8_t> preferred);

// Cyclic groups: every strongly connected component of more than one group, its groups ascending.
std::vector<std::vector<uint32_t>> Cycles(const Successors& successors);

// Successors between groups; edges inside a group are dropped.
Successors Contract(const Successors& successors, std::span<const uint32_t> group_of, size_t group_count);

}  // namespace deputy::host
