#include "model_writer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "deputy/sdk/protobuf_message.hpp"

namespace ort_ep {
namespace {

using deputy::DType;
using deputy::Result;
using deputy::Status;
using deputy::StatusCode;
using deputy::sdk::ProtobufMessage;

constexpr uint64_t kMostBytes = 0x7fffffff;  // of a message of protobuf
constexpr uint32_t kModelIr = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12,
                   kGraphValueInfo = 13;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeType = 4, kNodeAttribute = 5, kNodeDomain = 7;
constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;

using Opsets = std::map<std::string, int64_t>;

ProtobufMessage HeadOf(const Elements& elements, const std::string& name) {
  ProtobufMessage head;
  for (const int64_t extent : elements.dims) head.Number(kTensorDims, extent);
  head.Number(kTensorType, static_cast<int64_t>(elements.dtype));
  if (!name.empty()) head.Chunk(kTensorName, name);
  head.BeginChunk(kTensorRaw, elements.bytes.size());
  return head;
}

ProtobufMessage TensorOf(const Elements& elements, const std::string& name) {
  ProtobufMessage tensor = HeadOf(elements, name);
  tensor.bytes() += elements.bytes;
  return tensor;
}

ProtobufMessage DeclarationOf(const Value& value) {
  ProtobufMessage declared;
  declared.Chunk(1, value.name);
  if (!value.is_tensor || value.dtype == DType::kUndefined) return declared;
  ProtobufMessage type, shape;
  type.Number(1, static_cast<int64_t>(value.dtype));
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    ProtobufMessage extent;
    if (value.dims[axis] >= 0)
      extent.Number(1, value.dims[axis]);
    else if (!value.symbols[axis].empty())
      extent.Chunk(2, value.symbols[axis]);
    shape.Part(1, extent);
  }
  if (value.has_shape) type.Part(2, shape);
  return std::move(declared.Part(2, ProtobufMessage().Part(1, type)));
}

Result<ProtobufMessage> SubgraphOf(const Graph& graph, Opsets& opsets);

Result<ProtobufMessage> AttributeOf(const Attribute& attribute) {
  enum : int64_t { kFloat = 1, kInt, kString, kTensor, kFloats = 6, kInts, kStrings };
  constexpr uint32_t kType = 20;
  ProtobufMessage message;
  message.Chunk(1, attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    message.Number(3, *number).Number(kType, kInt);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.Float(2, *real).Number(kType, kFloat);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.Chunk(4, *text).Number(kType, kString);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    for (const int64_t one : *numbers) message.Number(8, one);
    message.Number(kType, kInts);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
    for (const float one : *reals) message.Float(7, one);
    message.Number(kType, kFloats);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
    for (const std::string& one : *texts) message.Chunk(9, one);
    message.Number(kType, kStrings);
  } else if (const auto* elements = std::get_if<Elements>(&attribute.value)) {
    message.Part(5, TensorOf(*elements, "")).Number(kType, kTensor);
  } else {
    return Status(StatusCode::kNotSupported, "attribute '" + attribute.name + "' is of a kind that is not read");
  }
  return message;
}

int64_t VersionIn(const Graph& graph, const Node& node) {
  for (const auto& [domain, version] : graph.opsets)
    if (domain == node.domain) return version;
  return node.since_version;
}

Result<ProtobufMessage> NodeOf(const Graph& graph, const Node& node, Opsets& opsets) {
  static const std::string kLeftOut;
  ProtobufMessage message;
  for (const size_t input : node.inputs)
    message.Chunk(kNodeInput, input == kNone ? kLeftOut : graph.values[input].name);
  for (const size_t output : node.outputs)
    message.Chunk(kNodeOutput, output == kNone ? kLeftOut : graph.values[output].name);
  message.Chunk(kNodeName, node.name).Chunk(kNodeType, node.op_type).Chunk(kNodeDomain, node.domain);
  for (const Attribute& attribute : node.attributes) {
    Result<ProtobufMessage> written = AttributeOf(attribute);
    if (!written.ok()) return std::move(written).status().At("node '" + node.name + "'");
    message.Part(kNodeAttribute, *written);
  }
  for (const auto& [name, subgraph] : node.subgraphs) {
    DEPUTY_ASSIGN_OR_RETURN(const ProtobufMessage written, SubgraphOf(*subgraph, opsets));
    message.Part(kNodeAttribute, ProtobufMessage().Chunk(1, name).Part(6, written).Number(20, 5));
  }
  int64_t& version = opsets[node.domain];
  version = std::max(version, VersionIn(graph, node));
  return message;
}

Result<ProtobufMessage> SubgraphOf(const Graph& graph, Opsets& opsets) {
  ProtobufMessage message;
  for (const Node& node : graph.nodes) {
    DEPUTY_ASSIGN_OR_RETURN(const ProtobufMessage written, NodeOf(graph, node, opsets));
    message.Part(kGraphNode, written);
  }
  message.Chunk(kGraphName, graph.name.empty() ? "subgraph" : graph.name);
  for (const size_t initializer : graph.initializers) {
    const Value& value = graph.values[initializer];
    if (value.constant.dtype == DType::kUndefined)
      return Status(StatusCode::kNotSupported, "constant '" + value.name + "' is not a tensor of numbers");
    message.Part(kGraphInitializer, TensorOf(value.constant, value.name));
  }
  for (const size_t input : graph.inputs) message.Part(kGraphInput, DeclarationOf(graph.values[input]));
  for (const size_t output : graph.outputs) message.Part(kGraphOutput, DeclarationOf(graph.values[output]));
  return message;
}

}  // namespace

class ModelWriter {
 public:
  ModelWriter(const Graph& graph, const std::vector<size_t>& nodes)
      : graph_(graph), nodes_(nodes.begin(), nodes.end()), producers_(graph.values.size(), kNone) {}

  Result<WrittenModel> Write() {
    for (const size_t node : nodes_)
      for (const size_t output : graph_.nodes[node].outputs)
        if (output != kNone) producers_[output] = node;
    for (const size_t node : nodes_) Sort(graph_.nodes[node]);
    for (size_t node = 0; node < graph_.nodes.size(); ++node)
      if (nodes_.count(node) == 0) NoteReads(graph_.nodes[node]);
    for (const size_t output : graph_.outputs)
      if (producers_[output] != kNone) outputs_.insert(output);
    if (outputs_.empty()) return Status(StatusCode::kNotSupported, "the nodes make no value that is read");
    Opsets opsets;
    for (const size_t node : InOrder()) {
      DEPUTY_ASSIGN_OR_RETURN(const ProtobufMessage written, NodeOf(graph_, graph_.nodes[node], opsets));
      body_.Part(kGraphNode, written);
    }
    body_.Chunk(kGraphName, "graph");  // the name of a fused graph is another one
    for (const size_t input : ByName(inputs_)) body_.Part(kGraphInput, DeclarationOf(graph_.values[input]));
    for (const size_t output : ByName(outputs_)) body_.Part(kGraphOutput, DeclarationOf(graph_.values[output]));
    for (const size_t value : ByName(inner_))
      if (outputs_.count(value) == 0 && graph_.values[value].is_tensor)
        body_.Part(kGraphValueInfo, DeclarationOf(graph_.values[value]));
    return Finish(opsets);
  }

 private:
  // What a node reads and makes.
  void Sort(const Node& node) {
    for (const std::vector<size_t>* list : {&node.inputs, &node.captured})
      for (const size_t value : *list) {
        if (value == kNone || producers_[value] != kNone) continue;
        (graph_.values[value].is_constant ? constants_ : inputs_).insert(value);
      }
    for (const size_t value : node.outputs)
      if (value != kNone) inner_.insert(value);
  }
  // Values that another node of the graph reads are outputs.
  void NoteReads(const Node& node) {
    for (const std::vector<size_t>* list : {&node.inputs, &node.captured})
      for (const size_t value : *list)
        if (value != kNone && producers_[value] != kNone) outputs_.insert(value);
  }

  std::vector<size_t> ByName(const std::set<size_t>& values) const {
    std::vector<size_t> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end(),
              [this](size_t a, size_t b) { return graph_.values[a].name < graph_.values[b].name; });
    return sorted;
  }

  // Topological; among nodes that could come next, by their names.
  std::vector<size_t> InOrder() const {
    std::map<size_t, size_t> waits;                  // of a node, the number of values that are not made yet
    std::map<size_t, std::vector<size_t>> readers;   // of a node
    std::set<std::pair<std::string, size_t>> ready;  // by name
    for (const size_t node : nodes_) {
      size_t& count = waits[node];
      for (const std::vector<size_t>* list : {&graph_.nodes[node].inputs, &graph_.nodes[node].captured})
        for (const size_t value : *list)
          if (value != kNone && producers_[value] != kNone) {
            readers[producers_[value]].push_back(node);
            ++count;
          }
      if (count == 0) ready.emplace(graph_.nodes[node].name, node);
    }
    std::vector<size_t> order;
    while (!ready.empty()) {
      const size_t node = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(node);
      for (const size_t reader : readers[node])
        if (--waits[reader] == 0) ready.emplace(graph_.nodes[reader].name, reader);
    }
    return order;
  }

  Result<WrittenModel> Finish(const Opsets& opsets) {
    ProtobufMessage head;
    head.Number(kModelIr, graph_.ir_version).Chunk(kModelProducer, "ONNX Runtime");
    for (const auto& [domain, version] : opsets)
      head.Part(kModelOpset, ProtobufMessage().Chunk(1, domain).Number(2, version));
    std::vector<std::pair<std::string, std::string_view>> constants;
    uint64_t size = body_.bytes().size();
    for (const size_t constant : ByName(constants_)) {
      const Value& value = graph_.values[constant];
      if (value.constant.dtype == DType::kUndefined)
        return Status(StatusCode::kNotSupported, "constant '" + value.name + "' is not a tensor of numbers");
      const ProtobufMessage tensor = HeadOf(value.constant, value.name);
      ProtobufMessage outer;
      outer.BeginChunk(kGraphInitializer, tensor.bytes().size() + value.constant.bytes.size());
      constants.emplace_back(outer.bytes() + tensor.bytes(), value.constant.bytes);
      size += constants.back().first.size() + constants.back().second.size();
    }
    head.BeginChunk(kModelGraph, size);
    WrittenModel model;
    model.size_ = head.bytes().size() + size;
    if (model.size_ > kMostBytes)
      return Status(StatusCode::kNotSupported, "the nodes have " + std::to_string(size >> 20) +
                                                   " MiB of constants, more than the 2048 of one ONNX model");
    model.key_ = head.bytes() + body_.bytes();
    for (const auto& [tensor_head, bytes] : constants) {
      model.key_ += tensor_head;
      model.elements_.emplace_back(model.key_.size(), bytes);
    }
    return model;
  }

  const Graph& graph_;
  const std::set<size_t> nodes_;
  std::vector<size_t> producers_;  // of a value, the node; kNone: not one of `nodes_`
  std::set<size_t> inputs_, outputs_, inner_, constants_;
  ProtobufMessage body_;
};

std::string WrittenModel::Bytes() const {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(size_));
  size_t begin = 0;
  for (const auto& [place, elements] : elements_) {
    bytes.append(key_, begin, place - begin);
    bytes += elements;
    begin = place;
  }
  return bytes.append(key_, begin);
}

Result<WrittenModel> WriteModel(const Graph& graph, const std::vector<size_t>& nodes) {
  return ModelWriter(graph, nodes).Write();
}

}  // namespace ort_ep
