// InspectModel: a graph as plain data, with types as far as they can be inferred.
#include "deputy/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/file.hpp"
#include "cpu/delegate.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "runtime/model_state.hpp"
#include "runtime/read_model.hpp"

namespace deputy {
namespace host {
namespace {

// "unnamed 17" for a node without a name: "node 17" is a name of the graph after the passes, where it is another one.
std::string NameInFile(const Graph& graph, NodeId id) {
  return graph.nodes[id].name.empty() ? fmt::format("unnamed {}", id) : graph.nodes[id].name;
}

Status SetShapes(Graph& graph, const NamedShapes& shapes) {
  for (const auto& [name, shape] : shapes) {
    const std::span<const ValueId> inputs = graph.caller_inputs();
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&, n = std::string_view(name)](ValueId id) { return graph.values[id].name == n; });
    if (input == inputs.end()) return Error(StatusCode::kNotFound, "the model has no input '{}'", name);
    ValueType& type = graph.values[*input].type;
    if (!type.is_tensor())
      return Error(StatusCode::kInvalidArgument, "input '{}' is {}, which has no shape", name, Describe(graph, type));
    // An extent of -1 stays open and keeps its symbol.
    if (!type.ranked || type.dims.size() != shape.size()) type.dims.assign(shape.size(), kUnknownDim);
    type.ranked = true;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] >= 0) type.dims[axis] = shape[axis];
  }
  return {};
}

// Inference folds and drops nodes; the types that it finds are written into the imported graph.
void TakeTypes(Graph& graph, const Graph& inferred) {
  std::unordered_map<std::string_view, const ValueType*> types;
  for (const Value& value : inferred.values) types.emplace(value.name, &value.type);
  for (Value& value : graph.values)
    if (const auto found = types.find(value.name); !value.name.empty() && found != types.end())
      value.type = *found->second;
}

class Inspector {
 public:
  explicit Inspector(ModelContents& contents)
      : contents_(contents), cpu_(MakeCpuDelegate(std::make_shared<ThreadPool>(1))) {}

  Status Add(const Graph& graph, const std::string& region) {
    GraphView view{&graph, {}, std::vector<uint8_t>(graph.nodes.size(), 1)};
    for (NodeId id = 0; id < graph.nodes.size(); ++id) view.order.push_back(id);
    std::vector<Verdict> verdicts(graph.nodes.size());
    DEPUTY_RETURN_IF_ERROR(cpu_->QuerySupport(view, verdicts));
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      AddNode(view, id, verdicts[id], region);
      const std::string path = (region.empty() ? "" : region + "/") + NameInFile(graph, id) + "/";
      for (const Region& inner : graph.nodes[id].regions) {
        ++contents_.regions;
        DEPUTY_RETURN_IF_ERROR(Add(*inner.body, path + inner.name));
      }
    }
    for (const Value& value : graph.values) {
      if (!value.is_constant()) continue;
      ++contents_.constants;
      contents_.parameters += static_cast<uint64_t>(value.constant.element_count());
      contents_.constant_bytes += value.constant.byte_size();
    }
    return {};
  }

 private:
  void AddNode(const GraphView& view, NodeId id, const Verdict& verdict, const std::string& region) {
    const Graph& graph = *view.graph;
    const Node& node = graph.nodes[id];
    InspectedNode made;
    made.name = NameInFile(graph, id);
    made.op_type = node.primitive.op_type();
    made.domain = node.primitive.domain();
    made.since_version = node.primitive.since_version();
    made.region = region;
    if (node.source != nullptr) made.source = *node.source;
    for (const ValueId input : node.inputs) made.inputs.push_back(input == kNone ? "" : graph.values[input].name);
    for (const ValueId output : node.outputs) {
      made.outputs.push_back(output == kNone ? "" : graph.values[output].name);
      made.types.push_back(output == kNone ? "" : Describe(graph, graph.values[output].type));
    }
    if (region.empty()) made.multiply_adds = MultiplyAdds(graph, node);
    contents_.multiply_adds += made.multiply_adds;
    Judge(view, id, verdict, made);
    contents_.nodes.push_back(std::move(made));
  }

  void Judge(const GraphView& view, NodeId id, const Verdict& verdict, InspectedNode& made) {
    const Node& node = view.graph->nodes[id];
    made.on_cpu = verdict.supported();
    if (!verdict.supported()) made.why_not = fmt::format("{}: {}", NameOf(verdict.reason), verdict.detail);
    // The host itself runs control flow; and without types there is no kernel to search for.
    if (!made.on_cpu || !node.regions.empty() || !HasTypes(*view.graph, node)) return;
    const Result<std::shared_ptr<const Executable>> compiled = cpu_->Compile(view, PartitionOf(*view.graph, id));
    made.on_cpu = compiled.ok();
    if (!compiled.ok()) made.why_not = compiled.status().message();
  }

  static bool HasTypes(const Graph& graph, const Node& node) {
    const auto has_type = [&](ValueId id) {
      const auto is_known = [](const ValueType& type) {
        return (type.ranked || !type.is_tensor()) && type.dtype != DType::kUndefined;
      };
      return id == kNone || is_known(graph.values[id].type);
    };
    return std::all_of(node.inputs.begin(), node.inputs.end(), has_type) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), has_type);
  }

  static PartitionSpec PartitionOf(const Graph& graph, NodeId id) {
    PartitionSpec spec;
    spec.nodes = {id};
    for (const ValueId input : graph.nodes[id].inputs)
      if (input != kNone && !graph.values[input].is_constant() &&
          std::find(spec.inputs.begin(), spec.inputs.end(), input) == spec.inputs.end())
        spec.inputs.push_back(input);
    for (const ValueId output : graph.nodes[id].outputs)
      if (output != kNone) spec.outputs.push_back(output);
    return spec;
  }

  ModelContents& contents_;
  std::shared_ptr<Delegate> cpu_;
};

}  // namespace
}  // namespace host

Result<ModelContents> InspectModel(
    const std::string& path, const std::function<Result<NamedShapes>(const std::vector<TensorInfo>&)>& shapes_for) {
  Result<std::shared_ptr<const host::MappedFile>> file = host::MappedFile::Open(path);
  if (!file.ok()) return std::move(file).status().WithCode(StatusCode::kModel);
  DEPUTY_ASSIGN_OR_RETURN(host::ReadGraph read,
                          host::ReadAnyModel({(*file)->bytes(), *file, path}, ModelType::kAuto, path));
  host::Graph& graph = read.graph;
  ModelContents contents;
  contents.format = read.format;
  contents.file_bytes = (*file)->bytes().size();
  contents.metadata = graph.metadata;
  contents.symbols = graph.symbols;
  contents.inputs = host::DescribeValues(graph, graph.caller_inputs());
  contents.states = host::DescribeValues(graph, std::span(graph.inputs).subspan(contents.inputs.size()));
  if (shapes_for) {
    DEPUTY_ASSIGN_OR_RETURN(const NamedShapes shapes, shapes_for(contents.inputs));
    DEPUTY_RETURN_IF_ERROR(host::SetShapes(graph, shapes).At(path));
  }
  host::Graph inferred = graph;
  const Status status = InferGraph(inferred, {host::MakeCpuEvaluator()});
  if (status.ok()) {
    host::TakeTypes(graph, inferred);
  } else {
    contents.problem = status.ToString();
  }
  contents.outputs = host::DescribeValues(graph, graph.caller_outputs());
  DEPUTY_RETURN_IF_ERROR(host::Inspector(contents).Add(graph, ""));
  return contents;
}

}  // namespace deputy
