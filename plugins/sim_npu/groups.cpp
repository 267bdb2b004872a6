#include "groups.hpp"

#include <map>
#include <unordered_map>
#include <vector>

#include "operators.hpp"

namespace sim_npu {

using deputy::sdk::GraphView;
using deputy::sdk::GroupSink;
using deputy::sdk::NodeView;
using deputy::sdk::Status;

Status NameGroups(const GraphView& graph, const GroupSink& sink) {
  std::vector<NodeView> nodes;
  std::unordered_map<deputy_value_id, std::vector<size_t>> readers;  // by value, in nodes
  for (size_t i = 0, count = graph.node_count(); i < count; ++i) {
    nodes.push_back(graph.NodeAt(i));
    for (size_t k = 0; k < nodes[i].input_count(); ++k)
      if (nodes[i].input(k).exists()) readers[nodes[i].input(k).id()].push_back(i);
  }
  std::map<size_t, std::vector<deputy_node_id>> copies_for;  // by reader
  std::vector<size_t> goes_with(nodes.size());
  // From the back: the reader at the end of a chain of copies is known before the chain begins.
  for (size_t i = nodes.size(); i-- > 0;) {
    goes_with[i] = i;
    if (!IsCopy(nodes[i]) || !nodes[i].offered() || !Check(nodes[i]).supported()) continue;
    const auto found = readers.find(nodes[i].output(0).id());
    if (found == readers.end() || found->second.size() != 1 || nodes[i].output(0).is_graph_output()) continue;
    goes_with[i] = goes_with[found->second.front()];
    copies_for[goes_with[i]].push_back(nodes[i].id());
  }
  for (auto& [reader, group] : copies_for) {
    group.push_back(nodes[reader].id());
    if (!sink.Add(group)) break;
  }
  return {};
}

}  // namespace sim_npu
