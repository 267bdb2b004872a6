#include "own/graph.hpp"

#include <algorithm>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort {

Graph::Graph(std::shared_ptr<const own::Model> model, const std::vector<size_t>& nodes) : model_(std::move(model)) {
  const std::vector<own::ModelNode>& all = model_->nodes();
  std::vector<ValueInfo*> infos(model_->values().size(), nullptr);
  nodes_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes_[i];
    node.node = &all[nodes[i]];
    node.id = nodes[i];
    node.graph = this;
    for (const size_t value : node.node->outputs) {
      ValueInfo* info = InfoOf(infos, value);
      node.outputs.push_back(info);
      if (info == nullptr) continue;
      info->producer = &node;
      info->producer_output = node.outputs.size() - 1;
    }
  }
  for (Node& node : nodes_)
    for (const size_t value : node.node->inputs) {
      ValueInfo* info = InfoOf(infos, value);
      node.inputs.push_back(info);
      if (info == nullptr) continue;
      if (info->producer == nullptr && info->consumers.empty()) {
        values_read_.push_back(info);
        info->is_input = info->value->constant == nullptr;
        (info->is_input ? inputs_ : initializers_).push_back(info);
      }
      info->consumers.emplace_back(&node, node.inputs.size() - 1);
    }
  for (const Node& node : nodes_)
    for (const ValueInfo* output : node.outputs) {
      if (output == nullptr) continue;
      ValueInfo& info = *infos[output->number];
      info.is_output = info.value->is_read_outside || info.consumers.size() < info.value->consumers.size();
      if (info.is_output) outputs_.push_back(output);
    }
}

ValueInfo* Graph::InfoOf(std::vector<ValueInfo*>& infos, size_t value) {
  if (value == own::kNone) return nullptr;
  if (infos[value] == nullptr) {
    values_.push_back({&model_->values()[value], model_.get(), value});
    infos[value] = &values_.back();
  }
  return infos[value];
}

namespace own {
namespace {

// Writes a list into an array of the caller with room for `count`.
template <class T, class Out>
Status* Write(const std::vector<T>& list, Out* out, size_t count) {
  if (count < list.size())
    return Fail("there is room for " + std::to_string(count) + " of " + std::to_string(list.size()));
  std::copy(list.begin(), list.end(), out);
  return nullptr;
}

Status* Graph_GetName(const Graph* graph, const char** out) {
  *out = graph->model()->name().c_str();
  return nullptr;
}
Status* Graph_GetModelPath(const Graph*, const char** out) {
  *out = "";
  return nullptr;
}
Status* Graph_GetOnnxIRVersion(const Graph*, int64_t* out) {
  *out = 10;  // as sdk::WriteOnnx, for the element types that EPs know
  return nullptr;
}
Status* Graph_GetNumOperatorSets(const Graph* graph, size_t* out) {
  *out = graph->model()->operator_sets().size();
  return nullptr;
}
Status* Graph_GetOperatorSets(const Graph* graph, const char** domains, int64_t* versions, size_t count) {
  const auto& sets = graph->model()->operator_sets();
  for (size_t i = 0; i < std::min(count, sets.size()); ++i) {
    domains[i] = sets[i].first.c_str();
    versions[i] = sets[i].second;
  }
  return nullptr;
}
Status* Graph_GetNumInputs(const Graph* graph, size_t* out) {
  *out = graph->inputs().size();
  return nullptr;
}
Status* Graph_GetInputs(const Graph* graph, const ValueInfo** out, size_t count) {
  return Write(graph->inputs(), out, count);
}
Status* Graph_GetNumOutputs(const Graph* graph, size_t* out) {
  *out = graph->outputs().size();
  return nullptr;
}
Status* Graph_GetOutputs(const Graph* graph, const ValueInfo** out, size_t count) {
  return Write(graph->outputs(), out, count);
}
Status* Graph_GetNumInitializers(const Graph* graph, size_t* out) {
  *out = graph->initializers().size();
  return nullptr;
}
Status* Graph_GetInitializers(const Graph* graph, const ValueInfo** out, size_t count) {
  return Write(graph->initializers(), out, count);
}
Status* Graph_GetNumNodes(const Graph* graph, size_t* out) {
  *out = graph->nodes().size();
  return nullptr;
}
Status* Graph_GetNodes(const Graph* graph, const Node** out, size_t count) {
  if (count < graph->nodes().size()) return Fail("there is no room for the nodes");
  for (const Node& node : graph->nodes()) *out++ = &node;
  return nullptr;
}
Status* Graph_GetParentNode(const Graph*, const Node** out) {
  *out = nullptr;
  return nullptr;
}
Status* Graph_GetGraphView(const Graph* graph, const Node** nodes, size_t count, Graph** out) {
  return Guarded([&]() -> Status* {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(nodes[i]->id);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (!numbers.empty() && numbers.back() >= graph->model()->nodes().size()) return Fail("a node is not of the graph");
    *out = new Graph(graph->model(), numbers);
    return nullptr;
  });
}
void ReleaseGraph(Graph* graph) {
  if (graph != nullptr && !graph->is_kept) delete graph;
}

Status* GetValueInfoName(const ValueInfo* info, const char** out) {
  *out = info->value->name.c_str();
  return nullptr;
}
Status* GetValueInfoTypeInfo(const ValueInfo* info, const TypeInfo** out) {
  *out = &info->value->type;
  return nullptr;
}
Status* ValueInfo_GetValueProducer(const ValueInfo* info, const Node** out, size_t* output) {
  *out = info->producer;
  if (output != nullptr) *output = info->producer_output;
  return nullptr;
}
Status* ValueInfo_GetValueNumConsumers(const ValueInfo* info, size_t* out) {
  *out = info->consumers.size();
  return nullptr;
}
Status* ValueInfo_GetValueConsumers(const ValueInfo* info, const Node** nodes, int64_t* inputs, size_t count) {
  if (count < info->consumers.size()) return Fail("there is no room for the consumers");
  for (const auto& [node, input] : info->consumers) {
    *nodes++ = node;
    *inputs++ = static_cast<int64_t>(input);
  }
  return nullptr;
}
Status* ValueInfo_GetInitializerValue(const ValueInfo* info, const Value** out) {
  return Guarded([&]() -> Status* {
    *out = info->model->Constant(info->number);
    if (*out == nullptr && info->value->constant != nullptr)
      return Fail(kFail, "the constant '" + info->value->name + "' cannot be read");
    return nullptr;
  });
}
Status* ValueInfo_GetExternalInitializerInfo(const ValueInfo*, ExternalInitializerInfo** out) {
  *out = nullptr;
  return nullptr;
}
Status* ValueInfo_IsRequiredGraphInput(const ValueInfo* info, bool* out) {
  *out = info->is_input;
  return nullptr;
}
Status* IsNever(const ValueInfo*, bool* out) {
  *out = false;
  return nullptr;
}
Status* ValueInfo_IsGraphOutput(const ValueInfo* info, bool* out) {
  *out = info->is_output;
  return nullptr;
}
Status* ValueInfo_IsConstantInitializer(const ValueInfo* info, bool* out) {
  *out = info->value->constant != nullptr;
  return nullptr;
}
// Of a graph or a node, which owns it.
void ReleaseValueInfo(ValueInfo*) {}

Status* AddNodesToFuse(EpGraphSupportInfo* support, const Node* const* nodes, size_t count,
                       const NodeFusionOptions* options) {
  return Guarded([&]() -> Status* {
    if (count == 0) return Fail("there are no nodes to fuse");
    EpGraphSupportInfo::Fused fused;
    fused.drops_constants = options != nullptr && options->drop_constant_initializers;
    for (size_t i = 0; i < count; ++i) {
      if (nodes[i] == nullptr) return Fail("a node to fuse is NULL");
      fused.nodes.push_back(nodes[i]->id);
    }
    support->fused.push_back(std::move(fused));
    return nullptr;
  });
}
Status* AddSingleNode(EpGraphSupportInfo* support, const Node* node) {
  return Guarded([&]() -> Status* {
    support->single.push_back(node->id);
    return nullptr;
  });
}

}  // namespace

void SetGraphFunctions(Tables& tables) {
  tables.Set(Slot::Graph_GetName, Graph_GetName);
  tables.Set(Slot::Graph_GetModelPath, Graph_GetModelPath);
  tables.Set(Slot::Graph_GetOnnxIRVersion, Graph_GetOnnxIRVersion);
  tables.Set(Slot::Graph_GetNumOperatorSets, Graph_GetNumOperatorSets);
  tables.Set(Slot::Graph_GetOperatorSets, Graph_GetOperatorSets);
  tables.Set(Slot::Graph_GetNumInputs, Graph_GetNumInputs);
  tables.Set(Slot::Graph_GetInputs, Graph_GetInputs);
  tables.Set(Slot::Graph_GetNumOutputs, Graph_GetNumOutputs);
  tables.Set(Slot::Graph_GetOutputs, Graph_GetOutputs);
  tables.Set(Slot::Graph_GetNumInitializers, Graph_GetNumInitializers);
  tables.Set(Slot::Graph_GetInitializers, Graph_GetInitializers);
  tables.Set(Slot::Graph_GetNumNodes, Graph_GetNumNodes);
  tables.Set(Slot::Graph_GetNodes, Graph_GetNodes);
  tables.Set(Slot::Graph_GetParentNode, Graph_GetParentNode);
  tables.Set(Slot::Graph_GetGraphView, Graph_GetGraphView);
  tables.Set(Slot::ReleaseGraph, ReleaseGraph);
  tables.Set(Slot::GetValueInfoName, GetValueInfoName);
  tables.Set(Slot::GetValueInfoTypeInfo, GetValueInfoTypeInfo);
  tables.Set(Slot::ValueInfo_GetValueProducer, ValueInfo_GetValueProducer);
  tables.Set(Slot::ValueInfo_GetValueNumConsumers, ValueInfo_GetValueNumConsumers);
  tables.Set(Slot::ValueInfo_GetValueConsumers, ValueInfo_GetValueConsumers);
  tables.Set(Slot::ValueInfo_GetInitializerValue, ValueInfo_GetInitializerValue);
  tables.Set(Slot::ValueInfo_GetExternalInitializerInfo, ValueInfo_GetExternalInitializerInfo);
  tables.Set(Slot::ValueInfo_IsRequiredGraphInput, ValueInfo_IsRequiredGraphInput);
  tables.Set(Slot::ValueInfo_IsOptionalGraphInput, IsNever);
  tables.Set(Slot::ValueInfo_IsGraphOutput, ValueInfo_IsGraphOutput);
  tables.Set(Slot::ValueInfo_IsConstantInitializer, ValueInfo_IsConstantInitializer);
  tables.Set(Slot::ValueInfo_IsFromOuterScope, IsNever);
  tables.Set(Slot::ReleaseValueInfo, ReleaseValueInfo);
}

void SetCapabilityFunctions(Tables& tables) {
  tables.Set(EpSlot::EpGraphSupportInfo_AddNodesToFuse, AddNodesToFuse);
  tables.Set(EpSlot::EpGraphSupportInfo_AddSingleNode, AddSingleNode);
}

}  // namespace own
}  // namespace ort
