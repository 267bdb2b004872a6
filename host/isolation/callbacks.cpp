// What the host answers while a call to a worker is in progress: the functions of deputy_host and of its extension, and
// of the sinks of the call.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/memory_file.hpp"
#include "delegate/kept_outputs.hpp"
#include "deputy/dtype.hpp"
#include "isolation/call.hpp"

namespace deputy::host {
namespace {

// Constants of at most this many bytes come along with the information about their value.
constexpr uint64_t kSmallConstant = 4096;
constexpr uint64_t kMostRead = 16u << 20;
constexpr uint32_t kMostRank = 64;

// The words of an answer.
template <class Payload>
std::vector<uint64_t> EncodeReply(const deputy_host& host, deputy_status* status, const Payload& payload) {
  Reply<Payload> reply{{}, payload};
  if (status != nullptr) {
    reply.outcome.failed = true;
    reply.outcome.code = host.status_code(host.self, status);
    reply.outcome.node = host.status_node(host.self, status);
    reply.outcome.message = host.status_message(host.self, status);
  }
  std::vector<uint64_t> words = Encode(reply);
  host.status_release(host.self, status);
  return words;
}

const deputy_ext_partition_helpers* HelpersOf(const deputy_host& host) {
  return static_cast<const deputy_ext_partition_helpers*>(host.get_extension(host.self, DEPUTY_EXT_PARTITION_HELPERS));
}

uint64_t KeyOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Collects groups of the host for the worker.
struct GroupList {
  std::vector<std::vector<uint32_t>> groups;

  static deputy_status* Add(void* self, const deputy_group* group) {
    static_cast<GroupList*>(self)->groups.emplace_back(group->nodes, group->nodes + group->node_count);
    return nullptr;
  }
};

// WireBytes of a tensor with these extents, or nothing when there are too many.
bool BytesOfOutput(deputy_dtype dtype, const int64_t* dims, uint32_t rank, uint64_t& bytes) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i)
    if (dims[i] < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dims[i]), &count)) return false;
  if (count > (uint64_t{1} << 48)) return false;
  bytes = BytesOf(static_cast<DType>(dtype), count);
  return true;
}

}  // namespace

template <class Payload>
bool RemoteCall::Answer(Function function, deputy_status* status, const Payload& payload,
                        const std::vector<int>& with) {
  answered_ = channel_->Answer(function, EncodeReply(*scope_.host, status, payload), with, limit_);
  if (answered_ == Transfer::kClosed) answered_ = Transfer::kDone;  // seen when the call goes on
  if (answered_ != Transfer::kTooLarge) return true;
  const deputy_host& host = *scope_.host;
  constexpr std::string_view kText = "the answer is too large for a worker process";
  status = host.status_new(host.self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, kText.data(), kText.size());
  answered_ = channel_->Answer(function, EncodeReply(host, status, Payload()), {}, limit_);
  if (answered_ == Transfer::kClosed) answered_ = Transfer::kDone;
  return true;
}

bool RemoteCall::TakeNotice(WireFrame frame) {
  if (frame.function == Function::kLog) {
    Received<LogForm> line(std::move(frame));
    if (!line.valid()) return false;
    const bool own = scope_.host != nullptr && line->host == KeyOf(scope_.host);
    const char* text = line->message.data == nullptr ? "" : line->message.data;
    const uint64_t size = line->message.data == nullptr ? 0 : line->message.size;
    if (own)
      scope_.host->log(scope_.host->self, line->level, text, size);
    else
      link_.Log(*line);
    return true;
  }
  if (frame.function == Function::kSupportAnswer && scope_.support != nullptr) {
    Received<SupportAnswer> answer(std::move(frame));
    if (answer.valid()) scope_.support->answer(scope_.support->self, answer->node, answer->reason, answer->detail);
    return answer.valid();
  }
  if (frame.function == Function::kEstimateAnswer && scope_.estimate != nullptr) {
    Received<deputy_estimate> estimate(std::move(frame));
    if (estimate.valid()) scope_.estimate->answer(scope_.estimate->self, &*estimate);
    return estimate.valid();
  }
  if (frame.function == Function::kProgress && scope_.control != nullptr) {
    Received<ProgressStep> step(std::move(frame));
    if (step.valid()) limit_.Advance(step->permille);
    if (step.valid() && DEPUTY_HAS_FN(scope_.control, deputy_control, progress))
      scope_.control->progress(scope_.control->self, step->permille, step->step);
    return step.valid();
  }
  return false;
}

bool RemoteCall::AnswerCallback(WireFrame frame) {
  if (scope_.host == nullptr || !frame.descriptors.empty()) return false;
  switch (frame.function) {
    case Function::kGraphOrder:
    case Function::kNodeInfo:
    case Function::kValueInfo:
    case Function::kGraphInputs:
    case Function::kGraphOutputs:
    case Function::kNodeAttribute: return scope_.graph != nullptr && AnswerGraph(frame);
    case Function::kConstantBytes:
    case Function::kConstantRead:
    case Function::kConstantFile: return scope_.graph != nullptr && AnswerConstant(frame);
    case Function::kCluster:
    case Function::kQuantizedGroups:
    case Function::kConstantRelease:
    case Function::kNamedData:
      return scope_.graph != nullptr && HelpersOf(*scope_.host) != nullptr && AnswerHelper(frame);
    case Function::kAllocateOutput: return scope_.run != nullptr && scope_.run->allocator != nullptr && Allocate(frame);
    default: return AnswerSink(frame);
  }
}

bool RemoteCall::AnswerGraph(WireFrame& frame) {
  const deputy_host& host = *scope_.host;
  const Function function = frame.function;
  if (function == Function::kNodeAttribute) {
    Received<AttributeName> asked(std::move(frame));
    if (!asked.valid() || asked->name.data == nullptr) return false;
    deputy_attribute attribute{};
    attribute.struct_size = sizeof attribute;
    deputy_status* status = host.node_attribute(host.self, scope_.graph, asked->node, asked->name.data, &attribute);
    return Answer(function, status, attribute);
  }
  Received<WireNumber> asked(std::move(frame));
  if (!asked.valid() || asked->value > UINT32_MAX) return false;
  const auto id = static_cast<uint32_t>(asked->value);
  if (function == Function::kNodeInfo) {
    NodeForm node;
    node.info.struct_size = sizeof node.info;
    deputy_status* status = host.graph_node_info(host.self, scope_.graph, id, &node.info);
    node.key = KeyOf(node.info.primitive);
    node.primitive = {static_cast<const uint8_t*>(node.info.primitive), node.info.primitive_size};
    return Answer(function, status, node);
  }
  if (function == Function::kValueInfo) {
    ValueForm value;
    value.info.struct_size = sizeof value.info;
    deputy_status* status = host.graph_value_info(host.self, scope_.graph, id, &value.info);
    value.key = KeyOf(value.info.constant);
    if (value.key != 0 && value.info.byte_size <= kSmallConstant)
      value.small = {static_cast<const uint8_t*>(value.info.constant), value.info.byte_size};
    return Answer(function, status, value);
  }
  Ids ids;
  std::vector<uint32_t> order;
  if (function == Function::kGraphOrder) {
    order.resize(host.graph_node_count(host.self, scope_.graph));
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = host.graph_node_at(host.self, scope_.graph, i);
    ids = {order.data(), order.size()};
  } else {
    uint32_t count = 0;
    const auto get = function == Function::kGraphInputs ? host.graph_inputs : host.graph_outputs;
    ids.ids = get(host.self, scope_.graph, &count);
    ids.count = count;
  }
  return Answer(function, nullptr, ids);
}

bool RemoteCall::AnswerConstant(WireFrame& frame) {
  const deputy_host& host = *scope_.host;
  const Function function = frame.function;
  if (function == Function::kConstantRead) {
    Received<ConstantRange> asked(std::move(frame));
    if (!asked.valid() || asked->size > kMostRead) return false;
    // Memory for bytes that the value has alone; the host refuses the others before it looks for memory.
    deputy_value_info info{};
    info.struct_size = sizeof info;
    host.status_release(host.self, host.graph_value_info(host.self, scope_.graph, asked->value, &info));
    const bool inside = asked->offset <= info.byte_size && asked->size <= info.byte_size - asked->offset;
    std::vector<uint8_t> bytes(inside ? asked->size : 0);
    deputy_status* status = host.constant_read(host.self, scope_.graph, asked->value, asked->offset, asked->size,
                                               inside ? bytes.data() : nullptr);
    return Answer(function, status, WireBytes{bytes.data(), status == nullptr ? asked->size : 0});
  }
  Received<WireNumber> asked(std::move(frame));
  if (!asked.valid() || asked->value > UINT32_MAX) return false;
  const auto id = static_cast<deputy_value_id>(asked->value);
  int32_t descriptor = -1;
  uint64_t offset = 0;
  deputy_status* status = host.constant_file(host.self, scope_.graph, id, &descriptor, &offset);
  if (status == nullptr)
    return Answer(function, nullptr, TwoNumbers{static_cast<uint32_t>(descriptor), offset}, {descriptor});
  if (function == Function::kConstantFile) return Answer(function, status, TwoNumbers());
  host.status_release(host.self, status);
  deputy_value_info info{};
  info.struct_size = sizeof info;
  status = host.graph_value_info(host.self, scope_.graph, id, &info);
  if (status != nullptr) return Answer(function, status, TwoNumbers());
  if (info.constant == nullptr) return false;  // only for values that have a key
  // One copy for all questions: those that the worker has not taken yet are in memory as well.
  if (const auto made = copies_.find(id); made != copies_.end())
    return Answer(function, nullptr, TwoNumbers(), {made->second.get()});
  auto copy = SealedCopy({static_cast<const uint8_t*>(info.constant), info.byte_size});
  if (copy.ok())
    return Answer(function, nullptr, TwoNumbers(), {copies_.emplace(id, *std::move(copy)).first->second.get()});
  const std::string text = copy.status().message();
  status = host.status_new(host.self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, text.data(), text.size());
  return Answer(function, status, TwoNumbers());
}

bool RemoteCall::AnswerHelper(WireFrame& frame) {
  const deputy_ext_partition_helpers& helpers = *HelpersOf(*scope_.host);
  const Function function = frame.function;
  if (function == Function::kCluster) {
    Received<Ids> wanted(std::move(frame));
    if (!wanted.valid() || wanted->count > UINT32_MAX) return false;
    // Memory for the nodes of the graph alone; the host refuses every other number of wishes.
    const uint32_t nodes = scope_.host->graph_node_count(scope_.host->self, scope_.graph);
    std::vector<uint32_t> cluster_of(std::max(nodes, 1u), DEPUTY_NO_CLUSTER);
    WireClusters clusters{{cluster_of.data(), nodes}, 0};
    deputy_status* status = helpers.cluster(helpers.self, scope_.graph, wanted->ids,
                                            static_cast<uint32_t>(wanted->count), cluster_of.data(), &clusters.count);
    return Answer(function, status, clusters);
  }
  if (function == Function::kQuantizedGroups) {
    GroupList list;
    const deputy_group_sink sink{sizeof sink, 0, &list, GroupList::Add};
    deputy_status* status = helpers.quantized_groups(helpers.self, scope_.graph, &sink);
    WireGroups groups;
    for (const std::vector<uint32_t>& nodes : list.groups) groups.groups.push_back({nodes.data(), nodes.size()});
    return Answer(function, status, groups);
  }
  if (function == Function::kNamedData) {
    Received<WireText> key(std::move(frame));
    if (!key.valid()) return false;
    const void* data = nullptr;
    uint64_t size = 0;
    deputy_status* status = helpers.named_data(helpers.self, scope_.graph, key->text, &data, &size);
    return Answer(function, status, NamedBytes{KeyOf(data), {static_cast<const uint8_t*>(data), size}});
  }
  Received<WireNumber> asked(std::move(frame));
  if (!asked.valid() || asked->value > UINT32_MAX) return false;
  return Answer(function,
                helpers.constant_release(helpers.self, scope_.graph, static_cast<deputy_value_id>(asked->value)),
                Nothing());
}

bool RemoteCall::AnswerSink(WireFrame& frame) {
  const Function function = frame.function;
  if (function == Function::kAddClaim && scope_.claims != nullptr) {
    Received<deputy_claim> claim(std::move(frame));
    return claim.valid() && Answer(function, scope_.claims->add(scope_.claims->self, &*claim), Nothing());
  }
  if (function == Function::kAddGroup && scope_.groups != nullptr) {
    Received<deputy_group> group(std::move(frame));
    return group.valid() && Answer(function, scope_.groups->add(scope_.groups->self, &*group), Nothing());
  }
  if (function == Function::kAddDevice && scope_.devices != nullptr) {
    Received<deputy_device_info> device(std::move(frame));
    return device.valid() && Answer(function, scope_.devices->add(scope_.devices->self, &*device), Nothing());
  }
  if (function == Function::kSetOutputType && scope_.types != nullptr) {
    Received<OutputShape> type(std::move(frame));
    if (!type.valid()) return false;
    return Answer(function,
                  scope_.types->set_output(scope_.types->self, type->output, type->dtype, type->dims, type->rank),
                  Nothing());
  }
  if (function == Function::kAddDebugIds && scope_.debug_map != nullptr) {
    Received<DebugIds> ids(std::move(frame));
    if (!ids.valid()) return false;
    return Answer(function, scope_.debug_map->add(scope_.debug_map->self, ids->id, ids->nodes.ids, ids->nodes.count),
                  Nothing());
  }
  if (function == Function::kWriteBlob && scope_.blob != nullptr) {
    Received<WireBytes> bytes(std::move(frame));
    return bytes.valid() &&
           Answer(function, scope_.blob->write(scope_.blob->self, bytes->data, bytes->size), Nothing());
  }
  return false;
}

bool RemoteCall::Allocate(WireFrame& frame) {
  Received<OutputShape> asked(std::move(frame));
  if (!asked.valid() || asked->rank > kMostRank || (asked->dims == nullptr && asked->rank != 0)) return false;
  const Function function = Function::kAllocateOutput;
  // An output is allocated once: what is kept for each is bounded by their number. A second time is refused once.
  for (Allocated& output : allocated_)
    if (output.output == asked->output) {
      if (std::exchange(output.refused, true)) return false;
      const std::string text = fmt::format("it allocates output {} twice", asked->output);
      const deputy_host& host = *scope_.host;
      return Answer(function,
                    host.status_new(host.self, DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, text.data(), text.size()),
                    TwoNumbers());
    }
  const deputy_output_allocator& allocator = *scope_.run->allocator;
  void* data = nullptr;
  const int64_t scalar = 0;  // dims of rank 0
  const int64_t* dims = asked->dims == nullptr ? &scalar : asked->dims;
  deputy_status* status = allocator.allocate(allocator.self, asked->output, dims, asked->rank, &data);
  if (status != nullptr || data == nullptr) return Answer(function, status, TwoNumbers());
  // The host has accepted these extents, so they are those of an output.
  uint64_t size = 0;
  if (asked->output >= scope_.run->output_count || scope_.run->outputs[asked->output] == nullptr ||
      !BytesOfOutput(scope_.run->outputs[asked->output]->dtype, dims, asked->rank, size))
    return false;
  SharedRegion& region = channel_->outputs[asked->output];
  if (const Status grown = region.Ensure(size, &link_.memory()); !grown.ok()) {
    const deputy_host& host = *scope_.host;
    status = host.status_new(host.self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, grown.message().data(),
                             grown.message().size());
    return Answer(function, status, TwoNumbers());
  }
  if (KeptOutputs::AreWanted() && size != 0) std::memcpy(region.data(), data, size);
  allocated_.push_back({asked->output, data, size, false});
  const int descriptor = region.TakeNew();
  return Answer(function, nullptr, TwoNumbers{size, region.size()},
                descriptor < 0 ? std::vector<int>() : std::vector<int>{descriptor});
}

}  // namespace deputy::host
