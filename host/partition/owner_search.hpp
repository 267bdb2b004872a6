// The cheapest owners of a graph's nodes: the sum of the times of all nodes on their owners and of all transfers
// between owners is as small as minimum cuts can make it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/compressed_lists.hpp"
#include "graph/graph.hpp"
#include "partition/cost_model.hpp"

namespace deputy::host {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Nodes, the delegates that may own them, and what that costs. The last delegate is the CPU: inputs of the graph and
// captured values come from it, outputs go to it. Constants cost no transfer.
struct OwnerProblem {
  const Graph& graph;
  const CostModel& costs;
  size_t delegates;
  // Per node, per delegate: the node's time; kNever where the delegate may not own it. A node without an owner is left
  // out: its values cost nothing.
  std::vector<double> node_ns;

  uint32_t cpu() const { return static_cast<uint32_t>(delegates - 1); }
  double ns(NodeId node, size_t delegate) const { return node_ns[node * delegates + delegate]; }
};

// Owners, and what each of them costs among the others.
class OwnerCosts {
 public:
  // The problem must outlive this. `owners`: per node.
  OwnerCosts(const OwnerProblem& problem, std::vector<uint32_t> owners);

  const std::vector<uint32_t>& owners() const { return owners_; }
  uint32_t owner(NodeId node) const { return owners_[node]; }
  // Nodes and transfers.
  double TotalNs() const;
  // What the node, and the transfers that it causes, would cost on `delegate` while all others keep their owners.
  double MarginalNs(NodeId node, uint32_t delegate) const;
  void Move(NodeId node, uint32_t to);

  // Values that may be transferred, each once per node.
  const CompressedLists& reads() const { return reads_; }
  // Nodes that read each value, each once; empty for values that are never transferred.
  const CompressedLists& readers() const { return readers_; }
  // The node that makes each value; kNone: the host.
  NodeId producer(ValueId value) const { return producers_[value]; }
  // The owner of its producer; the CPU for the host's values.
  uint32_t OwnerOf(ValueId value) const;
  bool is_output(ValueId value) const { return is_output_[value] != 0; }
  // Free of cost within one delegate.
  double TransferNs(size_t from, size_t to, ValueId value) const {
    return from == to ? 0 : problem_.costs.TransferNs(from, to, value);
  }

 private:
  bool IsLeftOut(NodeId node) const;
  uint32_t& count(ValueId value, size_t delegate) { return readers_on_[value * problem_.delegates + delegate]; }
  uint32_t count(ValueId value, size_t delegate) const { return readers_on_[value * problem_.delegates + delegate]; }

  const OwnerProblem& problem_;
  std::vector<uint32_t> owners_;
  std::vector<NodeId> producers_;
  CompressedLists reads_, readers_;
  std::vector<uint8_t> is_output_;    // per value
  std::vector<uint32_t> readers_on_;  // per value, per delegate; an output has the CPU as one more
};

// Changes `costs` to owners that are not more expensive, deterministically. Where two delegates compete for connected
// nodes the result is the optimum: a minimum cut. Where more do it is reached by expansion moves, each of which lets
// one delegate take any nodes at once and is a minimum cut too, until moves gain less than a thousandth, or after eight
// rounds. At equal cost the delegate that comes first keeps a node.
void FindCheapestOwners(const OwnerProblem& problem, OwnerCosts& costs);

}  // namespace deputy::host
