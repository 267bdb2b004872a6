#include "partition_helpers.hpp"

#include <algorithm>

#include "partitions.hpp"

namespace deputy::conformance {
namespace {

deputy_status* Refuse(void* self, const std::string& reason, deputy_node_id node = DEPUTY_NO_NODE) {
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, node, reason);
}

// Does the call have a valid graph and room for its result?
bool IsWhole(void* self, const deputy_graph* graph, const char* function, bool room) {
  HostServices& host = HostServices::Of(self);
  if (!host.HasGraph(graph)) host.Fault(std::string(function) + " was called with an invalid graph handle");
  if (!room) host.Fault(std::string(function) + " was called with NULL");
  return room && host.HasGraph(graph);
}

deputy_status* Cluster(void* self, const deputy_graph* graph, const uint32_t* wanted, uint32_t count,
                       uint32_t* clusters, uint32_t* cluster_count) {
  if (!IsWhole(self, graph, "cluster", wanted != nullptr && clusters != nullptr && cluster_count != nullptr))
    return Refuse(self, "no graph, or no room for the answer, was given");
  if (count != graph->node_count()) return Refuse(self, "'count' is not the number of the graph's nodes");
  for (uint32_t i = 0; i < count; ++i)
    if (wanted[i] != 0 && !graph->node(i).offered) return Refuse(self, "a wanted node is not on offer", i);
  const Clusters made = ClustersOf(*graph, {wanted, wanted + count});
  std::copy(made.of.begin(), made.of.end(), clusters);
  *cluster_count = made.count;
  return nullptr;
}

bool IsOne(const GraphNode& node, const char* type) { return node.node.domain.empty() && node.node.op_type == type; }

// The node with its neighbours: each DequantizeLinear that only it reads, and the QuantizeLinear that reads it.
std::vector<deputy_node_id> QuantizedGroup(const deputy_graph& graph, deputy_node_id id) {
  const GraphNode& node = graph.node(id);
  std::vector<deputy_node_id> group = {id};
  bool dequantized = false;
  for (deputy_node_id other = 0; other < graph.node_count(); ++other) {
    const GraphNode& near = graph.node(other);
    if (IsOne(near, "DequantizeLinear")) {
      const deputy_value_id made = near.outputs[0];
      if (std::count(node.inputs.begin(), node.inputs.end(), made) == 0) continue;
      dequantized = true;
      bool alone = (graph.value(made).flags & DEPUTY_VALUE_GRAPH_OUTPUT) == 0;
      for (deputy_node_id reader = 0; reader < graph.node_count(); ++reader)
        if (reader != id && std::count(graph.node(reader).inputs.begin(), graph.node(reader).inputs.end(), made) != 0)
          alone = false;
      if (alone) group.push_back(other);
    } else if (IsOne(near, "QuantizeLinear") &&
               std::count(node.outputs.begin(), node.outputs.end(), near.inputs[0]) != 0) {
      group.push_back(other);
    }
  }
  return dequantized ? group : std::vector<deputy_node_id>();
}

deputy_status* QuantizedGroups(void* self, const deputy_graph* graph, const deputy_group_sink* sink) {
  if (!IsWhole(self, graph, "quantized_groups", sink != nullptr && sink->add != nullptr))
    return Refuse(self, "no graph, or no sink, was given");
  for (deputy_node_id i = 0; i < graph->node_count(); ++i) {
    if (IsOne(graph->node(i), "DequantizeLinear") || IsOne(graph->node(i), "QuantizeLinear")) continue;
    const std::vector<deputy_node_id> nodes = QuantizedGroup(*graph, i);
    if (nodes.size() < 2) continue;
    deputy_group group{};
    group.struct_size = sizeof group;
    group.node_count = static_cast<uint32_t>(nodes.size());
    group.nodes = nodes.data();
    if (deputy_status* refused = sink->add(sink->self, &group)) return refused;
  }
  return nullptr;
}

deputy_status* ReleaseConstant(void* self, const deputy_graph* graph, deputy_value_id value) {
  if (!IsWhole(self, graph, "constant_release", true)) return Refuse(self, "no graph was given");
  deputy_value_info info{};
  info.struct_size = sizeof info;
  if (!graph->ValueInfo(value, &info) || (info.flags & DEPUTY_VALUE_CONSTANT) == 0)
    return Refuse(self, "a value that is no constant was released");
  return nullptr;
}

// The kit's models have no metadata.
deputy_status* FindNamedData(void* self, const deputy_graph* graph, deputy_str, const void** data, uint64_t* size) {
  if (!IsWhole(self, graph, "named_data", data != nullptr && size != nullptr))
    return Refuse(self, "no graph, or no room, was given");
  *data = nullptr;
  *size = 0;
  return nullptr;
}

}  // namespace

deputy_ext_partition_helpers HelpersOf(HostServices& host) {
  deputy_ext_partition_helpers table{};
  table.struct_size = sizeof table;
  table.self = &host;
  table.cluster = Cluster;
  table.quantized_groups = QuantizedGroups;
  table.constant_release = ReleaseConstant;
  table.named_data = FindNamedData;
  return table;
}

}  // namespace deputy::conformance
