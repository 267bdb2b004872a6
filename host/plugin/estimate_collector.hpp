// Collects a delegate's estimate of one partition, and drops an invalid one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"
#include "deputy/abi/ext/estimate.h"

namespace deputy::host {

class EstimateCollector {
 public:
  EstimateCollector(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph), nodes_(nodes) {
    sink_.struct_size = sizeof sink_;
    sink_.self = this;
    sink_.answer = Answer;
  }
  EstimateCollector(const EstimateCollector&) = delete;
  EstimateCollector& operator=(const EstimateCollector&) = delete;

  const deputy_estimate_sink* sink() const { return &sink_; }
  // All amounts are unknown until there is a valid answer.
  Estimate& estimate() { return estimate_; }
  // One sentence each.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  static void Answer(void* self, const deputy_estimate* estimate);
  // The fault, or empty when the estimate was taken.
  std::string Take(const deputy_estimate* estimate);

  const Graph& graph_;
  std::span<const NodeId> nodes_;
  deputy_estimate_sink sink_{};
  bool answered_ = false;
  Estimate estimate_;
  std::vector<std::string> faults_;
};

}  // namespace deputy::host
