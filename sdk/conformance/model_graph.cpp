#include "model_graph.hpp"

#include <algorithm>
#include <cstring>

#include "deputy/sdk/schema.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

template <class T>
void Fill(const T& full, T* out) {
  const size_t room = out->struct_size;
  if (room < sizeof(uint32_t)) return;
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t), reinterpret_cast<const char*>(&full) + sizeof(uint32_t),
              std::min(room, sizeof(T)) - sizeof(uint32_t));
}

flatbuffers::Offset<schema::Attribute> Written(flatbuffers::FlatBufferBuilder& builder, const std::string& name,
                                               const reference::Attribute& attribute) {
  const auto text = builder.CreateString(name);
  flatbuffers::Offset<flatbuffers::String> s;
  flatbuffers::Offset<flatbuffers::Vector<int64_t>> ints;
  flatbuffers::Offset<flatbuffers::Vector<float>> floats;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Text>>> strings;
  flatbuffers::Offset<schema::TensorData> tensor;
  switch (attribute.type) {
    case DEPUTY_ATTRIBUTE_STRING: s = builder.CreateString(attribute.s); break;
    case DEPUTY_ATTRIBUTE_INTS: ints = builder.CreateVector(attribute.ints); break;
    case DEPUTY_ATTRIBUTE_FLOATS: floats = builder.CreateVector(attribute.floats); break;
    case DEPUTY_ATTRIBUTE_STRINGS: {
      std::vector<flatbuffers::Offset<schema::Text>> all;
      for (const std::string& one : attribute.strings)
        all.push_back(schema::CreateText(builder, builder.CreateString(one)));
      strings = builder.CreateVector(all);
      break;
    }
    case DEPUTY_ATTRIBUTE_TENSOR: {
      const auto dims = builder.CreateVector(attribute.tensor.dims);
      builder.ForceVectorAlignment(reference::Encode(attribute.tensor).size(), 1, 8);
      const auto data = builder.CreateVector(reference::Encode(attribute.tensor));
      tensor = schema::CreateTensorData(builder, attribute.tensor.dtype, dims, data);
      break;
    }
    default: break;
  }
  return schema::CreateAttribute(builder, text, static_cast<schema::AttributeType>(attribute.type), attribute.i,
                                 attribute.f, s, ints, floats, strings, tensor);
}

void WritePrimitive(GraphNode& node) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schema::Attribute>> attributes;  // a map: sorted by name already
  for (const auto& [name, value] : node.node.attributes) attributes.push_back(Written(builder, name, value));
  const auto domain = builder.CreateString(node.node.domain), type = builder.CreateString(node.node.op_type);
  const auto list = builder.CreateVector(attributes);
  schema::FinishPrimitiveBuffer(builder, schema::CreatePrimitive(builder, domain, type, node.node.since_version, list));
  node.primitive_size = builder.GetSize();
  node.primitive.assign(node.primitive_size / 8 + 1, 0);
  std::memcpy(node.primitive.data(), builder.GetBufferPointer(), node.primitive_size);
}

}  // namespace
}  // namespace deputy::conformance

using deputy::conformance::GraphNode;
using deputy::conformance::GraphValue;
using deputy::conformance::GuardedBuffer;
using deputy::conformance::StrOf;
namespace reference = deputy::conformance::reference;

deputy_value_id deputy_graph::AddValue(const std::string& name, deputy_dtype dtype, reference::Dims dims) {
  const bool known = std::all_of(dims.begin(), dims.end(), [](int64_t extent) { return extent >= 0; });
  GraphValue value;
  value.name = name;
  value.dtype = dtype;
  value.dims = std::move(dims);
  value.flags = known ? uint32_t{DEPUTY_VALUE_SHAPE_KNOWN} : 0;
  values_.push_back(std::move(value));
  return static_cast<deputy_value_id>(values_.size() - 1);
}

deputy_value_id deputy_graph::AddConstant(const std::string& name, const Tensor& tensor) {
  const deputy_value_id id = AddValue(name, tensor.dtype, tensor.dims);
  const std::vector<uint8_t> bytes = reference::Encode(tensor);
  // Those that are mapped from a file of the model are aligned to the element alone, and may be the last in the file.
  values_[id].constant =
      std::make_unique<GuardedBuffer>("the constant " + name, bytes.size(), deputy::conformance::Flush::kEnd);
  values_[id].constant->Assign(bytes);
  values_[id].constant->Protect(true);
  values_[id].flags |= DEPUTY_VALUE_CONSTANT;
  return id;
}

deputy_node_id deputy_graph::AddNode(const std::string& name, const Node& node, std::vector<deputy_value_id> inputs,
                                     std::vector<deputy_value_id> outputs) {
  nodes_.push_back({name, node, std::move(inputs), std::move(outputs), true, {}, 0});
  deputy::conformance::WritePrimitive(nodes_.back());
  return static_cast<deputy_node_id>(nodes_.size() - 1);
}

void deputy_graph::AddInput(deputy_value_id value) {
  values_[value].flags |= DEPUTY_VALUE_GRAPH_INPUT;
  inputs_.push_back(value);
}

void deputy_graph::AddOutput(deputy_value_id value) {
  values_[value].flags |= DEPUTY_VALUE_GRAPH_OUTPUT;
  outputs_.push_back(value);
}

bool deputy_graph::NodeInfo(deputy_node_id id, deputy_node_info* out) const {
  if (id >= nodes_.size() || out == nullptr) return false;
  const GraphNode& node = nodes_[id];
  deputy_node_info info{};
  info.id = id;
  info.domain = StrOf(node.node.domain);
  info.op_type = StrOf(node.node.op_type);
  info.name = StrOf(node.name);
  info.since_version = static_cast<uint32_t>(node.node.since_version);
  info.flags = node.offered ? uint32_t{DEPUTY_NODE_OFFERED} : 0;
  info.input_count = static_cast<uint32_t>(node.inputs.size());
  info.output_count = static_cast<uint32_t>(node.outputs.size());
  info.inputs = node.inputs.data();
  info.outputs = node.outputs.data();
  info.primitive = node.primitive.data();
  info.primitive_size = node.primitive_size;
  deputy::conformance::Fill(info, out);
  return true;
}

bool deputy_graph::ValueInfo(deputy_value_id id, deputy_value_info* out) const {
  if (id >= values_.size() || out == nullptr) return false;
  const GraphValue& value = values_[id];
  static constexpr int64_t kNoDims = 0;
  deputy_value_info info{};
  info.id = id;
  info.name = StrOf(value.name);
  info.dtype = value.dtype;
  info.rank = static_cast<uint32_t>(value.dims.size());
  info.dims = value.dims.empty() ? &kNoDims : value.dims.data();
  info.flags = value.flags;
  if (value.constant != nullptr) {
    info.byte_size = value.constant->size();
    info.constant = value.constant->data();
    if (streams_ && info.byte_size != 0) {
      info.constant = nullptr;
      info.flags |= DEPUTY_VALUE_NOT_RESIDENT;
    }
  }
  deputy::conformance::Fill(info, out);
  return true;
}

bool deputy_graph::ReadConstant(deputy_value_id id, uint64_t offset, uint64_t size, void* to) const {
  if (id >= values_.size() || values_[id].constant == nullptr) return false;
  const deputy::conformance::GuardedBuffer& constant = *values_[id].constant;
  if (offset > constant.size() || size > constant.size() - offset || (to == nullptr && size != 0)) return false;
  if (size != 0) std::memcpy(to, constant.data() + offset, size);
  return true;
}

bool deputy_graph::AttributeOf(deputy_node_id id, const char* name, deputy_attribute* out) const {
  if (id >= nodes_.size() || out == nullptr || name == nullptr) return false;
  deputy_attribute full{};
  const auto found = nodes_[id].node.attributes.find(name);
  if (found != nodes_[id].node.attributes.end()) {
    const reference::Attribute& attribute = found->second;
    full.type = attribute.type;
    full.i = attribute.i;
    full.f = attribute.f;
    full.s = StrOf(attribute.s);
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[&attribute];
    if (attribute.type == DEPUTY_ATTRIBUTE_INTS) {
      full.count = attribute.ints.size();
      full.ints = attribute.ints.data();
    } else if (attribute.type == DEPUTY_ATTRIBUTE_FLOATS) {
      full.count = attribute.floats.size();
      full.floats = attribute.floats.data();
    } else if (attribute.type == DEPUTY_ATTRIBUTE_STRINGS) {
      if (kept.strings.empty())
        for (const std::string& text : attribute.strings) kept.strings.push_back(StrOf(text));
      full.count = kept.strings.size();
      full.strings = kept.strings.data();
    } else if (attribute.type == DEPUTY_ATTRIBUTE_TENSOR) {
      if (kept.tensor.struct_size == 0) {
        kept.bytes = reference::Encode(attribute.tensor);
        kept.tensor.struct_size = sizeof kept.tensor;
        kept.tensor.dtype = attribute.tensor.dtype;
        kept.tensor.rank = static_cast<uint32_t>(attribute.tensor.rank());
        kept.tensor.dims = attribute.tensor.dims.data();
        kept.tensor.data = kept.bytes.data();
        kept.tensor.byte_size = kept.bytes.size();
      }
      full.tensor = &kept.tensor;
    }
  }
  deputy::conformance::Fill(full, out);
  return true;
}
