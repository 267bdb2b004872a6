// Which nodes of a graph OpenVINO runs: those that its front end reads and, where that is asked, that its device
// answers for. The whole graph is tried at once, since what OpenVINO takes may depend on neighbours, and smaller parts
// where it cannot read the whole.
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
  // `queries`: the device is asked as well. Its answer takes about as long as compiling the graph.
  Support(const sdk::GraphView& graph, std::string device, ov::AnyMap properties, bool queries);

  // kOther for a node that is not of the graph.
  sdk::Verdict Of(deputy_node_id node) const;
  // The model of this partition, where it is the one that was asked about. Once.
  std::optional<Conversion> Take(const sdk::PartitionView& partition);

 private:
  void Ask(const std::vector<deputy_node_id>& nodes);
  void Answer(Conversion conversion);
  void Query(const Conversion& conversion);
  void Refuse(deputy_node_id node, std::string why);

  const sdk::GraphView* graph_;  // during the constructor
  std::string device_;
  ov::AnyMap properties_;
  bool queries_;
  std::unordered_map<deputy_node_id, sdk::Verdict> verdicts_;
  std::unordered_map<std::string, int> failures_;  // of nodes alone, by operator
  std::optional<Conversion> asked_;
};

}  // namespace openvino
