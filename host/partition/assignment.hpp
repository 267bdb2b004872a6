// Owner of each node while a placement is made, and the verdicts of the other delegates: gives nodes to delegates as
// the policy ranks them, requests claims and groups, keeps atomic groups in one piece, and takes nodes from their
// owners.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partition/clusters.hpp"
#include "partition/eligibility.hpp"
#include "partition/placement.hpp"

namespace deputy::host {

// Nodes that stay together: a claim, which becomes a partition as it is, or a group, which may grow.
struct AtomicGroup {
  size_t delegate = 0;
  PartitionSpec spec;  // only the nodes, for a group
  bool is_claim = false;
  bool adopted = false;  // claim: its handle was given to a placement or back to the delegate
};

// The group of each node. A group number below the number of nodes is a node by itself, the others are atomic groups.
class AtomicGroups {
 public:
  explicit AtomicGroups(size_t nodes) : of_(nodes), nodes_(nodes) {
    for (uint32_t node = 0; node < nodes; ++node) of_[node] = node;
  }

  const std::vector<uint32_t>& of() const { return of_; }
  uint32_t of(NodeId node) const { return of_[node]; }
  size_t count() const { return nodes_ + atomic_.size(); }
  bool is_atomic(uint32_t group) const { return group >= nodes_; }

  size_t atomic_count() const { return atomic_.size(); }
  AtomicGroup& at(size_t index) { return atomic_[index]; }
  const AtomicGroup& at(size_t index) const { return atomic_[index]; }
  size_t index_of(uint32_t group) const { return group - nodes_; }

  void Add(AtomicGroup group) {
    for (const NodeId node : group.spec.nodes) of_[node] = static_cast<uint32_t>(count());
    atomic_.push_back(std::move(group));
  }
  // Its nodes become groups of one node again.
  std::vector<NodeId> Dissolve(size_t index) {
    for (const NodeId node : atomic_[index].spec.nodes) of_[node] = node;
    return std::exchange(atomic_[index].spec.nodes, {});
  }

 private:
  std::vector<uint32_t> of_;
  std::vector<AtomicGroup> atomic_;
  size_t nodes_;
};

class Assignment {
 public:
  Assignment(const Graph& graph, Delegates delegates, const PlacementOptions& options, SupportMatrix& support);
  // Releases the claims that no placement adopted.
  ~Assignment();
  Assignment(const Assignment&) = delete;
  Assignment& operator=(const Assignment&) = delete;

  // Assigns each node without an owner to the delegate of the best rank that supports it and has not refused it.
  void AssignFree();
  // Takes the nodes from their owner `d`, which does not get them again, with the other nodes of their atomic groups.
  void Reject(size_t d, std::span<const NodeId> nodes, const Verdict& why);
  // The reason why the nodes or their work are below the limits of the delegate; empty when they are not.
  std::string TooSmall(size_t delegate, std::span<const NodeId> nodes) const;
  // An error that lists the nodes without an owner.
  Status RequireOwners() const;

  size_t owner(NodeId node) const { return owner_[node]; }
  const AtomicGroups& groups() const { return groups_; }
  const Successors& successors() const { return successors_; }
  // The claim that is this cluster; null for a cluster formed by the host.
  AtomicGroup* ClaimOf(std::span<const NodeId> cluster);
  // With the reasons of the policy. Every node has an owner; nothing is assigned afterwards.
  std::vector<std::vector<Verdict>> TakeVerdicts();

 private:
  static constexpr uint32_t kUnassigned = 0xffffffffu;

  Verdict& verdict(size_t delegate, NodeId node) { return verdicts_[delegate][node]; }
  bool IsFree(NodeId node) const { return owner_[node] == kUnassigned; }
  // True while `d` was not offered the node and may still get it: the verdict that all begin with.
  bool IsPending(size_t d, NodeId node) const { return verdicts_[d][node].reason == Reason::kTakenByOther; }
  // False while a delegate that may still get the node has a better rank than `d`.
  bool IsPreferred(size_t d, NodeId node);
  // Offers free nodes to each delegate once; false when there was nothing to offer.
  bool OfferFree();
  // The free nodes that are offered to `d`; nothing when there are none. Without an order for a delegate that is asked
  // for neither claims nor groups.
  std::optional<GraphView> View(size_t d);
  CompressedLists Members() const;  // nodes of each group
  void AssignSupported(size_t d, GraphView view);
  void RequestGroups(size_t d, const GraphView& view);
  void RequestClaims(size_t d, const GraphView& view);
  // True when `d` owns the whole group; otherwise the nodes that it owns are rejected.
  bool IsComplete(size_t d, const std::vector<NodeId>& group);
  void Refuse(size_t group, const Verdict& why);
  // Contracting all atomic groups must leave an acyclic graph. A group grows over nodes that block it if they have the
  // same owner; otherwise, of the groups from `first` that form a cycle, the last one is refused.
  void BreakCycles(size_t first);
  bool GrowOver(const std::vector<uint32_t>& cycle, const CompressedLists& members);

  const Graph& graph_;
  const Delegates delegates_;
  const PlacementOptions& options_;
  Eligibility eligibility_;
  const Ranking ranking_;
  const Successors successors_;
  std::vector<uint32_t> owner_;  // per node
  AtomicGroups groups_;
  std::vector<std::vector<Verdict>> verdicts_;  // per delegate, per node
};

}  // namespace deputy::host
