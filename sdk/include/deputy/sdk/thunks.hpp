// The C tables over a delegate's class. Every function here catches all exceptions of the vendor's code and converts
// them to statuses of the host; the host calls no other functions of the layer.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "deputy/sdk/boundary.hpp"
#include "deputy/sdk/extension_thunks.hpp"
#include "deputy/sdk/operators.hpp"
#include "deputy/sdk/placement_thunks.hpp"

namespace deputy::sdk::detail {

struct Thunks {
  static deputy_status* Probe(const deputy_delegate* self, const deputy_host* host) noexcept {
    return Guard(Host(host), [&] { return RecordOf(self).probe(Host(host)); });
  }

  static deputy_status* Open(const deputy_delegate* self, const deputy_open_args* args,
                             deputy_instance** out) noexcept {
    const Host host(args->host);
    return Guard(host, [&]() -> Status {
      DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args->flags, DEPUTY_OPEN_COMPILE_ONLY));
      const Record& record = RecordOf(self);
      DEPUTY_SDK_ASSIGN_OR_RETURN(
          OptionValues values,
          OptionValues::Parse(record.schema, Span<const deputy_kv>(args->options, size_t(args->option_count))));
      auto instance = std::make_unique<Instance>(Instance{host, record.make(), &record});
      const std::lock_guard<std::mutex> lock(instance->holder->load);
      if (!instance->holder->ready) {
        instance->delegate().Attach(host, std::move(values), std::string(ToView(args->name)),
                                    std::string(ToView(args->device)), (args->flags & DEPUTY_OPEN_COMPILE_ONLY) != 0);
        DEPUTY_SDK_RETURN_IF_ERROR(instance->delegate().Init());
        instance->holder->ready = true;
      }
      *out = As<deputy_instance>(instance.release());
      return {};
    });
  }

  static void Close(deputy_instance* self) noexcept { delete As<Instance>(self); }

  static deputy_status* QuerySupport(deputy_instance* self, const deputy_graph* shown,
                                     const deputy_support_sink* sink) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, shown);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      instance.delegate().LookAt(graph);
      for (size_t i = 0, count = graph.node_count(); i < count; ++i) {
        const NodeView node = graph.NodeAt(i);
        if (!node.offered()) continue;
        const Verdict verdict = DefinitionTooNew(node) ? Verdict::No(Reason::kDefinitionTooNew, TooNewText(node))
                                                       : instance.delegate().AnswerFor(node);
        sink->answer(sink->self, node.id(), static_cast<deputy_reason>(verdict.reason), ToStr(verdict.detail));
      }
      return {};
    });
  }

  static deputy_status* Propose(deputy_instance* self, const deputy_graph* shown,
                                const deputy_claim_sink* sink) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, shown);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      return instance.delegate().ProposeClaims(graph, ClaimSink(graph, sink));
    });
  }

  static void ClaimRelease(deputy_instance* self, void* claim) noexcept {
    const Instance& instance = *As<Instance>(self);
    const std::lock_guard<std::mutex> lock(instance.holder->load);
    Release(instance, claim);
  }

  static deputy_status* Compile(deputy_instance* self, const deputy_compile_args* args,
                                deputy_executable** out) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, args->partition->graph);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      const UnusedClaim claim{instance, args->partition->claim};
      DEPUTY_SDK_RETURN_IF_ERROR(CheckCompile(instance, *args));
      const PartitionView view(graph, *args->partition, args);
      auto boxed = std::make_unique<BoxedExecutable>(BoxedExecutable{instance.host, nullptr});
      DEPUTY_SDK_ASSIGN_OR_RETURN(boxed->executable, instance.delegate().CompilePartition(view, claim.handle));
      if (boxed->executable == nullptr) return Status(Code::kInternal, "Compile returned no executable");
      if (graph.failed()) return {};
      *out = As<deputy_executable>(boxed.release());
      return {};
    });
  }

  static void ExecutableDestroy(deputy_executable* self) noexcept { delete As<BoxedExecutable>(self); }

  static deputy_status* ContextCreate(deputy_executable* self, const deputy_context_args* args,
                                      deputy_context** out) noexcept {
    const BoxedExecutable& boxed = *As<BoxedExecutable>(self);
    return Guard(boxed.host, [&]() -> Status {
      DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args->flags, 0));
      auto context = std::make_unique<BoxedContext>(boxed.host);
      DEPUTY_SDK_ASSIGN_OR_RETURN(context->context, boxed.executable->CreatePrioritizedContext(args->priority));
      if (context->context == nullptr) return Status(Code::kInternal, "CreateContext returned no context");
      *out = As<deputy_context>(context.release());
      return {};
    });
  }

  static void ContextDestroy(deputy_context* self) noexcept { delete As<BoxedContext>(self); }

  static deputy_status* Execute(deputy_context* self, const deputy_run_args* args) noexcept {
    const BoxedContext& boxed = *As<BoxedContext>(self);
    return Guard(boxed.host, [&]() -> Status {
      DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args->flags, 0));
      return boxed.context->Execute(RunArgs(*args, boxed.host, &boxed.cancelled_run));
    });
  }

  static uint64_t ScratchSize(deputy_context* self) noexcept {
    return As<BoxedContext>(self)->context->scratch_bytes();
  }

  static void Cancel(deputy_context* self, uint64_t run) noexcept {
    BoxedContext& boxed = *As<BoxedContext>(self);
    for (uint64_t newest = boxed.cancelled_run.load(); newest < run;)
      if (boxed.cancelled_run.compare_exchange_weak(newest, run)) break;
    try {
      boxed.context->Cancel();
    } catch (...) {
      boxed.host.Error("an exception escaped while a run was cancelled");
    }
  }

  static uint32_t OptionCount(const deputy_delegate* self) noexcept {
    return static_cast<uint32_t>(RecordOf(self).option_infos.size());
  }
  static const deputy_option_info* OptionAt(const deputy_delegate* self, uint32_t index) noexcept {
    return index < OptionCount(self) ? &RecordOf(self).option_infos[index] : nullptr;
  }
  static deputy_status* GetOption(deputy_instance* self, deputy_str name, char* buffer, uint64_t capacity,
                                  uint64_t* size) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      const std::string key(ToView(name));
      if (!instance.delegate().options().Has(key)) return Status(Code::kNotFound, "no option '" + key + "'");
      const std::string value = instance.delegate().OptionInForce(key);
      *size = value.size();
      if (value.size() >= capacity) return Status(Code::kOutOfMemory, "the buffer is too small");
      std::memcpy(buffer, value.c_str(), value.size() + 1);
      return {};
    });
  }

  static deputy_status* SetOption(deputy_instance* self, deputy_str name, deputy_str value) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      return instance.delegate().ChangeOption(ToView(name), ToView(value));
    });
  }

  static deputy_status* GetDeviceState(deputy_instance* self, deputy_device_state* out) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      DEPUTY_SDK_ASSIGN_OR_RETURN(const DeviceState state, instance.delegate().device_state());
      Fill(out,
           {sizeof(deputy_device_state), state.level_requested, state.level_granted, 0, state.frequency_requested_hz,
            state.frequency_granted_hz, state.busy_ns, state.runs, ToStr(state.device_name)});
      return {};
    });
  }

  static const void* GetExtension(const deputy_delegate* self, const char* id) noexcept {
    static constexpr deputy_ext_propose kPropose = {sizeof(deputy_ext_propose), 0, Propose, ClaimRelease, nullptr};
    static constexpr deputy_ext_device_control kDevice = {sizeof(deputy_ext_device_control), 0, GetDeviceState};
    if (std::strcmp(id, DEPUTY_EXT_OPTIONS) == 0) return &RecordOf(self).options;
    if (std::strcmp(id, DEPUTY_EXT_PROPOSE) == 0 && RecordOf(self).proposes) return &kPropose;
    if (std::strcmp(id, DEPUTY_EXT_DEVICE_CONTROL) == 0 && RecordOf(self).controls_device) return &kDevice;
    if (const void* extension = ExtensionThunks::Find(RecordOf(self), id)) return extension;
    return PlacementThunks::GetExtension(self, id);
  }

 private:
  // An exception here cannot be returned to a caller; it is only logged.
  static void Release(const Instance& instance, void* claim) noexcept {
    try {
      instance.delegate().ReleaseClaim(claim);
    } catch (...) {
      instance.host.Error("an exception escaped while a claim was released");
    }
  }

  // A claim is consumed in every case, also when the call fails before the delegate sees it.
  struct UnusedClaim {
    const Instance& instance;
    mutable void* handle;
    ~UnusedClaim() {
      if (handle != nullptr) Release(instance, handle);
    }
  };
};

}  // namespace deputy::sdk::detail
