#include "plugin/proxy/graph_handle.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
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

// Constants of a file that have fewer bytes are shown to every delegate: a pointer costs less than a call.
constexpr size_t kStreamedBytes = 64 * 1024;

// The numbers of a constant of a type that zero points have; nothing for others, and for elements of less than a byte.
std::optional<std::vector<int32_t>> WholeNumbers(const deputy::Tensor& constant) {
  const auto read = [&](auto zero) {
    const auto* begin = static_cast<const decltype(zero)*>(constant.data());
    return std::vector<int32_t>(begin, begin + constant.byte_size() / sizeof zero);
  };
  if (constant.empty()) return std::nullopt;
  switch (constant.dtype()) {
    case deputy::DType::kUint8: return read(uint8_t{0});
    case deputy::DType::kInt8: return read(int8_t{0});
    case deputy::DType::kUint16: return read(uint16_t{0});
    case deputy::DType::kInt16: return read(int16_t{0});
    case deputy::DType::kInt32: return read(int32_t{0});
    default: return std::nullopt;
  }
}

// The attribute `axis` of QuantizeLinear and DequantizeLinear.
int64_t AxisOf(const Node& node) {
  const deputy::schema::Primitive* table = node.primitive.table();
  if (table == nullptr || table->attributes() == nullptr) return 1;
  for (const deputy::schema::Attribute* attribute : *table->attributes())
    if (attribute->name() != nullptr && attribute->name()->string_view() == "axis") return attribute->i();
  return 1;
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
    OpenShape& shape = open_shapes[id];
    for (const int64_t dim : type.dims) {
      shape.dims.push_back(dim < 0 ? kUnknownDim : dim);
      deputy_extent& extent = shape.extents.emplace_back();
      extent = {dim, dim, dim, DEPUTY_NO_SYMBOL, 0, Str("")};
      if (dim >= 0) continue;
      extent = {kUnknownDim, 0, kUnknownDim, DEPUTY_NO_SYMBOL, 0, Str("")};
      if (!IsSymbol(dim)) continue;
      extent.symbol = static_cast<uint32_t>(SymbolIndex(dim)) + 1;
      if (SymbolIndex(dim) < graph.symbols.size()) extent.name = Str(graph.symbols[SymbolIndex(dim)]);
    }
  }
  AddQuantizations();
}

void GraphForm::AddQuantizations() {
  for (const Node& node : graph.nodes) {
    const bool quantizes = node.kind() == OpKind::kQuantizeLinear;
    if ((!quantizes && node.kind() != OpKind::kDequantizeLinear) || node.inputs.size() < 2) continue;
    const ValueId id = quantizes ? node.outputs[0] : node.inputs[0];
    if (id == kNone || node.inputs[1] == kNone || quantizations.count(id) != 0) continue;
    const Tensor& scale = graph.values[node.inputs[1]].constant;
    // One scale, or one for each index along an axis; blocks have more.
    if (scale.empty() || scale.dtype() != DType::kFloat32 || scale.shape().size() > 1) continue;
    const bool has_points = node.inputs.size() > 2 && node.inputs[2] != kNone;
    std::optional<std::vector<int32_t>> points = std::vector<int32_t>(scale.byte_size() / sizeof(float), 0);
    if (has_points) points = WholeNumbers(graph.values[node.inputs[2]].constant);
    if (!points || points->size() != scale.byte_size() / sizeof(float)) continue;
    Quantization& made = quantizations[id];
    const auto* scales = static_cast<const float*>(scale.data());
    made.scales.assign(scales, scales + points->size());
    made.zero_points = *std::move(points);
    const ValueType& type = graph.values[id].type;
    int64_t axis = AxisOf(node);
    if (axis < 0) axis += static_cast<int64_t>(type.dims.size());
    made.form = {sizeof made.form, scale.shape().empty() || made.scales.size() == 1 ? -1 : static_cast<int32_t>(axis),
                 made.scales.size(), made.scales.data(), made.zero_points.data()};
  }
}

std::shared_ptr<const GraphForm> GraphForm::Of(const GraphView& view) {
  if (view.kept.form == nullptr) view.kept.form = std::make_shared<const GraphForm>(view);
  return std::static_pointer_cast<const GraphForm>(view.kept.form);
}

}  // namespace deputy::host

deputy_graph::deputy_graph(std::shared_ptr<const deputy::host::GraphForm> form, deputy::host::HandleTracker* tracker,
                           bool streams)
    : form_(std::move(form)), handle_tracker_(tracker), streams_(streams) {
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
    const auto open = form_->open_shapes.find(id);
    const bool is_open = open != form_->open_shapes.end();
    const std::vector<int64_t>& dims = is_open ? open->second.dims : value.type.dims;
    if (is_open) info.extents = open->second.extents.data();
    info.rank = static_cast<uint32_t>(dims.size());
    info.dims = dims.data();
  }
  if (value.is_constant()) {
    info.byte_size = value.constant.byte_size();
    info.constant = info.byte_size == 0 ? nullptr : value.constant.data();
    if (streams_ && info.byte_size >= kStreamedBytes && graph().is_mapped(value.constant)) {
      info.constant = nullptr;
      info.flags |= DEPUTY_VALUE_NOT_RESIDENT;
    }
  }
  const auto quantized = form_->quantizations.find(id);
  if (quantized != form_->quantizations.end()) info.quantization = &quantized->second.form;
  return Fill(info, out);
}

const deputy_graph::AttributeArrays& deputy_graph::Arrays(const deputy::schema::Attribute& attribute) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = arrays_.find(&attribute); found != arrays_.end()) return found->second;
  AttributeArrays arrays;
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
  return arrays_.emplace(&attribute, std::move(arrays)).first->second;
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
