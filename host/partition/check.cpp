// CheckPlacement: an independent verification of a placement. It shares no code with the placer: the edges between
// partitions are derived here again, and Boost.Graph tells a cycle from a wrong order.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <vector>

#include "partition/placer.hpp"

namespace deputy::host {
namespace {

Status Broken(const std::string& defect) {
  return Error(StatusCode::kInternal, "the placement is wrong: {}", defect).Advise("please report it");
}

class Checker {
 public:
  Checker(const Graph& graph, const Placement& placement)
      : graph_(graph),
        placement_(placement),
        producers_(graph.Producers()),
        read_across_(graph.values.size(), 0),
        expected_(graph.values.size(), 0) {}

  Status Run() {
    DEPUTY_RETURN_IF_ERROR(CheckCover());
    DEPUTY_RETURN_IF_ERROR(CheckOrder());
    for (size_t index = 0; index < placement_.partitions.size(); ++index)
      DEPUTY_RETURN_IF_ERROR(CheckInputsAndOutputs(index));
    return {};
  }

 private:
  Status CheckCover() const {
    if (placement_.partition_of.size() != graph_.nodes.size()) return Broken("it does not cover the graph");
    std::vector<uint32_t> times_placed(graph_.nodes.size(), 0);
    for (size_t index = 0; index < placement_.partitions.size(); ++index)
      for (const NodeId node : placement_.partitions[index].spec.nodes) {
        if (node >= graph_.nodes.size()) return Broken("a node does not exist");
        ++times_placed[node];
        if (placement_.partition_of[node] != index)
          return Broken(Describe(graph_, node) + " is listed in another partition");
      }
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (times_placed[node] != 1)
        return Broken(fmt::format("{} is placed {} times", Describe(graph_, node), times_placed[node]));
    return {};
  }

  // Edges that all lead to a later partition cannot form a cycle.
  Status CheckOrder() {
    for (const ValueId id : graph_.outputs) read_across_[id] = 1;
    bool forward = true;
    ForEachEdge([&](uint32_t from, uint32_t to, ValueId id) {
      read_across_[id] = 1;
      forward = forward && from < to;
    });
    if (forward) return {};
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> quotient(placement_.partitions.size());
    ForEachEdge([&](uint32_t from, uint32_t to, ValueId) { boost::add_edge(from, to, quotient); });
    std::vector<size_t> order;
    try {
      boost::topological_sort(quotient, std::back_inserter(order));
    } catch (const boost::not_a_dag&) {
      return Broken("the partitions form a cycle");
    }
    return Broken("a partition precedes one that it depends on");
  }

  template <class F>
  void ForEachEdge(F fn) const {
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      graph_.nodes[node].ForEachRead([&](ValueId id) {
        if (producers_[id] == kNone) return;
        const uint32_t from = placement_.partition_of[producers_[id]], to = placement_.partition_of[node];
        if (from != to) fn(from, to, id);
      });
  }

  Status CheckInputsAndOutputs(size_t index) {
    const PartitionSpec& spec = placement_.partitions[index].spec;
    BeginList();
    for (const NodeId node : spec.nodes)
      graph_.nodes[node].ForEachRead([&](ValueId id) {
        const bool inside = producers_[id] != kNone && placement_.partition_of[producers_[id]] == index;
        if (!inside && !graph_.values[id].is_constant()) Expect(id);
      });
    if (!IsExpected(spec.inputs)) return Broken(fmt::format("inputs of partition '{}' are not exact", spec.name));
    BeginList();
    for (const NodeId node : spec.nodes)
      for (const ValueId id : graph_.nodes[node].outputs)
        if (id != kNone && read_across_[id]) Expect(id);
    // Additional outputs are only those that the operator of a single node must write although they are never read.
    if (spec.nodes.size() == 1) {
      const Node& node = graph_.nodes[spec.nodes.front()];
      const OperatorInfo* info = InfoOf(node.kind());
      for (size_t i = 0; info != nullptr && i < std::min<size_t>(info->min_outputs, node.outputs.size()); ++i)
        if (node.outputs[i] != kNone &&
            std::find(spec.outputs.begin(), spec.outputs.end(), node.outputs[i]) != spec.outputs.end())
          Expect(node.outputs[i]);
    }
    if (!IsExpected(spec.outputs)) return Broken(fmt::format("outputs of partition '{}' are not exact", spec.name));
    return {};
  }

  // The values that a list must contain, each once.
  void BeginList() {
    ++list_;
    expected_count_ = 0;
  }
  void Expect(ValueId id) {
    expected_count_ += expected_[id] != list_;
    expected_[id] = list_;
  }
  bool IsExpected(const std::vector<ValueId>& ids) {
    return ids.size() == expected_count_ && std::all_of(ids.begin(), ids.end(), [this](ValueId id) {
             const bool expected = id < expected_.size() && expected_[id] == list_;
             if (expected) expected_[id] = 0;  // not a second time
             return expected;
           });
  }

  const Graph& graph_;
  const Placement& placement_;
  const std::vector<NodeId> producers_;
  std::vector<uint8_t> read_across_;  // per value: outside the partition that makes it
  std::vector<uint64_t> expected_;    // per value: the last list that must contain it
  uint64_t list_ = 0;
  size_t expected_count_ = 0;
};

}  // namespace

Status CheckPlacement(const Graph& graph, const Placement& placement) { return Checker(graph, placement).Run(); }

}  // namespace deputy::host
