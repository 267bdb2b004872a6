#include "worker/served_calls.hpp"

#include <string>

namespace deputy::host {
namespace {

template <class T>
T& Existing(const std::shared_ptr<T>& object) {
  if (object == nullptr) EndWorker();
  return *object;
}

}  // namespace

ReplyWords ServedCall::Serve(WireFrame frame) {
  switch (frame.function) {
    case Function::kDescribe:
    case Function::kInit:
    case Function::kShutdown: return ServePlugin(std::move(frame));
    case Function::kShareRegion: return TakeRegion(std::move(frame));
    case Function::kProbe:
    case Function::kOpen:
    case Function::kBlobCheck:
    case Function::kEnumerate:
    case Function::kInfer:
    case Function::kCompute: return ServeDelegate(std::move(frame));
    case Function::kExecutableDestroy:
    case Function::kContextCreate:
    case Function::kBlobSerialize:
    case Function::kDebugMap: return ServeExecutable(std::move(frame));
    case Function::kContextDestroy:
    case Function::kScratchSize:
    case Function::kExecute:
    case Function::kExecuteAgain:
    case Function::kSetProfiling:
    case Function::kCollect:
    case Function::kResize:
    case Function::kWishOf: return ServeContext(std::move(frame));
    default: return ServeInstance(std::move(frame));
  }
}

ReplyWords ServedCall::ServePlugin(WireFrame frame) {
  const deputy_plugin& table = plugin_.table();
  if (frame.function == Function::kInit) {
    const auto message = Decode<HostForm>(std::move(frame));
    const deputy_host* host = plugin_.hosts().Acquire(**message)->table();
    return ReplyWith(Invoke(table.init, "init", [&] { return table.init(&table, host); }));
  }
  if (frame.function == Function::kShutdown) {
    InvokeVoid(table.shutdown, "shutdown", [&] { table.shutdown(&table); });
    return ReplyWith(nullptr);
  }
  PluginForm form;
  const std::string fault = plugin_.Describe(form);
  const StatusHandle status(fault.empty() ? nullptr : NewStatus(DEPUTY_INTERNAL, DEPUTY_NO_NODE, fault));
  return ReplyWith(status, form);
}

ReplyWords ServedCall::ServeDelegate(WireFrame frame) {
  switch (frame.function) {
    case Function::kOpen: return Open(std::move(frame));
    case Function::kInfer: return Infer(std::move(frame));
    case Function::kCompute: return Compute(std::move(frame));
    case Function::kBlobCheck: {
      const auto message = Decode<DelegateCallWith<WireText>>(std::move(frame));
      const ServedDelegate& delegate = plugin_.delegate((*message)->call.delegate);
      WorkerHost* host = plugin_.hosts().Acquire((*message)->call.host);
      const StatusHandle status = Invoke(delegate.blob->check, "check", [&] {
        return delegate.blob->check(delegate.table, host->table(), (*message)->args.text);
      });
      plugin_.hosts().Release(host);
      return ReplyWith(status);
    }
    default: {
      const bool probe = frame.function == Function::kProbe;
      const auto message = Decode<DelegateCall>(std::move(frame));
      const ServedDelegate& delegate = plugin_.delegate((*message)->delegate);
      WorkerHost* host = plugin_.hosts().Acquire((*message)->host);
      ReplyWords reply = probe ? ReplyWith(Invoke(delegate.table->probe, "probe",
                                                  [&] { return delegate.table->probe(delegate.table, host->table()); }))
                               : Enumerate(delegate, *host);
      plugin_.hosts().Release(host);
      return reply;
    }
  }
}

ReplyWords ServedCall::Open(WireFrame frame) {
  const auto message = Decode<DelegateCallWith<deputy_open_args>>(std::move(frame));
  auto instance = std::make_shared<ServedInstance>();
  instance->delegate = &plugin_.delegate((*message)->call.delegate);
  instance->host = plugin_.hosts().Acquire((*message)->call.host);
  deputy_open_args& args = (*message)->args;
  args.host = instance->host->table();
  const deputy_delegate* table = instance->delegate->table;
  const StatusHandle status = Invoke(table->open, "open", [&] { return table->open(table, &args, &instance->raw); });
  if (status != nullptr || instance->raw == nullptr) {
    plugin_.hosts().Release(instance->host);
    return ReplyWith(status, WireNumber());
  }
  return ReplyWith(status, WireNumber{plugin_.instances.Add(std::move(instance))});
}

ReplyWords ServedCall::Close(uint64_t token) {
  const std::shared_ptr<ServedInstance> instance = plugin_.instances.Take(token);
  const deputy_delegate* table = Existing(instance).delegate->table;
  InvokeVoid(table->close, "close", [&] { table->close(instance->raw); });
  plugin_.hosts().Release(instance->host);
  return ReplyWith(nullptr);
}

ReplyWords ServedCall::ServeInstance(WireFrame frame) {
  const Function function = frame.function;
  switch (function) {
    case Function::kCompile: return Compile(std::move(frame));
    case Function::kBlobRestore: return Restore(std::move(frame));
    case Function::kAllocateBuffer: return AllocateBuffer(std::move(frame));
    case Function::kImportBuffer: return ImportBuffer(std::move(frame));
    case Function::kReleaseBuffer: return ReleaseBuffer(std::move(frame));
    case Function::kCopyBytes: return CopyBytes(std::move(frame));
    case Function::kChooseRun: return ChooseRun(std::move(frame));
    case Function::kEstimate: return EstimatePartition(std::move(frame));
    case Function::kGetOption:
    case Function::kBlobCompatibility: return GetText(std::move(frame));
    case Function::kSetOption: {
      const auto message = Decode<ObjectCall<OptionSetting>>(std::move(frame));
      const auto instance = plugin_.instances.Find((*message)->object);
      const deputy_ext_options* options = Existing(instance).delegate->options;
      return ReplyWith(Invoke(options->set_option, "set_option", [&] {
        return options->set_option(instance->raw, (*message)->args.name, (*message)->args.value);
      }));
    }
    case Function::kClaimRelease: {
      const auto message = Decode<ObjectCall<WireNumber>>(std::move(frame));
      const auto instance = plugin_.instances.Find((*message)->object);
      const deputy_ext_propose* propose = Existing(instance).delegate->propose;
      void* handle = instance->claims.Find((*message)->args.value).first;
      instance->claims.Remove((*message)->args.value);  // the plugin may use the address again
      InvokeVoid(propose->claim_release, "claim_release", [&] { propose->claim_release(instance->raw, handle); });
      return ReplyWith(nullptr);
    }
    default: break;
  }
  const auto message = Decode<ObjectCall<Nothing>>(std::move(frame));
  if (function == Function::kClose) return Close((*message)->object);
  const std::shared_ptr<ServedInstance> held = plugin_.instances.Find((*message)->object);
  ServedInstance& instance = Existing(held);
  const ServedDelegate& delegate = *instance.delegate;
  switch (function) {
    case Function::kQuerySupport: return QuerySupport(instance);
    case Function::kPropose: return Propose(instance);
    case Function::kGroups: return NameGroups(instance);
    case Function::kConcurrency: {
      uint32_t flags = 0;
      const StatusHandle status = Invoke(delegate.concurrency->concurrency, "concurrency",
                                         [&] { return delegate.concurrency->concurrency(instance.raw, &flags); });
      return ReplyWith(status, WireNumber{flags});
    }
    case Function::kQueueLimits: {
      deputy_queue_limits limits{};
      limits.struct_size = sizeof limits;
      limits.queue_count = limits.most_runs_in_flight = limits.most_runs_per_context = 1;
      const StatusHandle status = Invoke(delegate.scheduling->limits, "limits",
                                         [&] { return delegate.scheduling->limits(instance.raw, &limits); });
      limits.struct_size = sizeof limits;
      limits.exclusive_group = status != nullptr ? deputy_str() : Cut(limits.exclusive_group);
      return ReplyWith(status, limits);
    }
    case Function::kDeviceState: {
      deputy_device_state state{};
      state.struct_size = sizeof state;
      const StatusHandle status = Invoke(delegate.device_control->device_state, "device_state",
                                         [&] { return delegate.device_control->device_state(instance.raw, &state); });
      if (status != nullptr) state = {};
      state.device_name = Cut(state.device_name);
      return ReplyWith(status, state);
    }
    case Function::kCorrelate: {
      TwoNumbers times;
      const StatusHandle status = Invoke(delegate.profiling->correlate, "correlate", [&] {
        return delegate.profiling->correlate(instance.raw, &times.first, &times.second);
      });
      return ReplyWith(status, times);
    }
    default: EndWorker();
  }
}

ReplyWords ServedCall::ChooseRun(WireFrame frame) {
  const auto message = Decode<ObjectCall<ReadyRuns>>(std::move(frame));
  const auto held = plugin_.instances.Find((*message)->object);
  ServedInstance& instance = Existing(held);
  const ReadyRuns& ready = (*message)->args;
  std::vector<std::shared_ptr<ServedContext>> contexts;
  for (uint32_t i = 0; i < ready.count; ++i) {
    // Decoded just now, and this process' own.
    auto& run = const_cast<deputy_ready_run&>(*ready.runs[i]);
    contexts.push_back(plugin_.contexts.Find(reinterpret_cast<uintptr_t>(run.context)));
    run.context = Existing(contexts.back()).raw;
  }
  const deputy_ext_scheduling& scheduling = *instance.delegate->scheduling;
  uint32_t chosen = 0, queue = 0;
  const StatusHandle status = Invoke(scheduling.choose, "choose", [&] {
    return scheduling.choose(instance.raw, ready.runs, ready.count, &chosen, &queue);
  });
  return ReplyWith(status, TwoNumbers{chosen, queue});
}

ReplyWords ServedCall::ServeExecutable(WireFrame frame) {
  const Function function = frame.function;
  if (function == Function::kContextCreate) return ContextCreate(std::move(frame));
  const auto message = Decode<ObjectCall<Nothing>>(std::move(frame));
  if (function == Function::kExecutableDestroy) {
    const std::shared_ptr<ServedExecutable> executable = plugin_.executables.Take((*message)->object);
    const deputy_delegate* table = Existing(executable).instance->delegate->table;
    InvokeVoid(table->executable_destroy, "executable_destroy", [&] { table->executable_destroy(executable->raw); });
    return ReplyWith(nullptr);
  }
  const std::shared_ptr<ServedExecutable> executable = plugin_.executables.Find((*message)->object);
  return function == Function::kBlobSerialize ? Serialize(Existing(executable)) : AddDebugMap(Existing(executable));
}

ReplyWords ServedCall::ContextCreate(WireFrame frame) {
  const auto message = Decode<ObjectCall<deputy_context_args>>(std::move(frame));
  auto context = std::make_shared<ServedContext>();
  context->executable = plugin_.executables.Find((*message)->object);
  const deputy_delegate* table = Existing(context->executable).instance->delegate->table;
  const StatusHandle status = Invoke(table->context_create, "context_create", [&] {
    return table->context_create(context->executable->raw, &(*message)->args, &context->raw);
  });
  if (status != nullptr || context->raw == nullptr) return ReplyWith(status, WireNumber());
  return ReplyWith(status, WireNumber{plugin_.contexts.Add(std::move(context))});
}

ReplyWords ServedCall::ServeContext(WireFrame frame) {
  const Function function = frame.function;
  if (function == Function::kExecute) return Execute(std::move(frame));
  if (function == Function::kExecuteAgain) return ExecuteAgain(std::move(frame));
  if (function == Function::kResize) return Resize(std::move(frame));
  if (function == Function::kWishOf) return AskWish(std::move(frame));
  uint64_t token = 0;
  bool on = false;
  if (function == Function::kSetProfiling) {
    const auto message = Decode<ObjectCall<WireNumber>>(std::move(frame));
    token = (*message)->object;
    on = (*message)->args.value != 0;
  } else {
    token = (*Decode<ObjectCall<Nothing>>(std::move(frame)))->object;
  }
  const std::shared_ptr<ServedContext> held = plugin_.contexts.Find(token);
  ServedContext& context = Existing(held);
  const ServedDelegate& delegate = *context.executable->instance->delegate;
  if (function == Function::kContextDestroy) {
    plugin_.contexts.Take(token);
    // A cancel that comes too late may hold the context for a moment longer, but nothing of the model with it.
    std::shared_ptr<ServedExecutable> executable;
    deputy_context* raw = nullptr;
    {
      const std::lock_guard lock(context.mutex);
      raw = std::exchange(context.raw, nullptr);
      executable = std::move(context.executable);
    }
    const deputy_delegate* table = delegate.table;
    InvokeVoid(table->context_destroy, "context_destroy", [&] { table->context_destroy(raw); });
    return ReplyWith(nullptr);
  }
  if (function == Function::kScratchSize) {
    uint64_t size = 0;
    InvokeVoid(delegate.table->scratch_size, "scratch_size", [&] { size = delegate.table->scratch_size(context.raw); });
    return ReplyWith(nullptr, WireNumber{size});
  }
  const deputy_ext_profiling& profiling = *delegate.profiling;
  const StatusHandle status =
      function == Function::kSetProfiling
          ? Invoke(profiling.set_profiling, "set_profiling",
                   [&] { return profiling.set_profiling(context.raw, on ? context.events.sink() : nullptr); })
          : Invoke(profiling.collect, "collect", [&] { return profiling.collect(context.raw, context.events.sink()); });
  EventBuffer::Taken taken;
  context.events.TakeAll(taken);
  return ReplyWith(status, taken.events);
}

}  // namespace deputy::host
