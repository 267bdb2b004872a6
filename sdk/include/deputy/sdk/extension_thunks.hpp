// The C tables of the optional extensions over a delegate's class: blobs, resizing, profiling, own operators. As in
// thunks.hpp, every function catches everything.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "deputy/sdk/boundary.hpp"
#include "deputy/sdk/submission_thunks.hpp"

namespace deputy::sdk::detail {

struct ExtensionThunks {
  static deputy_status* Compatibility(deputy_instance* self, char* buffer, uint64_t capacity, uint64_t* size) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      const std::string text = instance.delegate().BlobCompatibility();
      if (!instance.delegate().has_blobs()) return Status(Code::kNotSupported, text);
      *size = text.size();
      if (text.size() >= capacity) return Status(Code::kOutOfMemory, "the buffer is too small");
      std::memcpy(buffer, text.c_str(), text.size() + 1);
      return {};
    });
  }

  static deputy_status* Check(const deputy_delegate* self, const deputy_host* host, deputy_str compatibility) noexcept {
    return Guard(Host(host), [&] { return RecordOf(self).check_blob(Host(host), ToView(compatibility)); });
  }

  static deputy_status* Serialize(deputy_executable* self, const deputy_blob_sink* sink) noexcept {
    const BoxedExecutable& boxed = *As<BoxedExecutable>(self);
    BlobWriter writer(sink);
    return GuardWith(boxed.host, writer, [&] { return boxed.executable->Serialize(writer); });
  }

  static deputy_status* Restore(deputy_instance* self, const deputy_compile_args* args, const deputy_blob* given,
                                deputy_executable** out) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, args->partition->graph);
    Blob blob(*given);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      DEPUTY_SDK_RETURN_IF_ERROR(CheckCompile(instance, *args));
      const PartitionView view(graph, *args->partition, args);
      auto boxed = std::make_unique<BoxedExecutable>(BoxedExecutable{instance.host, nullptr});
      DEPUTY_SDK_ASSIGN_OR_RETURN(boxed->executable, instance.delegate().RestorePartition(view, std::move(blob)));
      if (boxed->executable == nullptr) return Status(Code::kInternal, "Restore returned no executable");
      if (graph.failed()) return {};
      *out = As<deputy_executable>(boxed.release());
      return {};
    });
  }

  static deputy_status* Resize(deputy_context* self, const deputy_resize_args* args,
                               deputy_resize_outcome* outcome) noexcept {
    const BoxedContext& boxed = *As<BoxedContext>(self);
    return Guard(boxed.host, [&]() -> Status {
      DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args->flags, 0));
      DEPUTY_SDK_ASSIGN_OR_RETURN(const ResizeOutcome made, boxed.context->Resize(ResizeArgs(*args)));
      *outcome = static_cast<deputy_resize_outcome>(made);
      return {};
    });
  }

  static deputy_status* DescribeEvents(deputy_executable* self, const deputy_debug_map_sink* sink) noexcept {
    const BoxedExecutable& boxed = *As<BoxedExecutable>(self);
    DebugMap map(sink);
    return GuardWith(boxed.host, map, [&] { return boxed.executable->DescribeEvents(map); });
  }

  static deputy_status* SetProfiling(deputy_context* self, const deputy_profile_sink* sink) noexcept {
    As<BoxedContext>(self)->context->SetProfiler(Profiler(sink));
    return nullptr;
  }

  static deputy_status* Collect(deputy_context* self, const deputy_profile_sink* sink) noexcept {
    const BoxedContext& boxed = *As<BoxedContext>(self);
    return Guard(boxed.host, [&] { return boxed.context->CollectEvents(Profiler(sink)); });
  }

  static deputy_status* Correlate(deputy_instance* self, uint64_t* device_ns, uint64_t* host_ns) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      DEPUTY_SDK_ASSIGN_OR_RETURN(const ClockPair now, instance.delegate().CorrelateClocks());
      *device_ns = now.device_ns;
      *host_ns = now.host_ns;
      return {};
    });
  }

  static deputy_status* WishOf(deputy_context* self, uint32_t index, deputy_memory_wish* wish) noexcept {
    const BoxedContext& boxed = *As<BoxedContext>(self);
    return Guard(boxed.host, [&]() -> Status {
      const MemoryWish made = boxed.context->WishOf(index);
      if (!made.on_device) return Status(Code::kNotSupported, "host memory is sufficient");
      wish->memory = DEPUTY_MEMORY_DEVICE;
      wish->alignment = made.alignment;
      if (made.byte_size != 0) wish->byte_size = made.byte_size;
      return {};
    });
  }

  static deputy_status* Allocate(deputy_instance* self, const deputy_buffer_request* request,
                                 uint64_t* handle) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      DEPUTY_SDK_ASSIGN_OR_RETURN(
          *handle, instance.delegate().AllocateBuffer({request->byte_size, request->alignment, request->uses}));
      return {};
    });
  }

  static deputy_status* Import(deputy_instance* self, const deputy_shared_buffer* buffer, uint64_t* handle) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      if (buffer->kind != DEPUTY_MEMORY_HANDLE_MEMFD)
        return Status(Code::kNotSupported, "memory of memfd_create is imported, and no other");
      DEPUTY_SDK_ASSIGN_OR_RETURN(*handle, instance.delegate().ImportBuffer(
                                               {static_cast<int>(buffer->handle), buffer->offset, buffer->byte_size}));
      return {};
    });
  }

  static void Release(deputy_instance* self, uint64_t handle) noexcept {
    const Instance& instance = *As<Instance>(self);
    try {
      instance.delegate().ReleaseBuffer(handle);
    } catch (...) {
      instance.host.Error("an exception escaped while a buffer was released");
    }
  }

  static deputy_status* Copy(deputy_instance* self, const deputy_copy_args* args, deputy_async_run**) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      if (args->sink != nullptr || args->wait_count != 0)
        return Status(Code::kNotSupported, "copies end before they return, and wait for no fence");
      return instance.delegate().CopyBytes({args->from->data, args->from->handle, args->from->offset},
                                           {args->to->data, args->to->handle, args->to->offset}, args->byte_size);
    });
  }

  static uint32_t OperatorCount(const deputy_delegate* self) noexcept {
    return static_cast<uint32_t>(RecordOf(self).operator_infos.size());
  }
  static const deputy_operator_info* OperatorAt(const deputy_delegate* self, uint32_t index) noexcept {
    return index < OperatorCount(self) ? &RecordOf(self).operator_infos[index] : nullptr;
  }

  static deputy_status* Infer(const deputy_delegate* self, const deputy_host* host, const deputy_graph* shown,
                              deputy_node_id id, const deputy_type_sink* sink) noexcept {
    const GraphView graph(Host(host), shown);
    OutputTypes types(graph, sink);
    return GuardWithGraph(graph, [&]() -> Status {
      const NodeView node = graph.Node(id);
      const OwnOperator* found = FindOperator(self, node);
      if (found == nullptr || found->infer() == nullptr) return Status(Code::kNotSupported, "its types are not known");
      return found->infer()(node, types);
    });
  }

  static deputy_status* Compute(const deputy_delegate* self, const deputy_host* host, const deputy_graph* shown,
                                deputy_node_id id, const deputy_run_args* args) noexcept {
    const GraphView graph(Host(host), shown);
    return GuardWithGraph(graph, [&]() -> Status {
      const NodeView node = graph.Node(id);
      const OwnOperator* found = FindOperator(self, node);
      if (found == nullptr || found->compute() == nullptr) return Status(Code::kNotSupported, "it has no kernel");
      return found->compute()(graph.host(), node, RunArgs(*args, graph.host()));
    });
  }

  // Fills the tables of a record from its declared extensions.
  static void FillTables(Record& record) {
    record.blob = {
        sizeof record.blob, (record.extensions & kCompileOnly) != 0 ? uint32_t{DEPUTY_BLOB_COMPILE_ONLY} : 0u,
        Compatibility,      record.check_blob ? Check : nullptr,
        Serialize,          Restore};
    record.resize = {sizeof record.resize, 0, Resize};
    record.profiling = {sizeof record.profiling,
                        0,
                        DescribeEvents,
                        SetProfiling,
                        Collect,
                        (record.extensions & kDeviceClock) != 0 ? Correlate : nullptr};
    record.memory = {
        sizeof record.memory, 0, 0, 0, WishOf, Allocate, nullptr, nullptr, Release, nullptr, nullptr, Copy};
    if ((record.extensions & kImports) != 0) {
      record.memory.imports = 1u << DEPUTY_MEMORY_HANDLE_MEMFD;
      record.memory.import = Import;
    }
    SubmissionThunks::FillTables(record);
    record.own_operators = {sizeof record.own_operators, 0, OperatorCount, OperatorAt, Infer, Compute};
    for (OwnOperator& one : record.operators) record.operator_infos.push_back(one.Info());
  }

  // NULL if the delegate does not declare the extension.
  static const void* Find(const Record& record, const char* id) {
    if (std::strcmp(id, DEPUTY_EXT_BLOB) == 0 && (record.extensions & kBlobs) != 0) return &record.blob;
    if (std::strcmp(id, DEPUTY_EXT_RESIZE) == 0 && (record.extensions & kResizes) != 0) return &record.resize;
    if (std::strcmp(id, DEPUTY_EXT_PROFILING) == 0 && (record.extensions & kProfiles) != 0) return &record.profiling;
    if (std::strcmp(id, DEPUTY_EXT_MEMORY) == 0 && (record.extensions & kMemory) != 0) return &record.memory;
    if (std::strcmp(id, DEPUTY_EXT_ASYNC) == 0 && (record.extensions & kAsync) != 0) return &record.async;
    if (std::strcmp(id, DEPUTY_EXT_SCHEDULING) == 0 && (record.extensions & kQueues) != 0) return &record.scheduling;
    if (std::strcmp(id, DEPUTY_EXT_OPERATORS) == 0 && !record.operators.empty()) return &record.own_operators;
    return nullptr;
  }

 private:
  static const OwnOperator* FindOperator(const deputy_delegate* self, const NodeView& node) {
    const OwnOperator* newest = nullptr;
    for (const OwnOperator& one : RecordOf(self).operators)
      if (one.domain() == node.domain() && one.op_type() == node.op_type() &&
          one.since_version() <= static_cast<uint32_t>(node.since_version()) &&
          (newest == nullptr || newest->since_version() < one.since_version()))
        newest = &one;
    return newest;
  }
};

}  // namespace deputy::sdk::detail
