// Which delegate holds which node while a placement is made, and why the others do not: reads the support matrix, asks
// for claims and groups, keeps what stays together in one piece, and takes nodes back.
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
  // Gives back the claims that nobody has adopted.
  ~Assignment();
  Assignment(const Assignment&) = delete;
  Assignment& operator=(const Assignment&) = delete;

  // Gives each node to the first delegate in order that takes it.
  void AssignAll();
  // The same for nodes that have become free, to delegates that have not refused them.
  void AssignFree();
  // Takes the nodes from `d`, who holds them and does not get them again. Whatever stays together with one goes, too.
  void Reject(size_t d, std::span<const NodeId> nodes, const Verdict& why);
  // Are the nodes fewer, or is the work less, than the delegate's limits ask for? The detail, or empty.
  std::string TooSmall(size_t delegate, std::span<const NodeId> nodes) const;
  // An error that lists the nodes that nobody has.
  Status RequireOwners() const;

  // Partitions as things stand, nodes ascending; every node has an owner.
  std::vector<std::vector<NodeId>> Clusters() const;

  size_t cpu() const { return delegates_.size() - 1; }
  size_t owner(NodeId node) const { return owner_[node]; }
  const Successors& successors() const { return successors_; }
  // The claim that an cluster is; null for one that the host has formed.
  AtomicGroup* ClaimOf(std::span<const NodeId> cluster);
  std::vector<std::vector<Verdict>> TakeVerdicts() { return std::move(verdicts_); }

 private:
  static constexpr uint32_t kUnassigned = 0xffffffffu;

  Verdict& verdict(size_t delegate, NodeId node) { return verdicts_[delegate][node]; }
  bool IsFree(NodeId node) const { return owner_[node] == kUnassigned; }
  // Reason::kSupported when the host has nothing against the node going to `d`.
  Verdict Denied(size_t d, NodeId id) const;
  // The free nodes that `d` may have. `again`: of these those that others held before.
  GraphView View(size_t d, bool again);
  // What `d` says of all nodes that it may have, free or not.
  const SupportMatrix::Row& SupportOf(size_t d);
  void Assign(size_t d, const GraphView& view);
  void AssignSupported(size_t d, const GraphView& view);
  void AskForGroups(size_t d, GraphView view);
  void AskForClaims(size_t d, const GraphView& view);
  // True when the group can be had whole; otherwise what `d` holds of it is taken back.
  bool IsComplete(size_t d, const std::vector<NodeId>& group);
  void Refuse(size_t group, const Verdict& why);
  // Contracting all bundles must leave an acyclic graph. A group takes in what stands in its way if that is its owner's
  // as well; otherwise, of the bundles from `first` on that wait for each other, the last one goes.
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
