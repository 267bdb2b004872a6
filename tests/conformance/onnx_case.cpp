#include "onnx_case.hpp"

#include <onnx/onnx.pb.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "definitions.hpp"

namespace deputy::conformance {
namespace {

namespace fs = std::filesystem;
namespace pb = ::onnx;
using reference::Attribute;
using reference::Dims;
using reference::Tensor;

template <class Message>
Message Parsed(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Message message;
  if (!file || !message.ParseFromString(bytes)) throw std::runtime_error("cannot be read: " + path.string());
  return message;
}

deputy_dtype TypeOf(int32_t number) {
  const auto dtype = static_cast<deputy_dtype>(number);
  if (reference::BytesOf(dtype) == 0)
    throw NotApplicable{"element type " + std::to_string(number) + " of TensorProto is not the ABI's"};
  return dtype;
}

Tensor TensorOf(const pb::TensorProto& proto) {
  const deputy_dtype dtype = TypeOf(proto.data_type());
  const Dims dims(proto.dims().begin(), proto.dims().end());
  if (proto.has_raw_data())
    return reference::Decode(dtype, dims, reinterpret_cast<const uint8_t*>(proto.raw_data().data()));
  Tensor tensor(dtype, dims);
  for (int i = 0; i < tensor.count(); ++i) {
    if (dtype == DEPUTY_DTYPE_FLOAT32)
      tensor.Put(i, static_cast<double>(proto.float_data(i)));
    else if (dtype == DEPUTY_DTYPE_FLOAT64)
      tensor.Put(i, proto.double_data(i));
    else if (dtype == DEPUTY_DTYPE_INT64)
      tensor.Put(i, int64_t{proto.int64_data(i)});
    else if (dtype == DEPUTY_DTYPE_UINT64 || dtype == DEPUTY_DTYPE_UINT32)
      tensor.Put(i, static_cast<int64_t>(proto.uint64_data(i)));
    else if (reference::IsReal(dtype)) {  // the narrow floats by their bits
      const auto bits = static_cast<uint16_t>(proto.int32_data(i));
      tensor.Copy(i, reference::Decode(dtype, {}, reinterpret_cast<const uint8_t*>(&bits)), 0);
    } else {
      tensor.Put(i, int64_t{proto.int32_data(i)});
    }
  }
  return tensor;
}

Attribute AttributeOf(const pb::AttributeProto& proto) {
  Attribute made;
  switch (proto.type()) {
    case pb::AttributeProto::FLOAT: return Attribute::Float(proto.f());
    case pb::AttributeProto::INT: return Attribute::Int(proto.i());
    case pb::AttributeProto::STRING: return Attribute::String(proto.s());
    case pb::AttributeProto::TENSOR: return Attribute::OfTensor(TensorOf(proto.t()));
    case pb::AttributeProto::FLOATS: return Attribute::Floats({proto.floats().begin(), proto.floats().end()});
    case pb::AttributeProto::INTS: return Attribute::Ints({proto.ints().begin(), proto.ints().end()});
    case pb::AttributeProto::STRINGS:
      made.type = DEPUTY_ATTRIBUTE_STRINGS;
      made.strings.assign(proto.strings().begin(), proto.strings().end());
      return made;
    default: throw NotApplicable{"attribute " + proto.name() + " is no number, text or tensor"};
  }
}

// The definition that holds for an operator in a model of this operator set.
int32_t DefinitionIn(const std::string& op_type, int64_t opset) {
  int32_t since = 1;
  for (const Definition& one : FactsOf(op_type)->definitions)
    if (one.since <= opset) since = one.since;
  return since;
}

OnnxNode NodeOf(const pb::NodeProto& proto, int64_t opset) {
  const bool other_domain = !proto.domain().empty() && proto.domain() != "ai.onnx";
  for (const reference::Absence& absent : reference::Absences())
    if (!other_domain && proto.op_type() == absent.op_type)
      throw NotApplicable{"operator " + proto.op_type() + ": " + absent.reason};
  if (other_domain || !reference::Knows(proto.op_type()))
    throw NotApplicable{"operator " + proto.domain() + (other_domain ? ":" : "") + proto.op_type() +
                        " is not on the SDK's list"};
  OnnxNode made;
  made.node.op_type = proto.op_type();
  made.node.since_version = DefinitionIn(proto.op_type(), opset);
  made.node.output_count = static_cast<size_t>(proto.output_size());
  for (const pb::AttributeProto& attribute : proto.attribute())
    made.node.attributes[attribute.name()] = AttributeOf(attribute);
  made.inputs.assign(proto.input().begin(), proto.input().end());
  made.outputs.assign(proto.output().begin(), proto.output().end());
  return made;
}

// The tensor in a file for a value of a model, of its name.
Tensor TensorIn(const fs::path& path, const pb::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) throw NotApplicable{"sequences and optional values are no tensors"};
  const deputy_dtype declared = TypeOf(value.type().tensor_type().elem_type());
  const Tensor tensor = TensorOf(Parsed<pb::TensorProto>(path));
  // Older cases hold a bfloat16 as the number that its bits are.
  if (declared != DEPUTY_DTYPE_BFLOAT16 || tensor.dtype != DEPUTY_DTYPE_UINT16) return tensor;
  return reference::Decode(declared, tensor.dims, reference::Encode(tensor).data());
}

}  // namespace

OnnxCase ReadOnnxCase(const fs::path& folder) {
  const auto model = Parsed<pb::ModelProto>(folder / "model.onnx");
  const pb::GraphProto& graph = model.graph();
  int64_t opset = 0;
  for (const auto& one : model.opset_import())
    if (one.domain().empty() || one.domain() == "ai.onnx") opset = one.version();
  OnnxCase made;
  for (const pb::NodeProto& node : graph.node()) made.nodes.push_back(NodeOf(node, opset));
  for (const pb::TensorProto& tensor : graph.initializer()) made.known[tensor.name()] = TensorOf(tensor);
  const fs::path data = folder / "test_data_set_0";
  int at = 0;
  for (const pb::ValueInfoProto& value : graph.input()) {
    if (made.known.count(value.name()) != 0) continue;
    made.known[value.name()] = TensorIn(data / ("input_" + std::to_string(at++) + ".pb"), value);
  }
  for (int i = 0; i < graph.output_size(); ++i)
    made.expected.emplace_back(graph.output(i).name(),
                               TensorIn(data / ("output_" + std::to_string(i) + ".pb"), graph.output(i)));
  return made;
}

std::vector<Tensor> RunOnOracle(const OnnxCase& tested) {
  std::map<std::string, Tensor> values = tested.known;
  for (const OnnxNode& one : tested.nodes) {
    reference::Inputs inputs;
    for (const std::string& name : one.inputs) inputs.push_back(name.empty() ? nullptr : &values.at(name));
    std::vector<Tensor> made = reference::Compute(one.node, inputs);
    for (size_t i = 0; i < one.outputs.size(); ++i) {
      if (one.outputs[i].empty()) continue;
      if (i >= made.size()) throw NotApplicable{"operator " + one.node.op_type + ": training"};
      values[one.outputs[i]] = std::move(made[i]);
    }
  }
  std::vector<Tensor> outputs;
  for (const auto& [name, tensor] : tested.expected) outputs.push_back(values.at(name));
  return outputs;
}

}  // namespace deputy::conformance
