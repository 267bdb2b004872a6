// Calls of the host with a graph: support query, proposals, estimates, compilation, and a vendor's own operators.
#include <algorithm>
#include <utility>

#include "worker/served_calls.hpp"

namespace deputy::host {
namespace {

// Sinks of a call: their `self` is the channel, or has it.
void AnswerSupport(void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
  if (detail.data == nullptr) detail.size = 0;
  static_cast<HostChannel*>(self)->Notify(Function::kSupportAnswer, SupportAnswer{node, reason, Cut(detail)});
}

void AnswerEstimate(void* self, const deputy_estimate* estimate) {
  deputy_estimate whole = estimate == nullptr ? deputy_estimate{} : Whole(*estimate);
  whole.reason = Cut(whole.reason);
  static_cast<HostChannel*>(self)->Notify(Function::kEstimateAnswer, whole);
}

deputy_status* AddGroup(void* self, const deputy_group* group) {
  const deputy_group whole = group == nullptr ? deputy_group{} : Whole(*group);
  return static_cast<HostChannel*>(self)->Ask(Function::kAddGroup, whole);
}

deputy_status* AddDevice(void* self, const deputy_device_info* device) {
  deputy_device_info whole = device == nullptr ? deputy_device_info{} : Whole(*device);
  for (deputy_str* text : {&whole.id, &whole.name, &whole.driver}) *text = Cut(*text);
  return static_cast<HostChannel*>(self)->Ask(Function::kAddDevice, whole);
}

deputy_status* SetOutput(void* self, uint32_t output, deputy_dtype dtype, const int64_t* dims, uint32_t rank) {
  constexpr uint32_t kMostRank = 1024;  // more than the host takes
  return static_cast<HostChannel*>(self)->Ask(Function::kSetOutputType,
                                              OutputShape{output, dtype, dims, std::min(rank, kMostRank)});
}

struct ClaimTarget {
  HostChannel& channel;
  ServedClaims& claims;
  std::shared_ptr<Keep> keep;

  static deputy_status* Add(void* self, const deputy_claim* claim) {
    auto& target = *static_cast<ClaimTarget*>(self);
    deputy_claim whole = claim == nullptr ? deputy_claim{} : Whole(*claim);
    if (whole.handle == nullptr) return target.channel.Ask(Function::kAddClaim, whole);
    const auto [token, added] = target.claims.Add(whole.handle, target.keep);
    whole.handle = reinterpret_cast<void*>(static_cast<uintptr_t>(token));
    deputy_status* refused = target.channel.Ask(Function::kAddClaim, whole);
    if (refused != nullptr && added) target.claims.Remove(token);
    return refused;
  }
};

}  // namespace

deputy_control ServedCall::control() {
  return {sizeof(deputy_control), 0, &channel_,
          [](void* self) -> uint32_t { return static_cast<HostChannel*>(self)->cancelled() ? 1 : 0; },
          [](void* self, uint32_t permille, deputy_str step) {
            static_cast<HostChannel*>(self)->Notify(Function::kProgress, ProgressStep{permille, Cut(step)});
          }};
}

ReplyWords ServedCall::QuerySupport(ServedInstance& instance) {
  GraphMirror graph(channel_, plugin_.store());
  const deputy_support_sink sink{sizeof sink, 0, &channel_, AnswerSupport};
  const deputy_delegate& table = *instance.delegate->table;
  return ReplyWith(Invoke(table.query_support, "query_support",
                          [&] { return table.query_support(instance.raw, graph.handle(), &sink); }));
}

ReplyWords ServedCall::Propose(ServedInstance& instance) {
  GraphMirror graph(channel_, plugin_.store());
  ClaimTarget target{channel_, instance.claims, graph.keep()};
  const deputy_claim_sink sink{sizeof sink, 0, &target, ClaimTarget::Add};
  const deputy_ext_propose& propose = *instance.delegate->propose;
  return ReplyWith(
      Invoke(propose.propose, "propose", [&] { return propose.propose(instance.raw, graph.handle(), &sink); }));
}

ReplyWords ServedCall::NameGroups(ServedInstance& instance) {
  GraphMirror graph(channel_, plugin_.store());
  const deputy_group_sink sink{sizeof sink, 0, &channel_, AddGroup};
  const deputy_ext_propose& propose = *instance.delegate->propose;
  return ReplyWith(
      Invoke(propose.groups, "groups", [&] { return propose.groups(instance.raw, graph.handle(), &sink); }));
}

ReplyWords ServedCall::EstimatePartition(WireFrame frame) {
  const auto message = Decode<ObjectCall<deputy_partition>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr) EndWorker();
  GraphMirror graph(channel_, plugin_.store());
  deputy_partition& partition = (*message)->args;
  partition.graph = graph.handle();
  const auto [handle, keep] = instance->claims.Find(reinterpret_cast<uintptr_t>(partition.claim));
  partition.claim = handle;
  const deputy_estimate_sink sink{sizeof sink, 0, &channel_, AnswerEstimate};
  const deputy_ext_estimate& estimate = *instance->delegate->estimate;
  return ReplyWith(
      Invoke(estimate.estimate, "estimate", [&] { return estimate.estimate(instance->raw, &partition, &sink); }));
}

ReplyWords ServedCall::Compile(WireFrame frame) {
  const auto message = Decode<ObjectCall<deputy_compile_args>>(std::move(frame));
  auto executable = std::make_shared<ServedExecutable>();
  executable->instance = plugin_.instances.Find((*message)->object);
  if (executable->instance == nullptr || (*message)->args.partition == nullptr) EndWorker();
  ServedInstance& instance = *executable->instance;
  GraphMirror graph(channel_, plugin_.store());
  deputy_compile_args& args = (*message)->args;
  deputy_partition partition = *args.partition;
  const auto token = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(partition.claim));
  const auto [handle, keep] = instance.claims.Find(token);
  partition.claim = handle;
  partition.graph = graph.handle();
  args.partition = &partition;
  const deputy_control own = control();
  if (args.control != nullptr) args.control = &own;
  executable->keeps = {graph.keep(), keep};
  const deputy_delegate& table = *instance.delegate->table;
  instance.claims.Remove(token);  // consumed in every case, and its address may be used again
  const StatusHandle status =
      Invoke(table.compile, "compile", [&] { return table.compile(instance.raw, &args, &executable->raw); });
  if (status != nullptr || executable->raw == nullptr) return ReplyWith(status, WireNumber());
  return ReplyWith(status, WireNumber{plugin_.executables.Add(std::move(executable))});
}

ReplyWords ServedCall::Restore(WireFrame frame) {
  const auto message = Decode<ObjectCall<RestoreForm>>(std::move(frame));
  auto executable = std::make_shared<ServedExecutable>();
  executable->instance = plugin_.instances.Find((*message)->object);
  deputy_compile_args& args = (*message)->args.args;
  if (executable->instance == nullptr || args.partition == nullptr || message->descriptors().size() != 1) EndWorker();
  ServedInstance& instance = *executable->instance;
  GraphMirror graph(channel_, plugin_.store());
  deputy_partition partition = *args.partition;
  const auto [handle, keep] = instance.claims.Find(reinterpret_cast<uintptr_t>(partition.claim));
  partition.claim = handle;
  partition.graph = graph.handle();
  args.partition = &partition;
  const deputy_control own = control();
  if (args.control != nullptr) args.control = &own;
  auto blob = std::make_unique<ServedBlob>();
  blob->host = instance.host->table();
  const uint64_t size = (*message)->args.size;
  blob->bytes = Mapping::Of(message->descriptors().front().get(), 0, size, false);
  const deputy_blob given{sizeof given, 0,          blob->bytes == nullptr ? nullptr : blob->bytes->data(),
                          size,         blob.get(), ServedBlob::Release};
  executable->keeps = {graph.keep(), keep};
  const deputy_ext_blob& table = *instance.delegate->blob;
  StatusHandle status;
  if (blob->bytes == nullptr && size != 0) {
    blob->released = 1;
    status.reset(NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "the blob cannot be mapped"));
  } else {
    status =
        Invoke(table.restore, "restore", [&] { return table.restore(instance.raw, &args, &given, &executable->raw); });
  }
  if (status != nullptr || executable->raw == nullptr) return ReplyWith(status, WireNumber());
  executable->blob = std::move(blob);
  return ReplyWith(status, WireNumber{plugin_.executables.Add(std::move(executable))});
}

ReplyWords ServedCall::Infer(WireFrame frame) {
  const auto message = Decode<DelegateCallWith<WireNumber>>(std::move(frame));
  const ServedDelegate& delegate = plugin_.delegate((*message)->call.delegate);
  WorkerHost* host = plugin_.hosts().Acquire((*message)->call.host);
  GraphMirror graph(channel_, plugin_.store());
  const deputy_type_sink sink{sizeof sink, 0, &channel_, SetOutput};
  const auto node = static_cast<deputy_node_id>((*message)->args.value);
  const StatusHandle status = Invoke(delegate.operators->infer, "infer", [&] {
    return delegate.operators->infer(delegate.table, host->table(), graph.handle(), node, &sink);
  });
  plugin_.hosts().Release(host);
  return ReplyWith(status);
}

ReplyWords ServedCall::Enumerate(const ServedDelegate& delegate, WorkerHost& host) {
  const deputy_device_sink sink{sizeof sink, 0, &channel_, AddDevice};
  return ReplyWith(Invoke(delegate.devices->enumerate, "enumerate",
                          [&] { return delegate.devices->enumerate(delegate.table, host.table(), &sink); }));
}

}  // namespace deputy::host
