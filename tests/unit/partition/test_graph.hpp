// Graphs and delegates for partition tests: nodes by name and operator, edges by name, delegates by what they take.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"
#include "graph/graph.hpp"
#include "partition/placer.hpp"

namespace deputy::host {

// Adds nodes in topological order; a node makes one float [4] value of the same name.
class TestGraph {
 public:
  TestGraph& Input(const std::string& name) {
    graph.inputs.push_back(Value(name));
    return *this;
  }
  TestGraph& Node(const std::string& name, const std::string& op, const std::vector<std::string>& reads) {
    host::Node node;
    node.name = name;
    node.primitive = PrimitiveBuilder("", op, 1).Finish();
    for (const std::string& read : reads) node.inputs.push_back(Value(read));
    node.outputs.push_back(Value(name));
    graph.nodes.push_back(std::move(node));
    return *this;
  }
  TestGraph& Output(const std::string& name) {
    graph.outputs.push_back(Value(name));
    return *this;
  }
  ValueId Value(const std::string& name) {
    const auto [found, fresh] = values_.try_emplace(name, 0);
    if (fresh) found->second = graph.AddValue(name, {DType::kFloat32, true, {4}});
    return found->second;
  }

  Graph graph;

 private:
  std::map<std::string, ValueId> values_;
};

// Takes nodes by operator; may propose claims given by node names.
class TableDelegate : public Delegate {
 public:
  TableDelegate(std::string name, std::set<std::string> ops, bool one_node = false)
      : name_(std::move(name)), ops_(std::move(ops)), one_node_(one_node) {}

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  bool takes_dynamic_shapes() const override { return false; }
  bool one_node_partitions() const override { return one_node_; }
  bool proposes() const override { return !claims.empty(); }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    for (NodeId id = 0; id < view.graph->nodes.size(); ++id) {
      if (!view.offered[id]) continue;
      ++asked[id];
      const bool takes = ops_.count("*") + ops_.count(std::string(view.graph->nodes[id].primitive.op_type())) != 0;
      verdicts[id] = {takes ? Reason::kSupported : Reason::kOperatorUnknown, ""};
    }
    return {};
  }
  Result<std::vector<PartitionSpec>> Propose(const GraphView& view) override {
    last_order = view.order;
    std::vector<PartitionSpec> specs;
    for (const std::vector<NodeId>& nodes : claims) {
      specs.emplace_back();
      specs.back().nodes = nodes;
      specs.back().claim = this;
      specs.back().inputs = claimed_inputs;
      specs.back().outputs = claimed_outputs;
      ++open_claims;
    }
    return specs;
  }
  void ReleaseClaim(void*) override { --open_claims; }
  bool groups() const override { return !group_list.empty(); }
  Result<std::vector<std::vector<NodeId>>> Groups(const GraphView&) override { return group_list; }
  bool estimates() const override { return static_cast<bool>(estimate); }
  Result<Estimate> EstimatePartition(const GraphView&, const PartitionSpec& partition) override {
    estimated.push_back(partition.nodes);
    return estimate(partition);
  }
  Result<std::shared_ptr<const Executable>> Compile(const GraphView&, const PartitionSpec&) override {
    return Status(StatusCode::kNotSupported, "a table cannot compute");
  }

  std::vector<std::vector<NodeId>> claims, group_list, estimated;
  std::function<Result<Estimate>(const PartitionSpec&)> estimate;
  std::vector<ValueId> claimed_inputs, claimed_outputs;  // of every claim; none: its nodes say it
  std::vector<NodeId> last_order;
  std::map<NodeId, int> asked;
  int open_claims = 0;

 private:
  std::string name_;
  std::set<std::string> ops_;
  bool one_node_;
};

inline TableDelegate TestCpu() { return TableDelegate("cpu", {"*"}, /*one_node=*/true); }

inline Result<Placement> PlaceOn(const Graph& graph, const std::vector<Delegate*>& delegates,
                                 PlacementOptions options = {}) {
  options.delegates.resize(delegates.size());
  SupportMatrix support;
  return Place(graph, delegates, options, support);
}

// Node names of the partitions of one delegate, in running order.
inline std::vector<std::vector<std::string>> PartitionsOf(const Graph& graph, const Placement& placement,
                                                          size_t delegate) {
  std::vector<std::vector<std::string>> names;
  for (const PlacedPartition& partition : placement.partitions) {
    if (partition.delegate != delegate) continue;
    names.emplace_back();
    for (const NodeId node : partition.spec.nodes) names.back().push_back(graph.nodes[node].name);
  }
  return names;
}

}  // namespace deputy::host
