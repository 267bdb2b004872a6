// CheckPlacement: an independent verification of a placement. It shares no code with the placer; Boost.Graph finds the
// order of partitions from edges that are derived here again.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <set>

#include "partition/placer.hpp"

namespace deputy::host {
namespace {

Status Broken(const std::string& defect) {
  return Error(StatusCode::kInternal, "the placement is wrong: {}", defect).Advise("please report it");
}

Status CheckInputsAndOutputs(const Graph& graph, const Placement& placement, size_t index,
                             const std::vector<NodeId>& producer, const std::set<ValueId>& read_across) {
  const PartitionSpec& spec = placement.partitions[index].spec;
  std::set<ValueId> inputs, outputs;
  for (const NodeId node : spec.nodes) {
    graph.nodes[node].ForEachRead([&](ValueId id) {
      const bool inside = producer[id] != kNone && placement.partition_of[producer[id]] == index;
      if (!inside && !graph.values[id].is_constant()) inputs.insert(id);
    });
    for (const ValueId id : graph.nodes[node].outputs)
      if (id != kNone && read_across.count(id) != 0) outputs.insert(id);
  }
  if (std::set<ValueId>(spec.inputs.begin(), spec.inputs.end()) != inputs || spec.inputs.size() != inputs.size())
    return Broken(fmt::format("inputs of partition '{}' are not exact", spec.name));
  // Additional outputs are only those that the operator of a single node must write although they are never read.
  if (spec.nodes.size() == 1) {
    const Node& node = graph.nodes[spec.nodes.front()];
    const OperatorInfo* info = InfoOf(node.kind());
    for (size_t i = 0; info != nullptr && i < std::min<size_t>(info->min_outputs, node.outputs.size()); ++i)
      if (std::find(spec.outputs.begin(), spec.outputs.end(), node.outputs[i]) != spec.outputs.end())
        outputs.insert(node.outputs[i]);
  }
  if (std::set<ValueId>(spec.outputs.begin(), spec.outputs.end()) != outputs || spec.outputs.size() != outputs.size())
    return Broken(fmt::format("outputs of partition '{}' are not exact", spec.name));
  return {};
}

}  // namespace

Status CheckPlacement(const Graph& graph, const Placement& placement) {
  if (placement.partition_of.size() != graph.nodes.size()) return Broken("it does not cover the graph");
  std::vector<uint32_t> times_placed(graph.nodes.size(), 0);
  for (size_t index = 0; index < placement.partitions.size(); ++index)
    for (const NodeId node : placement.partitions[index].spec.nodes) {
      if (node >= graph.nodes.size()) return Broken("a node does not exist");
      ++times_placed[node];
      if (placement.partition_of[node] != index)
        return Broken(Describe(graph, node) + " is listed in another partition");
    }
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    if (times_placed[node] != 1)
      return Broken(fmt::format("{} is placed {} times", Describe(graph, node), times_placed[node]));

  const std::vector<NodeId> producer = graph.Producers();
  std::set<ValueId> read_across(graph.outputs.begin(), graph.outputs.end());
  using Quotient = boost::adjacency_list<boost::setS, boost::vecS, boost::directedS>;
  Quotient quotient(placement.partitions.size());
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    graph.nodes[node].ForEachRead([&](ValueId id) {
      if (producer[id] == kNone) return;
      const uint32_t from = placement.partition_of[producer[id]], to = placement.partition_of[node];
      if (from == to) return;
      boost::add_edge(from, to, quotient);
      read_across.insert(id);
    });
  std::vector<size_t> order;
  try {
    boost::topological_sort(quotient, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    return Broken("the partitions form a cycle");
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(quotient)))
    if (boost::source(edge, quotient) >= boost::target(edge, quotient))
      return Broken("a partition precedes one that it depends on");
  for (size_t index = 0; index < placement.partitions.size(); ++index)
    DEPUTY_RETURN_IF_ERROR(CheckInputsAndOutputs(graph, placement, index, producer, read_across));
  return {};
}

}  // namespace deputy::host
