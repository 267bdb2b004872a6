#include "fuzz/shown_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "deputy/sdk/graph.hpp"

namespace deputy::fuzz {
namespace {

constexpr uint64_t kMostConstantBytes = 1 << 16;

const ShownGraph& Of(const deputy_graph* graph) { return *reinterpret_cast<const ShownGraph*>(graph); }

deputy_str Str(const std::string& text) { return {text.c_str(), text.size()}; }

template <class T>
T NumberAs(double number) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    if (!(number >= -1e9 && number <= 1e9)) return std::numeric_limits<T>::max();
    return static_cast<T>(static_cast<int64_t>(number));
  } else {
    if (number > static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::infinity();
    return static_cast<T>(number);
  }
}

template <class T>
void Fill(unsigned char* bytes, uint64_t size, const std::vector<double>& numbers) {
  for (uint64_t i = 0; (i + 1) * sizeof(T) <= size; ++i) {
    const double small = static_cast<double>(static_cast<int64_t>(i * 7 % 11) - 5) / 4;
    const T number = NumberAs<T>(numbers.empty() ? small : numbers[i % numbers.size()]);
    std::memcpy(bytes + i * sizeof(T), &number, sizeof(T));
  }
}

void FillConstant(int32_t dtype, unsigned char* bytes, uint64_t size, const std::vector<double>& numbers) {
  switch (dtype) {
    case DEPUTY_DTYPE_FLOAT32: return Fill<float>(bytes, size, numbers);
    case DEPUTY_DTYPE_FLOAT64: return Fill<double>(bytes, size, numbers);
    case DEPUTY_DTYPE_INT64: return Fill<int64_t>(bytes, size, numbers);
    case DEPUTY_DTYPE_INT32: return Fill<int32_t>(bytes, size, numbers);
    case DEPUTY_DTYPE_INT8: return Fill<int8_t>(bytes, size, numbers);
    case DEPUTY_DTYPE_UINT8: return Fill<uint8_t>(bytes, size, numbers);
    default: std::memset(bytes, 0x3c, size);
  }
}

using Kind = PluginGraph::Kind;

flatbuffers::Offset<schema::Attribute> Written(flatbuffers::FlatBufferBuilder& builder,
                                               const PluginGraph::Attribute& attribute) {
  const char* name = attribute.name.c_str();
  const int64_t i = attribute.ints.empty() ? 0 : attribute.ints[0];
  const float f = attribute.floats.empty() ? 0 : attribute.floats[0];
  switch (attribute.kind) {
    case Kind::kInt: return schema::CreateAttributeDirect(builder, name, schema::AttributeType_Int, i);
    case Kind::kFloat: return schema::CreateAttributeDirect(builder, name, schema::AttributeType_Float, 0, f);
    case Kind::kString:
      return schema::CreateAttributeDirect(builder, name, schema::AttributeType_String, 0, 0, attribute.text.c_str());
    case Kind::kInts:
      return schema::CreateAttributeDirect(builder, name, schema::AttributeType_Ints, 0, 0, nullptr, &attribute.ints);
    case Kind::kFloats: break;
  }
  return schema::CreateAttributeDirect(builder, name, schema::AttributeType_Floats, 0, 0, nullptr, nullptr,
                                       &attribute.floats);
}

std::vector<uint64_t> PrimitiveOf(const PluginGraph::Node& node) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schema::Attribute>> attributes;
  for (const PluginGraph::Attribute& attribute : node.attributes) attributes.push_back(Written(builder, attribute));
  const auto domain = builder.CreateString(node.domain), op = builder.CreateString(node.op);
  const auto sorted = builder.CreateVectorOfSortedTables(&attributes);
  schema::FinishPrimitiveBuffer(builder, schema::CreatePrimitive(builder, domain, op, node.version, sorted));
  std::vector<uint64_t> words((builder.GetSize() + 7) / 8);
  std::memcpy(words.data(), builder.GetBufferPointer(), builder.GetSize());
  return words;
}

bool IsQuantization(const deputy_node_info& node, const char* op) {
  return node.domain.size == 0 && std::string(node.op_type.data, node.op_type.size) == op;
}

deputy_status* QuantizedGroupsOf(void*, const deputy_graph* graph, const deputy_group_sink* sink) {
  for (const auto& group : Of(graph).QuantizedGroups()) {
    const deputy_group passed{sizeof passed, static_cast<uint32_t>(group.size()), group.data()};
    if (deputy_status* refused = sink->add(sink->self, &passed)) return refused;
  }
  return nullptr;
}

const deputy_ext_partition_helpers kHelpers{
    sizeof(deputy_ext_partition_helpers),
    0,
    nullptr,
    [](void*, const deputy_graph*, const uint32_t*, uint32_t count, uint32_t* clusters,
       uint32_t* made) -> deputy_status* {
      std::fill_n(clusters, count, DEPUTY_NO_CLUSTER);
      *made = 0;
      return nullptr;
    },
    QuantizedGroupsOf,
    [](void*, const deputy_graph*, deputy_value_id) -> deputy_status* { return nullptr; },
    [](void*, const deputy_graph*, deputy_str, const void** data, uint64_t* size) -> deputy_status* {
      *data = nullptr;
      *size = 0;
      return nullptr;
    }};

deputy_host MakeHost() {
  deputy_host host{};
  host.struct_size = sizeof host;
  host.abi_version = DEPUTY_ABI_VERSION;
  host.status_new = [](void*, deputy_code code, deputy_node_id, const char* message, uint64_t size) {
    return new deputy_status{code, std::string(message, size)};
  };
  host.status_release = [](void*, deputy_status* status) { delete status; };
  host.status_code = [](void*, const deputy_status* status) { return status == nullptr ? DEPUTY_OK : status->code; };
  host.status_node = [](void*, const deputy_status*) { return DEPUTY_NO_NODE; };
  host.status_message = [](void*, const deputy_status* status) {
    return status == nullptr ? deputy_str{"", 0} : Str(status->message);
  };
  host.log = [](void*, deputy_log_level, const char*, uint64_t) {};
  host.get_extension = [](void*, const char* id) -> const void* {
    return std::strcmp(id, DEPUTY_EXT_PARTITION_HELPERS) == 0 ? &kHelpers : nullptr;
  };
  host.graph_node_count = [](void*, const deputy_graph* graph) {
    return static_cast<uint32_t>(Of(graph).nodes().size());
  };
  host.graph_node_at = [](void*, const deputy_graph*, uint32_t index) { return deputy_node_id{index}; };
  host.graph_node_info = [](void*, const deputy_graph* graph, deputy_node_id id, deputy_node_info* out) {
    if (id >= Of(graph).nodes().size()) return new deputy_status{DEPUTY_INVALID_ARGUMENT, "there is no such node"};
    *out = Of(graph).nodes()[id];
    return static_cast<deputy_status*>(nullptr);
  };
  host.graph_value_info = [](void*, const deputy_graph* graph, deputy_value_id id, deputy_value_info* out) {
    if (id >= Of(graph).values().size()) return new deputy_status{DEPUTY_INVALID_ARGUMENT, "there is no such value"};
    *out = Of(graph).values()[id];
    return static_cast<deputy_status*>(nullptr);
  };
  host.graph_inputs = [](void*, const deputy_graph* graph, uint32_t* count) {
    *count = static_cast<uint32_t>(Of(graph).inputs().size());
    return Of(graph).inputs().data();
  };
  host.graph_outputs = [](void*, const deputy_graph* graph, uint32_t* count) {
    *count = static_cast<uint32_t>(Of(graph).outputs().size());
    return Of(graph).outputs().data();
  };
  host.constant_read = [](void*, const deputy_graph*, deputy_value_id, uint64_t, uint64_t, void*) {
    return new deputy_status{DEPUTY_INVALID_ARGUMENT, "all constants are resident"};
  };
  host.constant_file = [](void*, const deputy_graph*, deputy_value_id, int32_t*, uint64_t*) {
    return new deputy_status{DEPUTY_NOT_FOUND, "the constant is in no file"};
  };
  host.node_attribute = [](void*, const deputy_graph*, deputy_node_id, const char*, deputy_attribute*) {
    return new deputy_status{DEPUTY_INVALID_ARGUMENT, "attributes are in the primitive"};
  };
  host.parallel_for = [](void*, int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
    for (int64_t begin = 0; begin < count;) {
      const int64_t end = count - begin > grain ? begin + grain : count;
      fn(job, begin, end, 0);
      begin = end;
    }
  };
  host.thread_count = [](void*) { return 1u; };
  host.clock_ns = [](void*) { return uint64_t{0}; };
  return host;
}

}  // namespace

size_t BytesPerElement(int32_t dtype) { return std::max<size_t>(1, sdk::SizeOf(static_cast<sdk::DType>(dtype))); }

const deputy_host* ShowingHost() {
  static const deputy_host host = MakeHost();
  return &host;
}

ShownGraph::ShownGraph(const PluginGraph& graph) : graph_(graph) {
  for (const PluginGraph::Value& value : graph_.values) AddValue(value);
  maker_.resize(values_.size(), DEPUTY_NO_NODE);
  for (const PluginGraph::Node& node : graph_.nodes) AddNode(node);
  // What no node makes is not there.
  outputs_.erase(std::remove_if(outputs_.begin(), outputs_.end(), [&](deputy_value_id id) { return !made_[id]; }),
                 outputs_.end());
}

void ShownGraph::AddValue(const PluginGraph::Value& value) {
  const auto id = static_cast<deputy_value_id>(values_.size());
  deputy_value_info info{};
  info.struct_size = sizeof info;
  info.id = id;
  info.name = Str(value.name);
  info.dtype = value.dtype;
  static constexpr int64_t kScalar[] = {0};
  if (value.ranked) {
    info.rank = static_cast<uint32_t>(value.dims.size());
    info.dims = value.dims.empty() ? kScalar : value.dims.data();
    const bool known = std::all_of(value.dims.begin(), value.dims.end(), [](int64_t extent) { return extent >= 0; });
    if (known) info.flags |= DEPUTY_VALUE_SHAPE_KNOWN;
  }
  if (value.role == PluginGraph::Role::kInput) {
    info.flags |= DEPUTY_VALUE_GRAPH_INPUT;
    inputs_.push_back(id);
  }
  if (value.role == PluginGraph::Role::kOutput) {
    info.flags |= DEPUTY_VALUE_GRAPH_OUTPUT;
    outputs_.push_back(id);
  }
  if (value.role == PluginGraph::Role::kConstant) {
    info.flags |= DEPUTY_VALUE_CONSTANT;
    const auto count = sdk::ElementCount(sdk::Span<const int64_t>(value.dims.data(), value.dims.size()));
    const uint64_t wanted = count ? static_cast<uint64_t>(*count) * BytesPerElement(value.dtype) : 0;
    info.byte_size = std::min(value.bytes.value_or(wanted), kMostConstantBytes);
    constants_.push_back(std::make_unique<unsigned char[]>(info.byte_size));
    FillConstant(value.dtype, constants_.back().get(), info.byte_size, value.numbers);
    if (!value.null) info.constant = constants_.back().get();
  }
  made_.push_back(value.role == PluginGraph::Role::kInput || value.role == PluginGraph::Role::kConstant);
  values_.push_back(info);
}

void ShownGraph::AddNode(const PluginGraph::Node& node) {
  const auto id = static_cast<deputy_node_id>(nodes_.size());
  std::vector<deputy_value_id>& inputs = lists_.emplace_back();
  for (const size_t value : node.inputs)
    inputs.push_back(value != PluginGraph::kNone && made_[value] ? static_cast<deputy_value_id>(value)
                                                                 : DEPUTY_NO_VALUE);
  std::vector<deputy_value_id>& outputs = lists_.emplace_back();
  for (const size_t value : node.outputs) {
    const bool free = value != PluginGraph::kNone && !made_[value];
    outputs.push_back(free ? static_cast<deputy_value_id>(value) : DEPUTY_NO_VALUE);
    if (!free) continue;
    made_[value] = true;
    maker_[value] = id;
  }
  primitives_.push_back(PrimitiveOf(node));
  deputy_node_info info{};
  info.struct_size = sizeof info;
  info.id = id;
  info.domain = Str(node.domain);
  info.op_type = Str(node.op);
  info.name = Str(node.op);
  info.since_version = static_cast<uint32_t>(node.version);
  info.flags = DEPUTY_NODE_OFFERED;
  info.input_count = static_cast<uint32_t>(inputs.size());
  info.output_count = static_cast<uint32_t>(outputs.size());
  info.inputs = inputs.data();
  info.outputs = outputs.data();
  info.primitive = primitives_.back().data();
  info.primitive_size = primitives_.back().size() * 8;
  nodes_.push_back(info);
}

ShownGraph::Border ShownGraph::BorderOf(const std::vector<deputy_node_id>& nodes) const {
  const auto inside = [&](deputy_node_id node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); };
  Border border;
  const auto add = [](std::vector<deputy_value_id>& list, deputy_value_id value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  };
  for (const deputy_node_info& node : nodes_)
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const deputy_value_id value = node.inputs[i];
      if (value == DEPUTY_NO_VALUE || (values_[value].flags & DEPUTY_VALUE_CONSTANT) != 0) continue;
      const bool from_inside = maker_[value] != DEPUTY_NO_NODE && inside(maker_[value]);
      if (inside(node.id) && !from_inside) add(border.inputs, value);
      if (!inside(node.id) && from_inside) add(border.outputs, value);
    }
  for (const deputy_value_id value : outputs_)
    if (maker_[value] != DEPUTY_NO_NODE && inside(maker_[value])) add(border.outputs, value);
  return border;
}

bool ShownGraph::IsClosed(const std::vector<deputy_node_id>& nodes) const {
  std::vector<bool> behind(values_.size());  // depends on the nodes, through one outside of them
  std::vector<bool> made(values_.size());    // by one of the nodes
  for (const deputy_node_info& node : nodes_) {
    const bool inside = std::find(nodes.begin(), nodes.end(), node.id) != nodes.end();
    bool follows = false;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const deputy_value_id value = node.inputs[i];
      if (value == DEPUTY_NO_VALUE) continue;
      if (inside && behind[value]) return false;
      follows = follows || behind[value] || (!inside && made[value]);
    }
    for (uint32_t i = 0; i < node.output_count; ++i) {
      if (node.outputs[i] == DEPUTY_NO_VALUE) continue;
      made[node.outputs[i]] = inside;
      behind[node.outputs[i]] = !inside && follows;
    }
  }
  return true;
}

std::vector<std::vector<deputy_node_id>> ShownGraph::QuantizedGroups() const {
  std::vector<std::vector<deputy_node_id>> groups;
  std::vector<bool> taken(nodes_.size());
  for (const deputy_node_info& node : nodes_) {
    if (IsQuantization(node, "DequantizeLinear") || IsQuantization(node, "QuantizeLinear") || taken[node.id]) continue;
    std::vector<deputy_node_id> group;
    for (const deputy_node_info& other : nodes_) {
      bool joined = other.id == node.id;
      for (uint32_t i = 0; i < node.input_count && IsQuantization(other, "DequantizeLinear"); ++i)
        joined = joined || (node.inputs[i] != DEPUTY_NO_VALUE && maker_[node.inputs[i]] == other.id);
      for (uint32_t i = 0; i < other.input_count && IsQuantization(other, "QuantizeLinear"); ++i)
        joined = joined || (other.inputs[i] != DEPUTY_NO_VALUE && maker_[other.inputs[i]] == node.id);
      if (joined && !taken[other.id]) group.push_back(other.id);
    }
    if (group.size() < 2) continue;
    for (const deputy_node_id member : group) taken[member] = true;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace deputy::fuzz
