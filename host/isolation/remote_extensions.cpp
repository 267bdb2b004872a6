// The extensions of a delegate in a worker process that are about placement, options and the device.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "isolation/remote_delegate.hpp"
#include "isolation/remote_run.hpp"

namespace deputy::host {
namespace {

template <class T>
const T* RowAt(const Rows<T>& rows, uint32_t index) {
  return index < rows.rows.size() ? rows.rows[index] : nullptr;
}

deputy_status* GetOption(deputy_instance* self, deputy_str name, char* buffer, uint64_t capacity, uint64_t* size) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<WrittenText>>> text;
    CallResult result =
        CallObject(instance, Function::kGetOption, instance.token, TextRequest{name, capacity, *size}, {}, text);
    if (text != nullptr) CopyWritten((*text)->payload, buffer, capacity, size);
    return result;
  });
}

deputy_status* SetOption(deputy_instance* self, deputy_str name, deputy_str value) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    return CallObject(instance, Function::kSetOption, instance.token, OptionSetting{name, value});
  });
}

deputy_status* Propose(deputy_instance* self, const deputy_graph* graph, const deputy_claim_sink* sink) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    CallScope scope;
    scope.graph = graph;
    scope.claims = sink;
    return CallObject(instance, Function::kPropose, instance.token, Nothing(), scope);
  });
}

void ClaimRelease(deputy_instance* self, void* handle) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  (void)CallObject(instance, Function::kClaimRelease, instance.token, WireNumber{reinterpret_cast<uintptr_t>(handle)});
}

deputy_status* NameGroups(deputy_instance* self, const deputy_graph* graph, const deputy_group_sink* sink) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    CallScope scope;
    scope.graph = graph;
    scope.groups = sink;
    return CallObject(instance, Function::kGroups, instance.token, Nothing(), scope);
  });
}

deputy_status* EstimatePartition(deputy_instance* self, const deputy_partition* partition,
                                 const deputy_estimate_sink* sink) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    CallScope scope;
    scope.graph = partition->graph;
    scope.estimate = sink;
    return CallObject(instance, Function::kEstimate, instance.token, Whole(*partition), scope);
  });
}

deputy_status* Concurrency(deputy_instance* self, uint32_t* flags) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<WireNumber>>> number;
    CallResult result = CallObject(instance, Function::kConcurrency, instance.token, Nothing(), {}, number);
    if (!result.failed) *flags = static_cast<uint32_t>((*number)->payload.value);
    return result;
  });
}

deputy_status* DeviceState(deputy_instance* self, deputy_device_state* out) {
  RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<deputy_device_state>>> state;
    CallResult result = CallObject(instance, Function::kDeviceState, instance.token, Nothing(), {}, state);
    if (result.failed) return result;
    deputy_device_state full = (*state)->payload;
    full.device_name = instance.Keep(full.device_name);
    Fill(full, out);
    return result;
  });
}

deputy_status* Enumerate(const deputy_delegate* self, const deputy_host* host, const deputy_device_sink* sink) {
  return ForHost(host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    CallScope scope;
    scope.host = host;
    scope.devices = sink;
    RemoteCall call(delegate.link(), Function::kEnumerate, scope);
    return call.Make(delegate.CallWith(host));
  });
}

deputy_status* Infer(const deputy_delegate* self, const deputy_host* host, const deputy_graph* graph,
                     deputy_node_id node, const deputy_type_sink* sink) {
  return ForHost(host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    CallScope scope;
    scope.host = host;
    scope.graph = graph;
    scope.types = sink;
    RemoteCall call(delegate.link(), Function::kInfer, scope);
    return call.Make(DelegateCallWith<WireNumber>{delegate.CallWith(host), {node}});
  });
}

deputy_status* Compute(const deputy_delegate* self, const deputy_host* host, const deputy_graph* graph,
                       deputy_node_id node, const deputy_run_args* args) {
  return ForHost(host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    CallScope scope;
    scope.host = host;
    scope.graph = graph;
    scope.run = args;
    const RemotePluginOptions& options = delegate.link().options();
    const bool automatic = options.run_timeout == kAutomaticTimeout;
    CallDeadline limit(automatic ? RunLimit().For(0, options.call_timeout) : options.run_timeout, *args);
    RunTransfer run(*args);
    KnownPlaces none;
    run.Find(delegate.link(), none, limit);
    DelegateCallWith<NodeRun> message{delegate.CallWith(host), {node, {}}};
    RemoteCall call(delegate.link(), Function::kCompute, scope, limit);
    if (CallResult failure = run.Prepare(call); failure.failed) return failure;
    run.Fill(message.args.run);
    CallResult result = call.Make(message);
    if (!result.failed) run.Finish(call);
    return result;
  });
}

}  // namespace

void CopyWritten(const WrittenText& text, char* buffer, uint64_t capacity, uint64_t* size) {
  *size = text.size;
  const uint64_t count = text.bytes.data == nullptr ? 0 : std::min(text.bytes.size, capacity);
  if (count != 0) std::memcpy(buffer, text.bytes.data, count);
}

void RemoteDelegate::FillExtensions() {
  capabilities_.struct_size = form_.capabilities.struct_size;
  capabilities_.capability_count = Slot(
      form_.capabilities, 0, +[](const deputy_delegate* self) { return Of(self).form().capability_rows.counted; });
  capabilities_.capability_at = Slot(
      form_.capabilities, 1,
      +[](const deputy_delegate* self, uint32_t index) { return RowAt(Of(self).form().capability_rows, index); });
  options_.struct_size = form_.options.struct_size;
  options_.option_count = Slot(
      form_.options, 0, +[](const deputy_delegate* self) { return Of(self).form().option_rows.counted; });
  options_.option_at = Slot(
      form_.options, 1,
      +[](const deputy_delegate* self, uint32_t index) { return RowAt(Of(self).form().option_rows, index); });
  options_.get_option = Slot(form_.options, 2, GetOption);
  options_.set_option = Slot(form_.options, 3, SetOption);
  operators_.struct_size = form_.operators.struct_size;
  operators_.operator_count = Slot(
      form_.operators, 0, +[](const deputy_delegate* self) { return Of(self).form().operator_rows.counted; });
  operators_.operator_at = Slot(
      form_.operators, 1,
      +[](const deputy_delegate* self, uint32_t index) { return RowAt(Of(self).form().operator_rows, index); });
  operators_.infer = Slot(form_.operators, 2, Infer);
  operators_.compute = Slot(form_.operators, 3, Compute);
  concurrency_.struct_size = form_.concurrency.struct_size;
  concurrency_.concurrency = Slot(form_.concurrency, 0, Concurrency);
  device_control_.struct_size = form_.device_control.struct_size;
  device_control_.device_state = Slot(form_.device_control, 0, DeviceState);
  devices_.struct_size = form_.devices.struct_size;
  devices_.enumerate = Slot(form_.devices, 0, Enumerate);
  estimate_.struct_size = form_.estimate.struct_size;
  estimate_.estimate = Slot(form_.estimate, 0, EstimatePartition);
  propose_.struct_size = form_.propose.struct_size;
  propose_.propose = Slot(form_.propose, 0, Propose);
  propose_.claim_release = Slot(form_.propose, 1, ClaimRelease);
  propose_.groups = Slot(form_.propose, 2, NameGroups);
}

}  // namespace deputy::host
