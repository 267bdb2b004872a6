#include "isolation/remote_delegate.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include "isolation/remote_run.hpp"

namespace deputy::host {
namespace {

deputy_status* Probe(const deputy_delegate* self, const deputy_host* host) {
  return ForHost(host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    CallScope scope;
    scope.host = host;
    RemoteCall call(delegate.link(), Function::kProbe, scope);
    return call.Make(delegate.CallWith(host));
  });
}

deputy_status* Open(const deputy_delegate* self, const deputy_open_args* args, deputy_instance** out) {
  return ForHost(args->host, [&] {
    const RemoteDelegate& delegate = RemoteDelegate::Of(self);
    auto instance = std::make_unique<RemoteInstance>(delegate, args->host);
    CallScope scope;
    scope.host = args->host;
    const DelegateCallWith<deputy_open_args> message{delegate.CallWith(args->host), Whole(*args)};
    delegate.link().RememberHost(message.call.host.key, args->host);
    std::unique_ptr<Received<Reply<WireNumber>>> token;
    RemoteCall call(delegate.link(), Function::kOpen, scope);
    CallResult result = call.Make(message, token);
    if (result.failed) {
      delegate.link().ForgetHost(message.call.host.key);
      return result;
    }
    instance->token = (*token)->payload.value;
    // 0: the plugin succeeded without an instance, which the host reports.
    if (instance->token != 0) *out = reinterpret_cast<deputy_instance*>(instance.release());
    return result;
  });
}

void Close(deputy_instance* self) {
  const std::unique_ptr<RemoteInstance> instance(&RemoteInstance::Of(self));
  (void)CallObject(*instance, Function::kClose, instance->token, Nothing());
  instance->delegate.link().ForgetHost(reinterpret_cast<uintptr_t>(instance->host));
}

deputy_status* QuerySupport(deputy_instance* self, const deputy_graph* graph, const deputy_support_sink* sink) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    CallScope scope;
    scope.graph = graph;
    scope.support = sink;
    return CallObject(instance, Function::kQuerySupport, instance.token, Nothing(), scope);
  });
}

deputy_status* Compile(deputy_instance* self, const deputy_compile_args* args, deputy_executable** out) {
  RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    CallScope scope;
    scope.graph = args->partition->graph;
    scope.control = args->control;
    auto executable = std::make_unique<RemoteExecutable>(RemoteExecutable{instance, 0});
    std::unique_ptr<Received<Reply<WireNumber>>> token;
    CallResult result = CallObject(instance, Function::kCompile, instance.token, Whole(*args), scope, token);
    if (result.failed) return result;
    executable->token = (*token)->payload.value;
    if (executable->token != 0) *out = reinterpret_cast<deputy_executable*>(executable.release());
    return result;
  });
}

void ExecutableDestroy(deputy_executable* self) {
  const std::unique_ptr<RemoteExecutable> executable(&RemoteExecutable::Of(self));
  (void)CallObject(executable->instance, Function::kExecutableDestroy, executable->token, Nothing());
}

deputy_status* ContextCreate(deputy_executable* self, const deputy_context_args* args, deputy_context** out) {
  const RemoteExecutable& executable = RemoteExecutable::Of(self);
  return ForHost(executable.instance.host, [&] {
    auto context = std::make_unique<RemoteContext>(RemoteContext{executable.instance, 0});
    std::unique_ptr<Received<Reply<WireNumber>>> token;
    CallResult result =
        CallObject(executable.instance, Function::kContextCreate, executable.token, Whole(*args), {}, token);
    if (result.failed) return result;
    context->token = (*token)->payload.value;
    if (context->token != 0) *out = reinterpret_cast<deputy_context*>(context.release());
    return result;
  });
}

void ContextDestroy(deputy_context* self) {
  const std::unique_ptr<RemoteContext> context(&RemoteContext::Of(self));
  (void)CallObject(context->instance, Function::kContextDestroy, context->token, Nothing());
}

uint64_t ScratchSize(deputy_context* self) {
  const RemoteContext& context = RemoteContext::Of(self);
  std::unique_ptr<Received<Reply<WireNumber>>> size;
  const CallResult result = CallObject(context.instance, Function::kScratchSize, context.token, Nothing(), {}, size);
  return result.failed ? 0 : (*size)->payload.value;
}

void Cancel(deputy_context* self, uint64_t run) {
  const RemoteContext& context = RemoteContext::Of(self);
  context.instance.delegate.link().Cancel(Function::kCancel, context.token, run);
}

}  // namespace

RemoteDelegate::RemoteDelegate(WorkerLink& link, uint32_t index, DelegateForm& form)
    : link_(link), index_(index), form_(form) {
  FillCore();
  FillExtensions();
  FillRunExtensions();
  FillMemory();
  FillQueues();
}

deputy_str RemoteInstance::Keep(deputy_str text) {
  if (text.data == nullptr) return text;
  const std::lock_guard lock(mutex);
  constexpr size_t kMostTexts = 64;     // they do not change
  constexpr uint64_t kMostText = 4096;  // longer than the host takes
  std::string given(text.data, std::min(text.size, kMostText));
  if (texts.size() >= kMostTexts && texts.count(given) == 0) return {};
  const std::string& kept = *texts.insert(std::move(given)).first;
  return {kept.c_str(), kept.size()};
}

void RemoteDelegate::FillCore() {
  table_.struct_size = sizeof table_;
  table_.flags = form_.flags;
  table_.id = form_.id;
  table_.description = form_.description;
  table_.impl = this;
  table_.opsets = form_.opsets;
  table_.opset_count = form_.opset_count;
  if (form_.has_probe) table_.probe = Probe;
  if (form_.has_get_extension) table_.get_extension = GetExtension;
  table_.open = Open;
  table_.close = Close;
  table_.query_support = QuerySupport;
  table_.compile = Compile;
  table_.executable_destroy = ExecutableDestroy;
  table_.context_create = ContextCreate;
  table_.context_destroy = ContextDestroy;
  if (form_.has_scratch_size) table_.scratch_size = ScratchSize;
  table_.execute = RemoteExecute;
  if (form_.has_cancel) table_.cancel = Cancel;
}

const void* RemoteDelegate::GetExtension(const deputy_delegate* self, const char* id) {
  const RemoteDelegate& delegate = Of(self);
  const DelegateForm& form = delegate.form_;
  struct Known {
    std::string_view id;
    bool present;
    const void* table;
  };
  const Known known[] = {
      {DEPUTY_EXT_ASYNC, form.async.present, &delegate.async_},
      {DEPUTY_EXT_BLOB, form.blob.present, &delegate.blob_},
      {DEPUTY_EXT_CAPABILITIES, form.capabilities.present, &delegate.capabilities_},
      {DEPUTY_EXT_CONCURRENCY, form.concurrency.present, &delegate.concurrency_},
      {DEPUTY_EXT_DEVICE_CONTROL, form.device_control.present, &delegate.device_control_},
      {DEPUTY_EXT_DEVICES, form.devices.present, &delegate.devices_},
      {DEPUTY_EXT_ESTIMATE, form.estimate.present, &delegate.estimate_},
      {DEPUTY_EXT_MEMORY, form.memory.present, &delegate.memory_},
      {DEPUTY_EXT_OPERATORS, form.operators.present, &delegate.operators_},
      {DEPUTY_EXT_OPTIONS, form.options.present, &delegate.options_},
      {DEPUTY_EXT_PROFILING, form.profiling.present, &delegate.profiling_},
      {DEPUTY_EXT_PROPOSE, form.propose.present, &delegate.propose_},
      {DEPUTY_EXT_RESIZE, form.resize.present, &delegate.resize_},
      {DEPUTY_EXT_SCHEDULING, form.scheduling.present, &delegate.scheduling_},
  };
  for (const Known& one : known)
    if (one.present && one.id == id) return one.table;
  return nullptr;
}

}  // namespace deputy::host
