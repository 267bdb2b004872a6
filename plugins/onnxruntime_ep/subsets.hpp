// Which nodes of a graph can be contracted to one each.
#pragma once

#include <cstddef>
#include <vector>

namespace ort_ep {

// The edges of a graph whose nodes are numbered in topological order: readers[i] are the nodes after i that read a
// value of it, each at least once.
using Readers = std::vector<std::vector<size_t>>;

// Connected subsets of the taken nodes, each in topological order. No path between two nodes of one leaves it, and the
// graph in which each is contracted to a node has no cycle. No two neighbours could be one.
std::vector<std::vector<size_t>> ConvexSubsets(const Readers& readers, const std::vector<bool>& is_taken);

}  // namespace ort_ep
