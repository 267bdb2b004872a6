#include "graph.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ort_ep {
namespace {

using deputy::DType;
using deputy::Result;
using deputy::Status;
using deputy::StatusCode;
using ort::Slot;

// A graph inside a graph inside a graph: no model has more, and a damaged one does not end this process.
constexpr int kMostDepth = 64;

Result<std::string> TextOf(const Runtime& runtime, Slot slot, const auto* object) {
  const char* text = nullptr;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(slot, object, &text));
  return std::string(text == nullptr ? "" : text);
}

// A list by the pair of functions that count it and that fill an array.
template <class Item>
Result<std::vector<const Item*>> ListOf(const Runtime& runtime, Slot count, Slot fill, const auto* object) {
  size_t size = 0;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(count, object, &size));
  std::vector<const Item*> items(size);
  if (size != 0) DEPUTY_RETURN_IF_ERROR(runtime.Try(fill, object, items.data(), size));
  return items;
}

// Elements and extents of a description of a tensor.
struct TensorType {
  DType dtype = DType::kUndefined;
  bool has_shape = false;
  std::vector<int64_t> dims;
  std::vector<std::string> symbols;
};

Result<TensorType> TensorTypeOf(const Runtime& runtime, const ort::TensorTypeAndShapeInfo* info, bool is_value) {
  TensorType type;
  int32_t element = 0;
  size_t rank = 0;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetTensorElementType, info, &element));
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetDimensionsCount, info, &rank));
  type.dtype = static_cast<DType>(ort::ToOnnx(element));
  // Before version 24 a missing shape reads like that of a scalar.
  type.has_shape = rank != 0 || is_value;
  if (!type.has_shape && runtime.host_minor() >= 24)
    type.has_shape = runtime.Do<bool>(Slot::TensorTypeAndShape_HasShape, info);
  type.dims.resize(rank);
  type.symbols.resize(rank);
  if (rank == 0) return type;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetDimensions, info, type.dims.data(), rank));
  std::vector<const char*> symbols(rank, nullptr);
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetSymbolicDimensions, info, symbols.data(), rank));
  for (size_t axis = 0; axis < rank; ++axis) {
    if (type.dims[axis] < 0) type.dims[axis] = -1;
    if (symbols[axis] != nullptr) type.symbols[axis] = symbols[axis];
  }
  return type;
}

class Reader {
 public:
  Reader(const Runtime& runtime, const ort::Graph* handle, int depth)
      : runtime_(runtime), handle_(handle), depth_(depth) {}

  Result<Graph> Read() {
    if (depth_ > kMostDepth) return Status(StatusCode::kModel, "subgraphs are nested too deeply");
    DEPUTY_ASSIGN_OR_RETURN(graph_.name, TextOf(runtime_, Slot::Graph_GetName, handle_));
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Graph_GetOnnxIRVersion, handle_, &graph_.ir_version));
    DEPUTY_RETURN_IF_ERROR(ReadOpsets());
    DEPUTY_RETURN_IF_ERROR(ReadList(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, graph_.inputs));
    DEPUTY_RETURN_IF_ERROR(ReadList(Slot::Graph_GetNumInitializers, Slot::Graph_GetInitializers, graph_.initializers));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<const ort::Node*> nodes,
                            ListOf<ort::Node>(runtime_, Slot::Graph_GetNumNodes, Slot::Graph_GetNodes, handle_));
    for (const ort::Node* node : nodes) DEPUTY_RETURN_IF_ERROR(ReadNode(node));
    DEPUTY_RETURN_IF_ERROR(ReadList(Slot::Graph_GetNumOutputs, Slot::Graph_GetOutputs, graph_.outputs));
    DEPUTY_RETURN_IF_ERROR(ReadParents());
    if (runtime_.host_minor() == 23)  // which does not show the parents
      graph_.is_subgraph = has_outer_values_ || graph_.inputs.empty();
    std::erase_if(graph_.inputs, [this](size_t input) { return graph_.values[input].is_constant; });
    return std::move(graph_);
  }

 private:
  Status ReadParents() {
    const ort::Graph* graph = handle_;
    for (int depth = 0; graph != nullptr && depth < kMostDepth; ++depth) {
      const ort::Node* parent = nullptr;
      DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Graph_GetParentNode, graph, &parent));
      if (parent == nullptr) break;
      graph_.is_subgraph = true;
      DEPUTY_ASSIGN_OR_RETURN(const std::string type, TextOf(runtime_, Slot::Node_GetOperatorType, parent));
      if (type != "If" && type != "Loop" && type != "Scan") graph_.is_in_function = true;
      DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Node_GetGraph, parent, &graph));
    }
    return {};
  }

  Status ReadOpsets() {
    size_t count = 0;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Graph_GetNumOperatorSets, handle_, &count));
    std::vector<const char*> domains(count, nullptr);
    std::vector<int64_t> versions(count, 0);
    if (count != 0)
      DEPUTY_RETURN_IF_ERROR(
          runtime_.Try(Slot::Graph_GetOperatorSets, handle_, domains.data(), versions.data(), count));
    for (size_t i = 0; i < count; ++i) graph_.opsets.emplace_back(domains[i] == nullptr ? "" : domains[i], versions[i]);
    return {};
  }

  Status ReadList(Slot count, Slot fill, std::vector<size_t>& list) {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<const ort::ValueInfo*> values,
                            ListOf<ort::ValueInfo>(runtime_, count, fill, handle_));
    for (const ort::ValueInfo* value : values) {
      DEPUTY_ASSIGN_OR_RETURN(const size_t index, ValueOf(value));
      if (index != kNone) list.push_back(index);
    }
    return {};
  }

  // The index of the value, which is read when it is met first; kNone for one that is left out.
  Result<size_t> ValueOf(const ort::ValueInfo* handle) {
    if (handle == nullptr) return size_t{kNone};
    DEPUTY_ASSIGN_OR_RETURN(std::string name, NameOf(runtime_, handle));
    if (name.empty()) return size_t{kNone};
    const auto [found, is_new] = by_name_.try_emplace(name, graph_.values.size());
    if (!is_new) return found->second;
    Value value;
    value.name = std::move(name);
    const ort::TypeInfo* type = nullptr;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::GetValueInfoTypeInfo, handle, &type));
    int32_t kind = ort::kUnknownKind;
    if (type != nullptr) DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::GetOnnxTypeFromTypeInfo, type, &kind));
    if (kind == ort::kTensorKind) {
      const ort::TensorTypeAndShapeInfo* info = nullptr;
      DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::CastTypeInfoToTensorInfo, type, &info));
      if (info != nullptr) {
        DEPUTY_ASSIGN_OR_RETURN(TensorType tensor, TensorTypeOf(runtime_, info, false));
        value.is_tensor = true;
        value.dtype = tensor.dtype;
        value.has_shape = tensor.has_shape;
        value.dims = std::move(tensor.dims);
        value.symbols = std::move(tensor.symbols);
      }
    }
    bool is_outer = false;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::ValueInfo_IsFromOuterScope, handle, &is_outer));
    has_outer_values_ = has_outer_values_ || is_outer;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::ValueInfo_IsConstantInitializer, handle, &value.is_constant));
    if (value.is_constant) DEPUTY_RETURN_IF_ERROR(ReadConstant(handle, value));
    graph_.values.push_back(std::move(value));
    return found->second;
  }

  Status ReadConstant(const ort::ValueInfo* handle, Value& value) {
    const ort::Value* constant = nullptr;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::ValueInfo_GetInitializerValue, handle, &constant));
    if (constant == nullptr || value.dtype == DType::kString || !value.is_tensor) {
      value.dtype = DType::kUndefined;  // not for Deputy
      return {};
    }
    DEPUTY_ASSIGN_OR_RETURN(value.constant, ReadElements(runtime_, constant));
    value.has_shape = true;
    value.dims = value.constant.dims;
    value.symbols.assign(value.dims.size(), "");
    return {};
  }

  Status ReadValues(Slot count, Slot fill, const ort::Node* node, std::vector<size_t>& list) {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<const ort::ValueInfo*> values,
                            ListOf<ort::ValueInfo>(runtime_, count, fill, node));
    for (const ort::ValueInfo* value : values) {
      DEPUTY_ASSIGN_OR_RETURN(const size_t index, ValueOf(value));
      list.push_back(index);
    }
    return {};
  }

  Status ReadNode(const ort::Node* handle) {
    Node node;
    node.handle = handle;
    DEPUTY_ASSIGN_OR_RETURN(node.name, TextOf(runtime_, Slot::Node_GetName, handle));
    DEPUTY_ASSIGN_OR_RETURN(node.op_type, TextOf(runtime_, Slot::Node_GetOperatorType, handle));
    DEPUTY_ASSIGN_OR_RETURN(node.domain, TextOf(runtime_, Slot::Node_GetDomain, handle));
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Node_GetSinceVersion, handle, &node.since_version));
    DEPUTY_RETURN_IF_ERROR(ReadValues(Slot::Node_GetNumInputs, Slot::Node_GetInputs, handle, node.inputs));
    DEPUTY_RETURN_IF_ERROR(ReadValues(Slot::Node_GetNumOutputs, Slot::Node_GetOutputs, handle, node.outputs));
    DEPUTY_RETURN_IF_ERROR(
        ReadValues(Slot::Node_GetNumImplicitInputs, Slot::Node_GetImplicitInputs, handle, node.captured));
    DEPUTY_ASSIGN_OR_RETURN(node.provider, TextOf(runtime_, Slot::Node_GetEpName, handle));
    // Reports name nodes: by the model's name, or by the operator and the value that the node makes.
    if (node.name.empty() || !names_.insert(node.name).second) {
      const size_t first = node.outputs.empty() ? kNone : node.outputs[0];
      std::string name = node.op_type + ":" + (first == kNone ? std::string() : graph_.values[first].name);
      while (!names_.insert(name).second) name += "_";
      node.name = std::move(name);
    }
    DEPUTY_RETURN_IF_ERROR(ReadSubgraphs(handle, node));
    DEPUTY_ASSIGN_OR_RETURN(
        const std::vector<const ort::OpAttr*> attributes,
        ListOf<ort::OpAttr>(runtime_, Slot::Node_GetNumAttributes, Slot::Node_GetAttributes, handle));
    for (const ort::OpAttr* attribute : attributes)
      if (attribute != nullptr) DEPUTY_RETURN_IF_ERROR(ReadAttribute(attribute, node));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status ReadSubgraphs(const ort::Node* handle, Node& node) {
    size_t count = 0;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Node_GetNumSubgraphs, handle, &count));
    if (count == 0) return {};
    std::vector<const ort::Graph*> graphs(count, nullptr);
    std::vector<const char*> names(count, nullptr);
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Node_GetSubgraphs, handle, graphs.data(), count, names.data()));
    for (size_t i = 0; i < count; ++i) {
      if (graphs[i] == nullptr || names[i] == nullptr)
        return Status(StatusCode::kModel, "a subgraph without a name").At("node '" + node.name + "'");
      DEPUTY_ASSIGN_OR_RETURN(Graph graph, Reader(runtime_, graphs[i], depth_ + 1).Read());
      node.subgraphs.emplace_back(names[i], std::make_shared<const Graph>(std::move(graph)));
    }
    return {};
  }

  template <class T>
  Result<std::vector<T>> ReadArray(const ort::OpAttr* handle, ort::AttributeType type) {
    size_t bytes = 0;
    // Where there are elements, the first call fails and tells their size.
    (void)runtime_.Try(Slot::ReadOpAttr, handle, type, static_cast<void*>(nullptr), size_t{0}, &bytes);
    std::vector<T> elements(bytes / sizeof(T));
    if (!elements.empty())
      DEPUTY_RETURN_IF_ERROR(
          runtime_.Try(Slot::ReadOpAttr, handle, type, static_cast<void*>(elements.data()), bytes, &bytes));
    return elements;
  }

  Status ReadAttribute(const ort::OpAttr* handle, Node& node) {
    Attribute attribute;
    DEPUTY_ASSIGN_OR_RETURN(attribute.name, TextOf(runtime_, Slot::OpAttr_GetName, handle));
    int32_t type = ort::kUndefinedAttribute;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::OpAttr_GetType, handle, &type));
    size_t size = 0;
    switch (type) {
      case ort::kGraphAttribute: return {};  // it was read as a subgraph
      case ort::kIntAttribute: {
        int64_t number = 0;
        DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::ReadOpAttr, handle, ort::kIntAttribute, static_cast<void*>(&number),
                                            sizeof number, &size));
        attribute.value = number;
        break;
      }
      case ort::kFloatAttribute: {
        float number = 0;
        DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::ReadOpAttr, handle, ort::kFloatAttribute, static_cast<void*>(&number),
                                            sizeof number, &size));
        attribute.value = number;
        break;
      }
      case ort::kIntsAttribute: {
        DEPUTY_ASSIGN_OR_RETURN(attribute.value, ReadArray<int64_t>(handle, ort::kIntsAttribute));
        break;
      }
      case ort::kFloatsAttribute: {
        DEPUTY_ASSIGN_OR_RETURN(attribute.value, ReadArray<float>(handle, ort::kFloatsAttribute));
        break;
      }
      case ort::kStringAttribute: {
        DEPUTY_ASSIGN_OR_RETURN(std::vector<char> text, ReadArray<char>(handle, ort::kStringAttribute));
        if (!text.empty() && text.back() == '\0') text.pop_back();  // which some versions add
        attribute.value = std::string(text.begin(), text.end());
        break;
      }
      case ort::kStringsAttribute: {
        DEPUTY_ASSIGN_OR_RETURN(const std::vector<char> all, ReadArray<char>(handle, ort::kStringsAttribute));
        std::vector<std::string> texts;
        for (auto begin = all.begin(); begin != all.end();) {
          const auto end = std::find(begin, all.end(), '\0');
          texts.emplace_back(begin, end);
          begin = end == all.end() ? end : end + 1;
        }
        attribute.value = std::move(texts);
        break;
      }
      case ort::kTensorAttribute: DEPUTY_RETURN_IF_ERROR(ReadTensor(handle, attribute)); break;
      default: break;
    }
    node.attributes.push_back(std::move(attribute));
    return {};
  }

  // The tensor is ONNX Runtime's copy, so that its elements are copied once more.
  Status ReadTensor(const ort::OpAttr* handle, Attribute& attribute) {
    ort::Value* tensor = nullptr;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::OpAttr_GetTensorAttributeAsOrtValue, handle, &tensor));
    const std::shared_ptr<ort::Value> owner(tensor, [runtime = runtime_](ort::Value* value) {
      if (value != nullptr) runtime.Do<void>(Slot::ReleaseValue, value);
    });
    Result<Elements> elements = ReadElements(runtime_, tensor);
    if (!elements.ok()) return {};  // a tensor of strings: the node stays with ONNX Runtime
    elements->owner = std::make_shared<const std::string>(elements->bytes);
    elements->bytes = *elements->owner;
    attribute.value = *std::move(elements);
    return {};
  }

  const Runtime& runtime_;
  const ort::Graph* handle_;
  const int depth_;
  Graph graph_;
  std::map<std::string, size_t> by_name_;
  std::set<std::string> names_;
  bool has_outer_values_ = false;
};

}  // namespace

Result<Graph> ReadGraph(const Runtime& runtime, const ort::Graph* graph) { return Reader(runtime, graph, 0).Read(); }

Result<std::string> NameOf(const Runtime& runtime, const ort::ValueInfo* value) {
  return TextOf(runtime, Slot::GetValueInfoName, value);
}

Result<Elements> ReadElements(const Runtime& runtime, const ort::Value* value) {
  if (value == nullptr) return Status(StatusCode::kModel, "a tensor is missing");
  ort::TensorTypeAndShapeInfo* info = nullptr;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetTensorTypeAndShape, value, &info));
  Result<TensorType> type = TensorTypeOf(runtime, info, true);
  runtime.Do<void>(Slot::ReleaseTensorTypeAndShapeInfo, info);
  if (!type.ok()) return std::move(type).status();
  if (type->dtype == DType::kString) return Status(StatusCode::kNotSupported, "tensors of strings are not read");
  Elements elements;
  elements.dtype = type->dtype;
  elements.dims = std::move(type->dims);
  const void* data = nullptr;
  size_t bytes = 0;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetTensorData, value, &data));
  DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetTensorSizeInBytes, value, &bytes));
  if (bytes != 0 && data == nullptr) return Status(StatusCode::kModel, "a tensor without elements");
  elements.bytes = std::string_view(static_cast<const char*>(data), bytes);
  return elements;
}

}  // namespace ort_ep
