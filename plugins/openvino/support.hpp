// Which nodes of a graph OpenVINO runs: it is asked about the whole graph at once, since what it takes may depend on
// neighbours, and about smaller parts where its front end cannot read the whole.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "conversion.hpp"

namespace openvino {

class Support {
 public:
  Support(const sdk::GraphView& graph, std::string device, ov::AnyMap properties);

  // kOther for a node that is not of the graph.
  sdk::Verdict Of(deputy_node_id node) const;
  // The model of this partition, where it is the one that was asked about. Once.
  std::optional<Conversion> Take(const sdk::PartitionView& partition);

 private:
  void Ask(const std::vector<deputy_node_id>& nodes);
  void Answer(Conversion conversion);
  void Refuse(deputy_node_id node, std::string why);

  const sdk::GraphView* graph_;  // during the constructor
  std::string device_;
  ov::AnyMap properties_;
  std::unordered_map<deputy_node_id, sdk::Verdict> verdicts_;
  std::unordered_map<std::string, int> failures_;  // of nodes alone, by operator
  std::optional<Conversion> asked_;
};

}  // namespace openvino
