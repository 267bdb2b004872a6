// Owner of each node while a placement is made, and the verdicts of the other delegates: reads the support matrix,
// requests claims and groups, keeps atomic groups in one piece, and takes nodes from their owners.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partition/atomic_groups.hpp"
#include "partition/placement.hpp"
#include "partition/support.hpp"

namespace deputy::host {

class Assignment {
 public:
  Assignment(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options,
             SupportMatrix& support);
  // Releases the claims that no placement adopted.
  ~Assignment();
  Assignment(const Assignment&) = delete;
  Assignment& operator=(const Assignment&) = delete;

  // Assigns each node to the first delegate in order that supports it.
  void AssignAll();
  // The same for nodes that have become free, to delegates that have not refused them.
  void AssignFree();
  // Takes the nodes from their owner `d`, which does not get them again, with the other nodes of their atomic groups.
  void Reject(size_t d, std::span<const NodeId> nodes, const Verdict& why);
  // The reason why the nodes or their work are below the limits of the delegate; empty when they are not.
  std::string TooSmall(size_t delegate, std::span<const NodeId> nodes) const;
  // An error that lists the nodes without an owner.
  Status RequireOwners() const;

  // Partitions of the current assignment, nodes ascending; every node has an owner.
  std::vector<std::vector<NodeId>> Clusters() const;

  size_t cpu() const { return delegates_.size() - 1; }
  size_t owner(NodeId node) const { return owner_[node]; }
  const Successors& successors() const { return successors_; }
  // The claim that is this cluster; null for a cluster formed by the host.
  AtomicGroup* ClaimOf(std::span<const NodeId> cluster);
  std::vector<std::vector<Verdict>> TakeVerdicts() { return std::move(verdicts_); }

 private:
  static constexpr uint32_t kUnassigned = 0xffffffffu;

  Verdict& verdict(size_t delegate, NodeId node) { return verdicts_[delegate][node]; }
  bool IsFree(NodeId node) const { return owner_[node] == kUnassigned; }
  // Reason::kSupported when the host does not prevent `d` from owning the node.
  Verdict Denied(size_t d, NodeId id) const;
  // The free nodes that are offered to `d`. `again`: only those that another delegate owned before.
  GraphView View(size_t d, bool again);
  // The verdicts of `d` for all nodes that it may have, free or not.
  const SupportMatrix::Row& SupportOf(size_t d);
  void Assign(size_t d, const GraphView& view);
  void AssignSupported(size_t d, const GraphView& view);
  void RequestGroups(size_t d, GraphView view);
  void RequestClaims(size_t d, const GraphView& view);
  // True when `d` owns the whole group; otherwise the nodes that it owns are rejected.
  bool IsComplete(size_t d, const std::vector<NodeId>& group);
  void Refuse(size_t group, const Verdict& why);
  // Contracting all atomic groups must leave an acyclic graph. A group grows over nodes that block it if they have the
  // same owner; otherwise, of the groups from `first` that form a cycle, the last one is refused.
  void BreakCycles(size_t first);
  bool GrowOver(const std::vector<uint32_t>& cycle, const std::vector<std::vector<NodeId>>& members);

  const Graph& graph_;
  const std::span<Delegate* const> delegates_;
  const PlacementOptions& options_;
  SupportMatrix& support_;
  std::vector<const SupportMatrix::Row*> rows_;  // per delegate; null until needed
  const Successors successors_;
  std::vector<uint32_t> owner_;  // per node
  AtomicGroups groups_;
  std::vector<std::vector<Verdict>> verdicts_;  // per delegate, per node
};

}  // namespace deputy::host
