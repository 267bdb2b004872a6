// Collects the claims that a delegate makes during propose, and refuses invalid ones.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"
#include "deputy/abi/ext/propose.h"
#include "plugin/graph_handle.hpp"

namespace deputy::host {

class ClaimCollector {
 public:
  // `held` are handles of claims that have not been adopted or refused yet.
  ClaimCollector(const deputy_graph& graph, std::set<void*> held) : graph_(graph), handles_(std::move(held)) {
    sink_.struct_size = sizeof sink_;
    sink_.self = this;
    sink_.add = Add;
  }
  ClaimCollector(const ClaimCollector&) = delete;
  ClaimCollector& operator=(const ClaimCollector&) = delete;

  const deputy_claim_sink* sink() const { return &sink_; }
  // In the order in which they were made, nodes in the graph's order.
  std::vector<PartitionSpec>& claims() { return claims_; }
  // Why claims were refused, one sentence each.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  static deputy_status* Add(void* self, const deputy_claim* claim);
  // The fault, or empty when the claim was taken.
  std::string Take(const deputy_claim* claim);
  std::string CheckNodes(const deputy_claim& claim) const;
  std::string CheckValues(const deputy_value_id* values, uint32_t count, const char* kind) const;

  const deputy_graph& graph_;
  deputy_claim_sink sink_{};
  std::set<void*> handles_;
  std::set<NodeId> taken_;
  std::vector<PartitionSpec> claims_;
  std::vector<std::string> faults_;
};

}  // namespace deputy::host
