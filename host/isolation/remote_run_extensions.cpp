// The extensions of a delegate in a worker process that are about blobs, resizing and profiling.
#include <memory>

#include "base/memory_file.hpp"
#include "isolation/remote_delegate.hpp"
#include "isolation/remote_run.hpp"

namespace deputy::host {
namespace {

deputy_status* Compatibility(deputy_instance* self, char* buffer, uint64_t capacity, uint64_t* size) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<WrittenText>>> text;
    CallResult result =
        CallObject(instance, Function::kBlobCompatibility, instance.token, TextRequest{{}, capacity, *size}, {}, text);
    if (text != nullptr) CopyWritten((*text)->payload, buffer, capacity, size);
    return result;
  });
}

deputy_status* Check(const deputy_delegate* self, const deputy_host* host, deputy_str compatibility) {
  return ForHost(host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    CallScope scope;
    scope.host = host;
    RemoteCall call(delegate.link(), Function::kBlobCheck, scope);
    return call.Make(DelegateCallWith<WireText>{delegate.CallWith(host), {compatibility}});
  });
}

deputy_status* Serialize(deputy_executable* self, const deputy_blob_sink* sink) {
  const RemoteExecutable& executable = RemoteExecutable::Of(self);
  return ForHost(executable.instance.host, [&] {
    CallScope scope;
    scope.blob = sink;
    return CallObject(executable.instance, Function::kBlobSerialize, executable.token, Nothing(), scope);
  });
}

// The worker has a copy of its own, so the host's bytes are released before the call.
deputy_status* Restore(deputy_instance* self, const deputy_compile_args* args, const deputy_blob* blob,
                       deputy_executable** out) {
  RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    const uint64_t size = blob->size;
    auto bytes = SealedCopy({static_cast<const uint8_t*>(blob->data), size});
    blob->release(blob->owner);
    if (!bytes.ok()) return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, bytes.status().message());
    CallScope scope;
    scope.host = instance.host;
    scope.graph = args->partition->graph;
    scope.control = args->control;
    auto executable = std::make_unique<RemoteExecutable>(RemoteExecutable{instance, 0});
    RemoteCall call(instance.delegate.link(), Function::kBlobRestore, scope);
    call.Attach(bytes->get());
    std::unique_ptr<Received<Reply<WireNumber>>> token;
    CallResult result = call.Make(ObjectCall<RestoreForm>{instance.token, {Whole(*args), size}}, token);
    if (result.failed) return result;
    executable->token = (*token)->payload.value;
    if (executable->token != 0) *out = reinterpret_cast<deputy_executable*>(executable.release());
    return result;
  });
}

deputy_status* Resize(deputy_context* self, const deputy_resize_args* args, deputy_resize_outcome* outcome) {
  const RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    std::unique_ptr<Received<Reply<WireNumber>>> number;
    CallResult result = CallObject(context.instance, Function::kResize, context.token, Whole(*args), {}, number);
    if (!result.failed) RemoteContext::Of(self).limit.Reset();
    if (number != nullptr) *outcome = static_cast<deputy_resize_outcome>((*number)->payload.value);
    return result;
  });
}

deputy_status* AddDebugMap(deputy_executable* self, const deputy_debug_map_sink* sink) {
  const RemoteExecutable& executable = RemoteExecutable::Of(self);
  return ForHost(executable.instance.host, [&] {
    CallScope scope;
    scope.debug_map = sink;
    return CallObject(executable.instance, Function::kDebugMap, executable.token, Nothing(), scope);
  });
}

deputy_status* SetProfiling(deputy_context* self, const deputy_profile_sink* sink) {
  RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    std::unique_ptr<Received<Reply<Events>>> events;
    CallResult result = CallObject(context.instance, Function::kSetProfiling, context.token,
                                   WireNumber{sink != nullptr ? 1u : 0u}, {}, events);
    if (events != nullptr) Deliver((*events)->payload, context.sink);
    if (!result.failed) context.sink = sink;
    return result;
  });
}

deputy_status* Collect(deputy_context* self, const deputy_profile_sink* sink) {
  const RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    std::unique_ptr<Received<Reply<Events>>> events;
    CallResult result = CallObject(context.instance, Function::kCollect, context.token, Nothing(), {}, events);
    if (events != nullptr) Deliver((*events)->payload, sink);
    return result;
  });
}

deputy_status* Correlate(deputy_instance* self, uint64_t* device_ns, uint64_t* host_ns) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<TwoNumbers>>> times;
    CallResult result = CallObject(instance, Function::kCorrelate, instance.token, Nothing(), {}, times);
    if (result.failed) return result;
    *device_ns = (*times)->payload.first;
    *host_ns = (*times)->payload.second;
    return result;
  });
}

}  // namespace

void RemoteDelegate::FillRunExtensions() {
  blob_.struct_size = form_.blob.struct_size;
  blob_.flags = form_.blob.flags;
  blob_.compatibility = Slot(form_.blob, 0, Compatibility);
  blob_.check = Slot(form_.blob, 1, Check);
  blob_.serialize = Slot(form_.blob, 2, Serialize);
  blob_.restore = Slot(form_.blob, 3, Restore);
  resize_.struct_size = form_.resize.struct_size;
  resize_.resize = Slot(form_.resize, 0, Resize);
  profiling_.struct_size = form_.profiling.struct_size;
  profiling_.debug_map = Slot(form_.profiling, 0, AddDebugMap);
  profiling_.set_profiling = Slot(form_.profiling, 1, SetProfiling);
  profiling_.collect = Slot(form_.profiling, 2, Collect);
  profiling_.correlate = Slot(form_.profiling, 3, Correlate);
}

}  // namespace deputy::host
