#include "partitions.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace deputy::conformance {
namespace {

// Edges between nodes, once each.
std::set<std::pair<uint32_t, uint32_t>> EdgesOf(const deputy_graph& graph) {
  std::map<deputy_value_id, uint32_t> producer;
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    for (const deputy_value_id id : graph.node(i).inputs)
      if (producer.count(id) != 0) edges.emplace(producer[id], i);
    for (const deputy_value_id id : graph.node(i).outputs) producer[id] = i;
  }
  return edges;
}

// Does `unit` depend on itself when each unit is contracted to one node?
bool WaitsForItself(const std::set<std::pair<uint32_t, uint32_t>>& edges, const std::vector<uint32_t>& unit_of,
                    uint32_t unit) {
  std::set<uint32_t> reached;
  std::vector<uint32_t> open = {unit};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (const auto& [from, to] : edges) {
      if (unit_of[from] != at || unit_of[to] == at) continue;
      if (unit_of[to] == unit) return true;
      if (reached.insert(unit_of[to]).second) open.push_back(unit_of[to]);
    }
  }
  return false;
}

bool IsOutput(const deputy_graph& graph, deputy_value_id id) {
  return (graph.value(id).flags & DEPUTY_VALUE_GRAPH_OUTPUT) != 0;
}

bool Holds(const std::vector<deputy_value_id>& ids, deputy_value_id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

Clusters ClustersOf(const deputy_graph& graph, const std::vector<uint32_t>& wanted) {
  const uint32_t count = graph.node_count();
  const auto edges = EdgesOf(graph);
  std::vector<uint32_t> unit_of(count), wish = wanted;
  std::map<uint32_t, uint32_t> first_of;  // of a group
  for (uint32_t i = 0; i < count; ++i) unit_of[i] = wish[i] > 1 ? first_of.emplace(wish[i], i).first->second : i;
  for (const auto& [group, first] : first_of) {
    if (!WaitsForItself(edges, unit_of, first)) continue;
    for (uint32_t i = 0; i < count; ++i) {
      if (wish[i] != group) continue;
      unit_of[i] = i;
      wish[i] = 0;
    }
  }
  for (const auto& [from, to] : edges) {
    if (wish[from] == 0 || wish[to] == 0 || unit_of[from] == unit_of[to]) continue;
    std::vector<uint32_t> joined = unit_of;
    std::replace(joined.begin(), joined.end(), unit_of[to], unit_of[from]);
    if (!WaitsForItself(edges, joined, unit_of[from])) unit_of = joined;
  }
  Clusters clusters{std::vector<uint32_t>(count, kInNoCluster), 0};
  std::map<uint32_t, uint32_t> number_of;
  for (uint32_t i = 0; i < count; ++i) {
    if (wish[i] == 0) continue;
    const auto number = number_of.emplace(unit_of[i], clusters.count);
    if (number.second) ++clusters.count;
    clusters.of[i] = number.first->second;
  }
  return clusters;
}

void SetInputsAndOutputs(const deputy_graph& graph, Claim& claim) {
  const std::set<deputy_node_id> inside(claim.nodes.begin(), claim.nodes.end());
  std::vector<deputy_value_id> made, read_outside;
  claim.inputs.clear();
  claim.outputs.clear();
  for (deputy_node_id i = 0; i < graph.node_count(); ++i) {
    const GraphNode& node = graph.node(i);
    if (inside.count(i) == 0) {
      read_outside.insert(read_outside.end(), node.inputs.begin(), node.inputs.end());
      continue;
    }
    for (const deputy_value_id id : node.inputs)
      if (id != DEPUTY_NO_VALUE && graph.value(id).constant == nullptr && !Holds(made, id) && !Holds(claim.inputs, id))
        claim.inputs.push_back(id);
    made.insert(made.end(), node.outputs.begin(), node.outputs.end());
  }
  for (const deputy_value_id id : made)
    if (IsOutput(graph, id) || Holds(read_outside, id)) claim.outputs.push_back(id);
}

bool IsConvex(const deputy_graph& graph, const std::vector<deputy_node_id>& nodes) {
  std::vector<uint32_t> unit_of(graph.node_count());
  for (uint32_t i = 0; i < graph.node_count(); ++i) unit_of[i] = i;
  for (const deputy_node_id node : nodes) unit_of[node] = nodes[0];
  return !WaitsForItself(EdgesOf(graph), unit_of, nodes[0]);
}

namespace {

// The adopted claims of a delegate that forms its own.
std::vector<Claim> Adopted(Instance& instance, const deputy_graph& graph) {
  std::vector<Claim> adopted;
  std::vector<uint32_t> unit_of(graph.node_count());
  for (uint32_t i = 0; i < graph.node_count(); ++i) unit_of[i] = i;
  for (Claim& claim : instance.Propose(graph)) {
    Claim exact;
    exact.nodes = claim.nodes;
    SetInputsAndOutputs(graph, exact);
    if (claim.inputs.empty() && claim.outputs.empty()) {
      claim.inputs = exact.inputs;
      claim.outputs = exact.outputs;
    }
    std::sort(claim.nodes.begin(), claim.nodes.end());
    if (!std::is_permutation(claim.inputs.begin(), claim.inputs.end(), exact.inputs.begin(), exact.inputs.end()) ||
        !std::is_permutation(claim.outputs.begin(), claim.outputs.end(), exact.outputs.begin(), exact.outputs.end())) {
      instance.plugin().host().Fault("propose: a claim's inputs and outputs are not those of its nodes");
      instance.Release(claim);
      continue;
    }
    std::vector<uint32_t> joined = unit_of;
    for (const deputy_node_id node : claim.nodes) joined[node] = claim.nodes[0];
    if (WaitsForItself(EdgesOf(graph), joined, claim.nodes[0])) {
      instance.Release(claim);
      continue;
    }
    unit_of = joined;
    adopted.push_back(std::move(claim));
  }
  return adopted;
}

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

std::vector<Claim> PartitionsOf(Instance& instance, const deputy_graph& graph) {
  if (instance.proposes()) return Adopted(instance, graph);
  std::vector<uint32_t> wanted;
  for (const Answer& answer : instance.Query(graph)) wanted.push_back(answer.reason == DEPUTY_REASON_SUPPORTED ? 1 : 0);
  uint32_t number = 1;
  for (const std::vector<deputy_node_id>& group : instance.Groups(graph)) {
    const bool whole = std::all_of(group.begin(), group.end(), [&](deputy_node_id node) { return wanted[node] != 0; });
    ++number;
    for (const deputy_node_id node : group) wanted[node] = whole ? number : 0;
  }
  const Clusters clusters = ClustersOf(graph, wanted);
  std::vector<Claim> claims(clusters.count);
  for (deputy_node_id i = 0; i < graph.node_count(); ++i)
    if (clusters.of[i] != kInNoCluster) claims[clusters.of[i]].nodes.push_back(i);
  for (Claim& claim : claims) SetInputsAndOutputs(graph, claim);
  return claims;
}

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
