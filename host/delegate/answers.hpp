// Collects the answers of a delegate while a graph is placed: support, claims, groups, estimates. Each answer is
// checked against the graph that the delegate was shown; for delegates in C++ and for proxies of all kinds.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

// `Add` of a collector returns why it refuses an answer, in one sentence; empty: it is taken. Nodes of answers that are
// taken are in the order of the view, which outlives the collector.
class AnswerCollector {
 public:
  // Counts a refused answer.
  void Refuse(std::string fault);
  // The first fault, and how many more there are; empty without faults.
  std::string Faults() const;

 protected:
  explicit AnswerCollector(const GraphView& view) : view_(view) {}

  const Graph& graph() const { return *view_.graph; }
  bool IsShown(NodeId node) { return node < Positions().size() && Positions()[node] != kNone; }
  bool IsOffered(NodeId node) const { return node < view_.offered.size() && view_.offered[node] != 0; }
  // Checks the nodes of a `kind` of answers, "claim" or "group", that share none, and puts them into order.
  std::string Take(const char* kind, bool offered, std::span<const NodeId> nodes, std::vector<NodeId>& into);

 private:
  // Per node, in the order of the view. Made when first needed: an answer about a few nodes must not cost all of them.
  const std::vector<uint32_t>& Positions();

  const GraphView& view_;
  std::vector<uint32_t> positions_;
  std::set<NodeId> taken_;
  std::string first_fault_;
  size_t faults_ = 0;
};

class SupportCollector final : public AnswerCollector {
 public:
  // `verdicts` has one entry for each node, not answered yet.
  SupportCollector(const GraphView& view, std::vector<Verdict>& verdicts)
      : AnswerCollector(view), verdicts_(verdicts) {}

  // `reason` is a number of Reason; one that is no answer of a delegate is a fault and counts as kOther.
  std::string Add(NodeId node, uint32_t reason, std::string detail);

 private:
  std::vector<Verdict>& verdicts_;
};

class ClaimCollector final : public AnswerCollector {
 public:
  // `held` are handles of claims that have not been adopted or refused yet.
  ClaimCollector(const GraphView& view, std::set<void*> held) : AnswerCollector(view), handles_(std::move(held)) {}

  std::string Add(std::span<const NodeId> nodes, std::span<const ValueId> inputs, std::span<const ValueId> outputs,
                  void* handle);
  // In the order in which they were made.
  std::vector<PartitionSpec>& claims() { return claims_; }

 private:
  std::string CheckValues(std::span<const ValueId> values, const char* kind) const;

  std::set<void*> handles_;
  std::vector<PartitionSpec> claims_;
};

class GroupCollector final : public AnswerCollector {
 public:
  explicit GroupCollector(const GraphView& view) : AnswerCollector(view) {}

  std::string Add(std::span<const NodeId> nodes);
  // In the order in which they were named.
  std::vector<std::vector<NodeId>>& groups() { return groups_; }

 private:
  std::vector<std::vector<NodeId>> groups_;
};

class EstimateCollector final : public AnswerCollector {
 public:
  // `nodes` are those of the partition.
  EstimateCollector(const GraphView& view, std::span<const NodeId> nodes) : AnswerCollector(view), nodes_(nodes) {}

  // The estimate without `give_back`.
  std::string Add(Estimate estimate, std::span<const NodeId> give_back);
  // All amounts are unknown until there is a valid answer.
  Estimate& estimate() { return estimate_; }

 private:
  const std::span<const NodeId> nodes_;
  bool answered_ = false;
  Estimate estimate_;
};

}  // namespace deputy::host
