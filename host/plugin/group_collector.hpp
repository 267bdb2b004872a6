// Collects the groups that a delegate names, and refuses invalid ones.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "deputy/abi/ext/propose.h"
#include "plugin/graph_handle.hpp"

namespace deputy::host {

class GroupCollector {
 public:
  explicit GroupCollector(const deputy_graph& graph) : graph_(graph) {
    sink_.struct_size = sizeof sink_;
    sink_.self = this;
    sink_.add = Add;
  }
  GroupCollector(const GroupCollector&) = delete;
  GroupCollector& operator=(const GroupCollector&) = delete;

  const deputy_group_sink* sink() const { return &sink_; }
  // In the order in which they were named, nodes in the graph's order.
  std::vector<std::vector<NodeId>>& groups() { return groups_; }
  // Why groups were refused, one sentence each.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  static deputy_status* Add(void* self, const deputy_group* group);
  // The fault, or empty when the group was taken.
  std::string Take(const deputy_group* group);

  const deputy_graph& graph_;
  deputy_group_sink sink_{};
  std::set<NodeId> taken_;
  std::vector<std::vector<NodeId>> groups_;
  std::vector<std::string> faults_;
};

}  // namespace deputy::host
