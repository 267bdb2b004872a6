#include "unit/sdk/fake_host.hpp"

#include <algorithm>
#include <cstring>

namespace fake {

using deputy::schema::AttributeType_Float;
using deputy::schema::AttributeType_Int;
using deputy::schema::AttributeType_Ints;
using deputy::schema::AttributeType_String;
using deputy::schema::AttributeType_Strings;
using deputy::schema::AttributeType_Tensor;
using deputy::schema::CreateAttributeDirect;

PrimitiveBytes& PrimitiveBytes::Int(const std::string& name, int64_t value) {
  attributes_.push_back(CreateAttributeDirect(builder_, name.c_str(), AttributeType_Int, value));
  return *this;
}
PrimitiveBytes& PrimitiveBytes::Float(const std::string& name, float value) {
  attributes_.push_back(CreateAttributeDirect(builder_, name.c_str(), AttributeType_Float, 0, value));
  return *this;
}
PrimitiveBytes& PrimitiveBytes::String(const std::string& name, const std::string& value) {
  attributes_.push_back(CreateAttributeDirect(builder_, name.c_str(), AttributeType_String, 0, 0, value.c_str()));
  return *this;
}
PrimitiveBytes& PrimitiveBytes::Ints(const std::string& name, const std::vector<int64_t>& values) {
  attributes_.push_back(CreateAttributeDirect(builder_, name.c_str(), AttributeType_Ints, 0, 0, nullptr, &values));
  return *this;
}
PrimitiveBytes& PrimitiveBytes::Strings(const std::string& name, const std::vector<std::string>& values) {
  std::vector<flatbuffers::Offset<deputy::schema::Text>> texts;
  for (const std::string& value : values) texts.push_back(deputy::schema::CreateTextDirect(builder_, value.c_str()));
  attributes_.push_back(
      CreateAttributeDirect(builder_, name.c_str(), AttributeType_Strings, 0, 0, nullptr, nullptr, nullptr, &texts));
  return *this;
}
PrimitiveBytes& PrimitiveBytes::Tensor(const std::string& name, int32_t dtype, const std::vector<int64_t>& dims,
                                       const std::vector<uint8_t>& bytes) {
  const auto tensor = deputy::schema::CreateTensorDataDirect(builder_, dtype, &dims, &bytes);
  attributes_.push_back(CreateAttributeDirect(builder_, name.c_str(), AttributeType_Tensor, 0, 0, nullptr, nullptr,
                                              nullptr, nullptr, tensor));
  return *this;
}

const std::vector<uint64_t>& PrimitiveBytes::Finish() {
  if (!finished_.empty()) return finished_;
  const auto domain = builder_.CreateString(domain_), op_type = builder_.CreateString(op_type_);
  const auto sorted = builder_.CreateVectorOfSortedTables(&attributes_);
  deputy::schema::FinishPrimitiveBuffer(builder_,
                                        deputy::schema::CreatePrimitive(builder_, domain, op_type, since_, sorted));
  finished_.resize((builder_.GetSize() + 7) / 8);
  std::memcpy(finished_.data(), builder_.GetBufferPointer(), builder_.GetSize());
  return finished_;
}

namespace {

Host& Of(void* self) { return *static_cast<Host*>(self); }
deputy_str Str(const std::string& text) { return {text.c_str(), text.size()}; }

}  // namespace

Host::Host() {
  table_.struct_size = sizeof table_;
  table_.abi_version = DEPUTY_ABI_VERSION;
  table_.self = this;
  table_.status_new = [](void*, deputy_code code, deputy_node_id node, const char* message, uint64_t size) {
    return new deputy_status{code, node, std::string(message, size)};
  };
  table_.log = [](void* self, deputy_log_level, const char* message, uint64_t size) {
    const std::lock_guard<std::mutex> lock(Of(self).mutex_);
    Of(self).log.emplace_back(message, size);
  };
  table_.get_extension = [](void* self, const char* id) -> const void* {
    const auto found = Of(self).extensions.find(id);
    return found == Of(self).extensions.end() ? nullptr : found->second;
  };
  table_.graph_node_count = [](void* self, const deputy_graph*) {
    return static_cast<uint32_t>(Of(self).nodes.size());
  };
  table_.graph_node_at = [](void*, const deputy_graph*, uint32_t index) { return deputy_node_id{index}; };
  table_.graph_node_info = [](void* self, const deputy_graph*, deputy_node_id id,
                              deputy_node_info* out) -> deputy_status* {
    const Node& node = Of(self).nodes[id];
    const auto& bytes = Of(self).primitives_[id].Finish();
    *out = {sizeof *out,
            id,
            Str(node.domain),
            Str(node.op_type),
            Str(node.op_type),
            node.since,
            node.offered ? uint32_t{DEPUTY_NODE_OFFERED} : 0,
            static_cast<uint32_t>(node.inputs.size()),
            static_cast<uint32_t>(node.outputs.size()),
            node.inputs.data(),
            node.outputs.data(),
            bytes.data(),
            bytes.size() * 8};
    return nullptr;
  };
  table_.graph_value_info = [](void* self, const deputy_graph*, deputy_value_id id,
                               deputy_value_info* out) -> deputy_status* {
    if (Of(self).fail_value_info) return new deputy_status{DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "no such value"};
    const Value& value = Of(self).values[id];
    const bool known = std::find(value.dims.begin(), value.dims.end(), -1) == value.dims.end();
    *out = {
        sizeof *out,
        id,
        Str(value.name),
        value.dtype,
        static_cast<uint32_t>(value.dims.size()),
        value.dims.data(),
        (known ? uint32_t{DEPUTY_VALUE_SHAPE_KNOWN} : 0) | (value.is_constant ? uint32_t{DEPUTY_VALUE_CONSTANT} : 0),
        0,
        value.is_constant ? value.constant.data() : nullptr,
        value.constant.size() * sizeof(float),
        nullptr,
        nullptr};
    return nullptr;
  };
  table_.graph_inputs = [](void* self, const deputy_graph*, uint32_t* count) -> const deputy_value_id* {
    *count = static_cast<uint32_t>(Of(self).inputs.size());
    return Of(self).inputs.data();
  };
  table_.graph_outputs = [](void* self, const deputy_graph*, uint32_t* count) -> const deputy_value_id* {
    *count = static_cast<uint32_t>(Of(self).outputs.size());
    return Of(self).outputs.data();
  };
  table_.node_attribute = [](void*, const deputy_graph*, deputy_node_id, const char*,
                             deputy_attribute*) -> deputy_status* { return nullptr; };
  table_.parallel_for = [](void*, int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
    for (int64_t begin = 0; begin < count; begin += grain) fn(job, begin, std::min(count, begin + grain), 0);
  };
  table_.thread_count = [](void*) { return 1u; };
  table_.clock_ns = [](void* self) { return Of(self).clock_ns; };
}

deputy_value_id Host::AddValue(const std::string& name, std::vector<int64_t> dims) {
  values.push_back({name, std::move(dims), {}, false});
  return static_cast<deputy_value_id>(values.size() - 1);
}
deputy_value_id Host::AddConstant(const std::string& name, std::vector<float> elements, std::vector<int64_t> dims) {
  if (dims.empty()) dims = {static_cast<int64_t>(elements.size())};
  values.push_back({name, std::move(dims), std::move(elements), true});
  return static_cast<deputy_value_id>(values.size() - 1);
}
deputy_node_id Host::AddNode(Node node) {
  primitives_.emplace_back(node.op_type, static_cast<int32_t>(node.since), node.domain);
  if (node.attributes) node.attributes(primitives_.back());
  nodes.push_back(std::move(node));
  return static_cast<deputy_node_id>(nodes.size() - 1);
}
void Host::AddChain(const std::vector<std::string>& op_types) {
  deputy_value_id last = AddValue("x");
  inputs = {last};
  for (const std::string& op_type : op_types) {
    const deputy_value_id next = AddValue("v" + std::to_string(values.size()));
    AddNode({op_type, {last}, {next}});
    last = next;
  }
  outputs = {last};
}

deputy_support_sink Host::support_sink() {
  return {sizeof(deputy_support_sink), 0, this,
          [](void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
            Of(self).answers[node] = {reason, std::string(deputy::sdk::ToView(detail))};
          }};
}

deputy_claim_sink Host::claim_sink() {
  return {sizeof(deputy_claim_sink), 0, this, [](void* self, const deputy_claim* claim) -> deputy_status* {
            if (Of(self).refuse_claims)
              return new deputy_status{DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "refused by the fake host"};
            Of(self).claims.push_back({{claim->nodes, claim->nodes + claim->node_count},
                                       {claim->inputs, claim->inputs + claim->input_count},
                                       {claim->outputs, claim->outputs + claim->output_count},
                                       claim->handle});
            return nullptr;
          }};
}

Opened::Opened(Host& host, const deputy_delegate* delegate,
               const std::vector<std::pair<std::string, std::string>>& options, const std::string& device,
               uint32_t flags)
    : host_(host), delegate_(delegate) {
  std::vector<deputy_kv> pairs;
  for (const auto& [key, value] : options) pairs.push_back({Str(key), Str(value)});
  const std::string name = "entry";
  const deputy_open_args args{sizeof args, flags, host.table(), Str(name), Str(device), pairs.data(), pairs.size(), 1};
  failure_.reset(delegate->open(delegate, &args, &instance_));
}

Opened::~Opened() {
  if (instance_ != nullptr) delegate_->close(instance_);
}

StatusPtr Opened::QuerySupport() {
  const deputy_support_sink sink = host_.support_sink();
  return StatusPtr(delegate_->query_support(instance_, host_.graph(), &sink));
}

StatusPtr Opened::Propose() {
  const deputy_claim_sink sink = host_.claim_sink();
  const auto* propose = static_cast<const deputy_ext_propose*>(delegate_->get_extension(delegate_, DEPUTY_EXT_PROPOSE));
  return StatusPtr(propose->propose(instance_, host_.graph(), &sink));
}

StatusPtr Opened::Release(const Claim& claim) {
  static_cast<const deputy_ext_propose*>(delegate_->get_extension(delegate_, DEPUTY_EXT_PROPOSE))
      ->claim_release(instance_, claim.handle);
  return nullptr;
}

StatusPtr Opened::Compile(const Claim& claim, deputy_executable** out) {
  const std::string name = "entry/0";
  const deputy_partition partition{sizeof partition,
                                   static_cast<uint32_t>(claim.nodes.size()),
                                   host_.graph(),
                                   claim.nodes.data(),
                                   claim.inputs.data(),
                                   claim.outputs.data(),
                                   static_cast<uint32_t>(claim.inputs.size()),
                                   static_cast<uint32_t>(claim.outputs.size()),
                                   claim.handle,
                                   Str(name)};
  const deputy::plain::PlainCompile call(&partition);
  return StatusPtr(delegate_->compile(instance_, call.args(), out));
}

StatusPtr Execute(const deputy_delegate* delegate, deputy_context* context,
                  const std::vector<std::vector<float>>& inputs, std::vector<std::vector<float>>& outputs,
                  uint64_t deadline_ns) {
  std::deque<deputy_tensor> tensors;
  std::deque<int64_t> dims;
  std::vector<const deputy_tensor*> in, out;
  const auto bind = [&](const std::vector<float>& values, std::vector<const deputy_tensor*>& list) {
    dims.push_back(static_cast<int64_t>(values.size()));
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = DEPUTY_DTYPE_FLOAT32;
    tensor.rank = 1;
    tensor.dims = &dims.back();
    tensor.data = const_cast<float*>(values.data());
    tensor.byte_size = values.size() * sizeof(float);
    tensors.push_back(tensor);
    list.push_back(&tensors.back());
  };
  for (const auto& values : inputs) bind(values, in);
  for (const auto& values : outputs) bind(values, out);
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.run = 1;
  args.input_count = static_cast<uint32_t>(in.size());
  args.output_count = static_cast<uint32_t>(out.size());
  args.inputs = in.data();
  args.outputs = out.data();
  args.deadline_ns = deadline_ns;
  return StatusPtr(delegate->execute(context, &args));
}

}  // namespace fake
