// Answers of a delegate during placement: claims, groups and estimates. Collected through the sinks of the ABI; invalid
// ones are refused.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/propose.h"
#include "plugin/proxy/graph_handle.hpp"

namespace deputy::host {

class AnswerCollector {
 public:
  AnswerCollector() = default;
  AnswerCollector(const AnswerCollector&) = delete;
  AnswerCollector& operator=(const AnswerCollector&) = delete;

  // Why answers were refused, one sentence each.
  const std::vector<std::string>& faults() const { return faults_; }

 protected:
  std::vector<std::string> faults_;
};

class ClaimCollector : public AnswerCollector {
 public:
  // `held` are handles of claims that have not been adopted or refused yet.
  ClaimCollector(const deputy_graph& graph, std::set<void*> held) : graph_(graph), handles_(std::move(held)) {}

  const deputy_claim_sink* sink() const { return &sink_; }
  // In the order in which they were made, nodes in the graph's order.
  std::vector<PartitionSpec>& claims() { return claims_; }

 private:
  static deputy_status* Add(void* self, const deputy_claim* claim);
  // The fault, or empty when the claim was taken.
  std::string Take(const deputy_claim* claim);
  std::string CheckNodes(const deputy_claim& claim) const;
  std::string CheckValues(const deputy_value_id* values, uint32_t count, const char* kind) const;

  const deputy_graph& graph_;
  const deputy_claim_sink sink_{sizeof sink_, 0, this, Add};
  std::set<void*> handles_;
  std::set<NodeId> taken_;
  std::vector<PartitionSpec> claims_;
};

class GroupCollector : public AnswerCollector {
 public:
  explicit GroupCollector(const deputy_graph& graph) : graph_(graph) {}

  const deputy_group_sink* sink() const { return &sink_; }
  // In the order in which they were named, nodes in the graph's order.
  std::vector<std::vector<NodeId>>& groups() { return groups_; }

 private:
  static deputy_status* Add(void* self, const deputy_group* group);
  // The fault, or empty when the group was taken.
  std::string Take(const deputy_group* group);

  const deputy_graph& graph_;
  const deputy_group_sink sink_{sizeof sink_, 0, this, Add};
  std::set<NodeId> taken_;
  std::vector<std::vector<NodeId>> groups_;
};

class EstimateCollector : public AnswerCollector {
 public:
  EstimateCollector(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph), nodes_(nodes) {}

  const deputy_estimate_sink* sink() const { return &sink_; }
  // All amounts are unknown until there is a valid answer.
  Estimate& estimate() { return estimate_; }

 private:
  static void Answer(void* self, const deputy_estimate* estimate);
  // The fault, or empty when the estimate was taken.
  std::string Take(const deputy_estimate* estimate);

  const Graph& graph_;
  std::span<const NodeId> nodes_;
  const deputy_estimate_sink sink_{sizeof sink_, 0, this, Answer};
  bool answered_ = false;
  Estimate estimate_;
};

}  // namespace deputy::host
