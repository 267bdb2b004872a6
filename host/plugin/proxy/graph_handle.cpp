#include "plugin/proxy/graph_handle.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "graph/upgrade/upgrade.hpp"
#include "plugin/checks/handles.hpp"
#include "primitive_generated.h"

namespace {

using deputy::Status;
using deputy::StatusCode;
using deputy::host::Error;
using deputy::host::Node;
using deputy::host::Value;

deputy_str Str(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }

deputy_str Str(const flatbuffers::String* text) {
  return text == nullptr ? Str("") : deputy_str{text->c_str(), text->size()};
}

// As much of `full` as the caller's struct has; its struct_size stays the caller's.
template <class T>
Status Fill(const T& full, T* out) {
  if (out == nullptr) return Status(StatusCode::kInvalidArgument, "the output struct must not be NULL");
  const size_t room = out->struct_size;
  if (room < sizeof(uint32_t)) return Error(StatusCode::kInvalidArgument, "struct_size {} is too small", room);
  const size_t count = std::min(room, sizeof(T)) - sizeof(uint32_t);
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t), reinterpret_cast<const char*>(&full) + sizeof(uint32_t),
              count);
  return {};
}

}  // namespace

namespace deputy::host {

GraphForm::GraphForm(const GraphView& view)
    : graph(*view.graph),
      order(view.order),
      offered(view.offered),
      group_of(view.group_of),
      positions(graph.nodes.size(), static_cast<uint32_t>(view.order.size())),
      value_flags(graph.values.size(), 0) {
  offered.resize(graph.nodes.size(), 0);
  for (uint32_t i = 0; i < order.size(); ++i) positions[order[i]] = i;
  for (const ValueId id : graph.inputs) value_flags[id] |= DEPUTY_VALUE_GRAPH_INPUT;
  for (const ValueId id : graph.outputs) value_flags[id] |= DEPUTY_VALUE_GRAPH_OUTPUT;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const ValueType& type = graph.values[id].type;
    if (graph.values[id].is_constant()) value_flags[id] |= DEPUTY_VALUE_CONSTANT;
    if (type.is_static()) value_flags[id] |= DEPUTY_VALUE_SHAPE_KNOWN;
    if (!type.ranked || type.is_static()) continue;
    // Symbols are the host's own; a plugin sees an unknown extent.
    std::vector<int64_t>& dims = open_dims[id];
    for (const int64_t dim : type.dims) dims.push_back(dim < 0 ? kUnknownDim : dim);
  }
}

std::shared_ptr<const GraphForm> GraphForm::Of(const GraphView& view) {
  if (view.kept.form == nullptr) view.kept.form = std::make_shared<const GraphForm>(view);
  return std::static_pointer_cast<const GraphForm>(view.kept.form);
}

}  // namespace deputy::host

deputy_graph::deputy_graph(std::shared_ptr<const deputy::host::GraphForm> form, deputy::host::HandleTracker* tracker)
    : form_(std::move(form)), handle_tracker_(tracker) {
  if (handle_tracker_ != nullptr) handle_tracker_->Lend(this);
}

deputy_graph::~deputy_graph() {
  if (handle_tracker_ != nullptr) handle_tracker_->Release(this);
}

deputy_node_id deputy_graph::node_at(uint32_t index) const {
  return index < form_->order.size() ? form_->order[index] : deputy::host::kNone;
}

uint32_t deputy_graph::position(deputy_node_id node) const {
  return node < form_->positions.size() ? form_->positions[node] : node_count();
}

bool deputy_graph::offered(deputy_node_id node) const {
  return position(node) != node_count() && form_->offered[node] != 0;
}

Status deputy_graph::NodeInfo(deputy_node_id id, deputy_node_info* out) const {
  if (position(id) == node_count()) return Error(StatusCode::kInvalidArgument, "there is no node {}", id);
  const Node& node = graph().nodes[id];
  deputy_node_info info{};
  info.id = id;
  info.domain = Str(node.primitive.domain());
  info.op_type = Str(node.primitive.op_type());
  info.name = Str(node.name);
  info.since_version = static_cast<uint32_t>(deputy::host::OldestEquivalent(graph(), node));
  info.flags = (offered(id) ? uint32_t{DEPUTY_NODE_OFFERED} : 0u) |
               (node.regions.empty() ? 0u : uint32_t{DEPUTY_NODE_HAS_REGIONS});
  info.input_count = static_cast<uint32_t>(node.inputs.size());
  info.output_count = static_cast<uint32_t>(node.outputs.size());
  info.inputs = node.inputs.data();
  info.outputs = node.outputs.data();
  info.primitive = node.primitive.bytes().data();
  info.primitive_size = node.primitive.bytes().size();
  return Fill(info, out);
}

Status deputy_graph::ValueInfo(deputy_value_id id, deputy_value_info* out) const {
  if (id >= graph().values.size()) return Error(StatusCode::kInvalidArgument, "there is no value {}", id);
  const Value& value = graph().values[id];
  deputy_value_info info{};
  info.id = id;
  info.name = Str(value.name);
  info.flags = form_->value_flags[id];
  // Only nodes that are not on offer read or make values that are not tensors; these have no dtype and no shape.
  if (value.type.is_tensor()) info.dtype = static_cast<deputy_dtype>(value.type.dtype);
  if (value.type.is_tensor() && value.type.ranked) {
    const auto open = form_->open_dims.find(id);
    const std::vector<int64_t>& dims = open == form_->open_dims.end() ? value.type.dims : open->second;
    info.rank = static_cast<uint32_t>(dims.size());
    info.dims = dims.data();
  }
  if (value.is_constant()) {
    info.byte_size = value.constant.byte_size();
    info.constant = info.byte_size == 0 ? nullptr : value.constant.data();
  }
  return Fill(info, out);
}

const deputy_graph::AttributeArrays& deputy_graph::Arrays(const deputy::schema::Attribute& attribute) const {
  const std::lock_guard lock(mutex_);
  const auto [found, made] = arrays_.try_emplace(&attribute);
  AttributeArrays& arrays = found->second;
  if (!made) return arrays;
  if (attribute.strings() != nullptr)
    for (const deputy::schema::Text* text : *attribute.strings()) arrays.strings.push_back(Str(text->value()));
  if (const deputy::schema::TensorData* source = attribute.tensor()) {
    if (source->dims() != nullptr) arrays.dims.assign(source->dims()->begin(), source->dims()->end());
    deputy_tensor& tensor = arrays.tensor;
    tensor.struct_size = sizeof tensor;
    tensor.dtype = source->dtype();
    tensor.rank = static_cast<uint32_t>(arrays.dims.size());
    tensor.layout = DEPUTY_LAYOUT_DENSE;
    tensor.dims = arrays.dims.data();
    tensor.memory = DEPUTY_MEMORY_HOST;
    if (source->data() != nullptr) {
      // The ABI has one tensor for reading and writing; this one lies in read-only memory.
      tensor.data = const_cast<uint8_t*>(source->data()->data());
      tensor.byte_size = source->data()->size();
    }
  }
  return arrays;
}

Status deputy_graph::Attribute(deputy_node_id id, std::string_view name, deputy_attribute* out) const {
  if (position(id) == node_count()) return Error(StatusCode::kInvalidArgument, "there is no node {}", id);
  deputy_attribute full{};
  const deputy::schema::Primitive* table = graph().nodes[id].primitive.table();
  if (table != nullptr && table->attributes() != nullptr) {
    for (const deputy::schema::Attribute* attribute : *table->attributes()) {
      if (attribute->name() == nullptr || attribute->name()->string_view() != name) continue;
      full.type = static_cast<deputy_attribute_type>(attribute->type());
      full.i = attribute->i();
      full.f = attribute->f();
      full.s = Str(attribute->s());
      if (attribute->type() == deputy::schema::AttributeType_Ints && attribute->ints() != nullptr) {
        full.count = attribute->ints()->size();
        full.ints = attribute->ints()->data();
      } else if (attribute->type() == deputy::schema::AttributeType_Floats && attribute->floats() != nullptr) {
        full.count = attribute->floats()->size();
        full.floats = attribute->floats()->data();
      } else if (attribute->type() == deputy::schema::AttributeType_Strings) {
        const AttributeArrays& arrays = Arrays(*attribute);
        full.count = arrays.strings.size();
        full.strings = arrays.strings.data();
      } else if (attribute->type() == deputy::schema::AttributeType_Tensor && attribute->tensor() != nullptr) {
        full.tensor = &Arrays(*attribute).tensor;
      }
      break;
    }
  }
  return Fill(full, out);
}
