#include "worker/trial.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "graph/operator.hpp"
#include "graph/primitive.hpp"
#include "plugin/proxy/delegate_proxy.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kExtent = 4;

ValueId AddConstant(Graph& graph, const char* name, Shape shape) {
  const ValueId value = graph.AddValue(name, {DType::kFloat32, true, shape});
  Result<Tensor> ones = Tensor::Allocate(DType::kFloat32, std::move(shape));
  if (!ones.ok()) return value;
  for (float& element : ones->mutable_values<float>()) element = 1;
  graph.values[value].constant = *std::move(ones);
  return value;
}

// Nodes that few accelerators lack, none of which reads another.
Graph CommonNodes() {
  Graph graph;
  const ValueType image{DType::kFloat32, true, {1, kExtent, kExtent, kExtent}};
  const ValueType matrix{DType::kFloat32, true, {kExtent, kExtent}};
  const ValueId x = graph.AddValue("x", image), m = graph.AddValue("m", matrix);
  const ValueId filter = AddConstant(graph, "filter", {kExtent, kExtent, 1, 1});
  const ValueId weights = AddConstant(graph, "weights", {kExtent, kExtent});
  graph.inputs = {x, m};
  const auto add = [&](const char* op, std::vector<ValueId> inputs, const ValueType& type) {
    Node node;
    node.primitive = PrimitiveBuilder("", op, InfoOf(FindOperator("", op))->newest()).Finish();
    node.name = op;
    node.inputs = std::move(inputs);
    node.outputs = {graph.AddValue(op, type)};
    graph.outputs.push_back(node.outputs.front());
    graph.nodes.push_back(std::move(node));
  };
  add("Conv", {x, filter}, image);
  add("MatMul", {m, weights}, matrix);
  add("Relu", {x}, image);
  add("Add", {x, x}, image);
  add("Identity", {x}, image);
  return graph;
}

// The first partition that the delegate wants; without nodes if there is none.
PartitionSpec FirstPartition(Delegate& delegate, const Graph& graph, const GraphView& view) {
  PartitionSpec first;
  if (PartitionProposer* const proposer = delegate.proposer()) {
    Result<std::vector<PartitionSpec>> proposed = proposer->Propose(view);
    if (!proposed.ok()) return first;
    for (PartitionSpec& spec : *proposed) {
      if (first.nodes.empty())
        first = std::move(spec);
      else
        proposer->ReleaseClaim(spec.claim);
    }
  } else {
    std::vector<Verdict> verdicts(graph.nodes.size());
    if (!delegate.QuerySupport(view, verdicts).ok()) return first;
    const auto supported =
        std::find_if(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) { return verdict.supported(); });
    if (supported != verdicts.end()) first.nodes = {static_cast<NodeId>(supported - verdicts.begin())};
  }
  first.name = "trial";
  if (!first.inputs.empty() || !first.outputs.empty()) return first;  // the delegate's own order
  for (const NodeId id : first.nodes) {
    const Node& node = graph.nodes[id];
    for (const ValueId input : node.inputs)
      if (!graph.values[input].is_constant() &&
          std::find(first.inputs.begin(), first.inputs.end(), input) == first.inputs.end())
        first.inputs.push_back(input);
    first.outputs.insert(first.outputs.end(), node.outputs.begin(), node.outputs.end());
  }
  return first;
}

}  // namespace

void TryDelegates(const std::shared_ptr<LoadedPlugin>& plugin, const PluginDescription& description,
                  FunctionRef<void(ProbeStage)> announce) {
  const Graph graph = CommonNodes();
  GraphView view{&graph, {}, std::vector<uint8_t>(graph.nodes.size(), 1)};
  for (NodeId node = 0; node < graph.nodes.size(); ++node) view.order.push_back(node);
  for (const DelegateDescription& one : description.delegates) {
    if (!one.available) continue;
    announce(ProbeStage::kOpen);
    OpenRequest request;
    request.delegate = request.name = one.id;
    if (!one.devices.empty()) request.device = one.devices.front().id;
    Result<std::unique_ptr<Delegate>> opened = DelegateProxy::Open(plugin, request);
    if (!opened.ok()) continue;
    announce(ProbeStage::kCompile);
    const PartitionSpec partition = FirstPartition(**opened, graph, view);
    if (!partition.nodes.empty()) (void)(*opened)->Compile(view, partition).ok();
    announce(ProbeStage::kClose);
  }
}

}  // namespace deputy::host
