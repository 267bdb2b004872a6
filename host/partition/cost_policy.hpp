// Policy `cost`: the placement with the lowest predicted latency.
#pragma once

#include <memory>

#include "partition/cost_table.hpp"
#include "partition/policy.hpp"

namespace deputy::host {

// Minimizes the sum of the times of all nodes on their owners and of all transfers between owners, as MeasuredCosts
// predicts them; see FindCheapestOwners for how far. Rules hold. A required delegate keeps all nodes that it supports.
// With `fallback: none` the CPU competes for no node that another delegate supports. Delegates that form their own
// partitions do not compete: they are asked for claims in the order of the configuration, as under `priority`.
// Clusters, limits and estimates of partitions follow as for any policy; nodes that are rejected go to the next
// cheapest delegate.
class CostPolicy final : public PlacementPolicy {
 public:
  explicit CostPolicy(std::shared_ptr<const CostTable> table) : table_(std::move(table)) {}
  Ranking Rank(Eligibility& eligibility) const override;

 private:
  const std::shared_ptr<const CostTable> table_;
};

}  // namespace deputy::host
