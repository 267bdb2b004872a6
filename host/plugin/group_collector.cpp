#include "plugin/group_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plugin/status_handle.hpp"

namespace deputy::host {

deputy_status* GroupCollector::Add(void* self, const deputy_group* group) {
  auto& collector = *static_cast<GroupCollector*>(self);
  return AnswerOfSink([&] { return collector.Take(group); },
                      [&](const std::string& fault) { collector.faults_.push_back(fault); });
}

std::string GroupCollector::Take(const deputy_group* group) {
  if (group == nullptr || !DEPUTY_HAS(group, deputy_group, nodes)) return "a group without its struct_size";
  if (group->node_count < 2 || group->nodes == nullptr)
    return fmt::format("a group has {} nodes; at least two are needed",
                       group->nodes == nullptr ? 0 : group->node_count);
  if (group->node_count > graph_.node_count())
    return fmt::format("a group has {} nodes, the graph {}", group->node_count, graph_.node_count());
  std::vector<NodeId> nodes(group->nodes, group->nodes + group->node_count);
  std::set<NodeId> own;
  for (const NodeId node : nodes) {
    if (graph_.position(node) == graph_.node_count())
      return fmt::format("a group names node {}, which does not exist", node);
    const std::string name = Describe(graph_.graph(), node);
    if (taken_.count(node) != 0) return fmt::format("{} is in two groups", name);
    if (!own.insert(node).second) return fmt::format("a group names {} twice", name);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return graph_.position(a) < graph_.position(b); });
  taken_.insert(nodes.begin(), nodes.end());
  groups_.push_back(std::move(nodes));
  return {};
}

}  // namespace deputy::host
