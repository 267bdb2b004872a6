#include "onnx_model.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "deputy/sdk/protobuf_message.hpp"

namespace deputy::conformance {
namespace {

// Field numbers as in onnx.proto.
using Message = sdk::ProtobufMessage;

Message TensorOf(const reference::Tensor& tensor, const std::string& name) {
  Message message;
  for (const int64_t extent : tensor.dims) message.Number(1, extent);
  message.Number(2, tensor.dtype);
  if (!name.empty()) message.Chunk(8, name);
  const std::vector<uint8_t> bytes = reference::Encode(tensor);
  return message.Chunk(9, std::string(bytes.begin(), bytes.end()));
}

Message AttributeOf(const std::string& name, const reference::Attribute& attribute) {
  Message message;
  message.Chunk(1, name);
  switch (attribute.type) {
    case DEPUTY_ATTRIBUTE_FLOAT: return message.Float(2, attribute.f).Number(20, 1);
    case DEPUTY_ATTRIBUTE_INT: return message.Number(3, attribute.i).Number(20, 2);
    case DEPUTY_ATTRIBUTE_STRING: return message.Chunk(4, attribute.s).Number(20, 3);
    case DEPUTY_ATTRIBUTE_TENSOR: return message.Part(5, TensorOf(attribute.tensor, "")).Number(20, 4);
    case DEPUTY_ATTRIBUTE_FLOATS:
      for (const float value : attribute.floats) message.Float(7, value);
      return message.Number(20, 6);
    case DEPUTY_ATTRIBUTE_INTS:
      for (const int64_t value : attribute.ints) message.Number(8, value);
      return message.Number(20, 7);
    case DEPUTY_ATTRIBUTE_STRINGS:
      for (const std::string& value : attribute.strings) message.Chunk(9, value);
      return message.Number(20, 8);
    default: return message;
  }
}

Message Declared(const std::string& name, const Message& tensor_type) {
  return Message().Chunk(1, name).Part(2, Message().Part(1, tensor_type));
}

Message InputOf(size_t i, const reference::Tensor& tensor, const UnknownExtents& unknown) {
  const std::string name = "x" + std::to_string(i);
  Message shape;
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    if (unknown.inputs.count({i, axis}) != 0)
      shape.Part(1, Message().Chunk(2, name + "_" + std::to_string(axis)));
    else
      shape.Part(1, Message().Number(1, tensor.dims[axis]));
  }
  return Declared(name, Message().Number(1, tensor.dtype).Part(2, shape));
}

Message OutputOf(size_t i, const reference::Tensor& tensor, const UnknownExtents& unknown) {
  Message shape, type;
  for (const int64_t extent : tensor.dims) shape.Part(1, Message().Number(1, extent));
  type.Number(1, tensor.dtype);
  if (!unknown.outputs) type.Part(2, shape);
  return Declared("y" + std::to_string(i), type);
}

}  // namespace

std::vector<uint8_t> OnnxModel(const Case& tested, const std::vector<reference::Tensor>& expected,
                               const UnknownExtents& unknown) {
  constexpr int64_t kIrVersion = 10;
  Message node, graph;
  for (size_t i = 0; i < tested.inputs.size(); ++i)
    node.Chunk(1, tested.inputs[i].present ? "x" + std::to_string(i) : "");
  for (size_t i = 0; i < expected.size(); ++i) node.Chunk(2, "y" + std::to_string(i));
  node.Chunk(3, tested.node.op_type).Chunk(4, tested.node.op_type).Chunk(7, tested.node.domain);
  for (const auto& [name, value] : tested.node.attributes) node.Part(5, AttributeOf(name, value));
  graph.Part(1, node).Chunk(2, "conformance");
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Operand& input = tested.inputs[i];
    const std::string name = "x" + std::to_string(i);
    if (input.present && input.constant) graph.Part(5, TensorOf(input.value, name));
    if (input.present && !input.constant) graph.Part(11, InputOf(i, input.value, unknown));
  }
  for (size_t i = 0; i < expected.size(); ++i) graph.Part(12, OutputOf(i, expected[i], unknown));
  const Message opset = Message().Chunk(1, tested.node.domain).Number(2, tested.node.since_version);
  const std::string bytes = Message().Number(1, kIrVersion).Part(7, graph).Part(8, opset).bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> OnnxModel(const ModelCase& model) {
  constexpr int64_t kIrVersion = 10;
  const auto name_of = [](size_t value) { return value == kLeftOut ? std::string() : "v" + std::to_string(value); };
  const auto declared = [&](size_t value) {
    const reference::Tensor& tensor = model.values[value].value;
    Message shape;
    for (const int64_t extent : tensor.dims) shape.Part(1, Message().Number(1, extent));
    return Declared(name_of(value), Message().Number(1, tensor.dtype).Part(2, shape));
  };
  Message graph;
  std::map<std::string, int64_t> opsets;
  for (const ModelNode& one : model.nodes) {
    Message node;
    for (const size_t input : one.inputs) node.Chunk(1, name_of(input));
    for (const size_t output : one.outputs) node.Chunk(2, name_of(output));
    node.Chunk(4, one.node.op_type).Chunk(7, one.node.domain);
    for (const auto& [name, value] : one.node.attributes) node.Part(5, AttributeOf(name, value));
    graph.Part(1, node);
    int64_t& opset = opsets[one.node.domain];
    opset = std::max<int64_t>(opset, one.node.since_version);
  }
  graph.Chunk(2, "conformance");
  for (size_t i = 0; i < model.values.size(); ++i)
    if (model.values[i].constant) graph.Part(5, TensorOf(model.values[i].value, name_of(i)));
  for (const size_t input : model.inputs) graph.Part(11, declared(input));
  for (const size_t output : model.outputs) graph.Part(12, declared(output));
  Message file;
  file.Number(1, kIrVersion).Part(7, graph);
  for (const auto& [domain, version] : opsets) file.Part(8, Message().Chunk(1, domain).Number(2, version));
  return {file.bytes().begin(), file.bytes().end()};
}

ModelCase ModelOf(const Case& tested, const std::vector<reference::Tensor>& expected) {
  ModelCase model;
  model.label = tested.label;
  ModelNode node{tested.node, {}, {}};
  for (const Operand& input : tested.inputs) {
    if (!input.present) {
      node.inputs.push_back(kLeftOut);
      continue;
    }
    node.inputs.push_back(model.values.size());
    if (!input.constant) model.inputs.push_back(model.values.size());
    model.values.push_back({input.value, input.constant});
  }
  for (const reference::Tensor& output : expected) {
    node.outputs.push_back(model.values.size());
    model.outputs.push_back(model.values.size());
    model.values.push_back({output, false});
  }
  model.nodes.push_back(std::move(node));
  return model;
}

std::vector<uint8_t> OnnxTensor(const reference::Tensor& tensor, const std::string& name) {
  const std::string bytes = TensorOf(tensor, name).bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace deputy::conformance
