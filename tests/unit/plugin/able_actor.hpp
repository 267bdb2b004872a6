// A plugin as an object that has every optional extension and does in each what the test says.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/registry.hpp"
#include "plugin/discovery/table_check.hpp"
#include "support/plain_calls.hpp"

namespace deputy::host::testing {

inline deputy_str Text(std::string_view text) { return {text.data(), text.size()}; }

struct AbleActor {
  deputy_plugin plugin{};
  deputy_delegate delegate{};
  deputy_ext_blob blob{};
  deputy_ext_resize resize{};
  deputy_ext_profiling profiling{};
  deputy_ext_operators operators{};
  deputy_ext_memory memory{};
  deputy_ext_async async{};
  deputy_ext_scheduling scheduling{};
  bool is_async = false;  // has the two above
  std::vector<deputy_operator_info> operator_infos;
  uint32_t open_flags = 0;
  int executables = 0, destroyed = 0, released = 0;

  std::string compatibility = "format 1";
  std::function<deputy_status*(deputy_str)> check;
  std::function<deputy_status*(const deputy_blob_sink&)> serialize;
  std::function<deputy_status*(const deputy_blob&, deputy_executable**)> restore;
  std::function<deputy_status*(const deputy_resize_args&, deputy_resize_outcome&)> resized;
  std::function<deputy_status*(const deputy_debug_map_sink&)> debug_map;
  std::function<void(const deputy_run_args&)> run;
  std::function<void(const deputy_profile_sink&)> execute, collect;
  std::function<deputy_status*(const deputy_graph*, const deputy_type_sink&)> infer;
  std::function<deputy_status*(const deputy_run_args&)> compute;
  std::function<deputy_status*(uint32_t, deputy_memory_wish&)> wish;
  std::function<deputy_status*(const deputy_buffer_request&, uint64_t&)> allocate;
  std::function<deputy_status*(const deputy_shared_buffer&, uint64_t&)> import;
  std::function<deputy_status*(const deputy_copy_args&, deputy_async_run*&)> copy;
  std::vector<uint64_t> released_buffers;
  std::function<deputy_status*(const deputy_async_args&, deputy_async_run*&)> submit;
  std::function<deputy_status*()> cancel_run;
  std::function<deputy_status*(deputy_queue_limits&)> limits;
  std::function<deputy_status*(std::vector<const deputy_ready_run*>, uint32_t& chosen, uint32_t& queue)> choose;
  std::atomic<int> destroyed_runs{0};
  const deputy_profile_sink* sink = nullptr;
  const deputy_host* host = nullptr;

  deputy_status* Fail(deputy_code code, std::string_view text) const {
    return host->status_new(host->self, code, DEPUTY_NO_NODE, text.data(), text.size());
  }

  AbleActor();
  AbleActor(const AbleActor&) = delete;
  AbleActor& operator=(const AbleActor&) = delete;
};

// Every opaque object of the plugin is the actor itself.
inline AbleActor& Able(const void* object) { return *static_cast<AbleActor*>(const_cast<void*>(object)); }

inline AbleActor::AbleActor() {
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = plugin.min_host_abi = DEPUTY_ABI_VERSION;
  plugin.id = Text("test.able");
  plugin.version = Text("3");
  plugin.impl = this;
  plugin.delegate_count = [](const deputy_plugin*) -> uint32_t { return 1; };
  plugin.delegate_at = [](const deputy_plugin* self, uint32_t) -> const deputy_delegate* {
    return &Able(self->impl).delegate;
  };
  delegate.struct_size = sizeof delegate;
  delegate.id = Text("able");
  delegate.impl = this;
  delegate.opsets = &deputy::plain::kAnyOpset;
  delegate.opset_count = 1;
  delegate.get_extension = [](const deputy_delegate* self, const char* id) -> const void* {
    AbleActor& actor = Able(self->impl);
    if (std::string_view(id) == DEPUTY_EXT_BLOB) return &actor.blob;
    if (std::string_view(id) == DEPUTY_EXT_RESIZE) return &actor.resize;
    if (std::string_view(id) == DEPUTY_EXT_PROFILING) return &actor.profiling;
    if (std::string_view(id) == DEPUTY_EXT_OPERATORS) return &actor.operators;
    if (std::string_view(id) == DEPUTY_EXT_MEMORY) return &actor.memory;
    if (std::string_view(id) == DEPUTY_EXT_ASYNC && actor.is_async) return &actor.async;
    if (std::string_view(id) == DEPUTY_EXT_SCHEDULING && actor.is_async) return &actor.scheduling;
    return nullptr;
  };
  delegate.open = [](const deputy_delegate* self, const deputy_open_args* args,
                     deputy_instance** out) -> deputy_status* {
    Able(self->impl).open_flags = args->flags;
    Able(self->impl).host = args->host;
    *out = static_cast<deputy_instance*>(self->impl);
    return nullptr;
  };
  delegate.close = [](deputy_instance*) {};
  delegate.query_support = [](deputy_instance*, const deputy_graph*, const deputy_support_sink*) -> deputy_status* {
    return nullptr;
  };
  delegate.compile = [](deputy_instance* self, const deputy_compile_args*, deputy_executable** out) -> deputy_status* {
    ++Able(self).executables;
    *out = reinterpret_cast<deputy_executable*>(self);
    return nullptr;
  };
  delegate.executable_destroy = [](deputy_executable* self) { ++Able(self).destroyed; };
  delegate.context_create = [](deputy_executable* self, const deputy_context_args*,
                               deputy_context** out) -> deputy_status* {
    *out = reinterpret_cast<deputy_context*>(self);
    return nullptr;
  };
  delegate.context_destroy = [](deputy_context*) {};
  delegate.execute = [](deputy_context* self, const deputy_run_args* args) -> deputy_status* {
    AbleActor& actor = Able(self);
    if (actor.run) actor.run(*args);
    if (actor.sink != nullptr && actor.execute) actor.execute(*actor.sink);
    return nullptr;
  };
  blob.struct_size = sizeof blob;
  blob.flags = DEPUTY_BLOB_COMPILE_ONLY;
  blob.compatibility = [](deputy_instance* self, char* buffer, uint64_t capacity, uint64_t* size) -> deputy_status* {
    const std::string& text = Able(self).compatibility;
    *size = text.size();
    if (text.size() < capacity) std::copy(text.c_str(), text.c_str() + text.size() + 1, buffer);
    return nullptr;
  };
  blob.check = [](const deputy_delegate* self, const deputy_host* services, deputy_str text) -> deputy_status* {
    AbleActor& actor = Able(self->impl);
    actor.host = services;
    return actor.check ? actor.check(text) : nullptr;
  };
  blob.serialize = [](deputy_executable* self, const deputy_blob_sink* to) { return Able(self).serialize(*to); };
  blob.restore = [](deputy_instance* self, const deputy_compile_args*, const deputy_blob* given,
                    deputy_executable** out) { return Able(self).restore(*given, out); };
  resize.struct_size = sizeof resize;
  resize.resize = [](deputy_context* self, const deputy_resize_args* args, deputy_resize_outcome* outcome) {
    return Able(self).resized(*args, *outcome);
  };
  profiling.struct_size = sizeof profiling;
  profiling.debug_map = [](deputy_executable* self, const deputy_debug_map_sink* to) -> deputy_status* {
    return Able(self).debug_map ? Able(self).debug_map(*to) : nullptr;
  };
  profiling.set_profiling = [](deputy_context* self, const deputy_profile_sink* to) -> deputy_status* {
    Able(self).sink = to;
    return nullptr;
  };
  profiling.collect = [](deputy_context* self, const deputy_profile_sink* to) -> deputy_status* {
    if (Able(self).collect) Able(self).collect(*to);
    return nullptr;
  };
  profiling.correlate = [](deputy_instance*, uint64_t* device_ns, uint64_t* host_ns) -> deputy_status* {
    *device_ns = 100;
    *host_ns = 1000;
    return nullptr;
  };
  memory.struct_size = sizeof memory;
  memory.wish_of = [](deputy_context* self, uint32_t index, deputy_memory_wish* to) -> deputy_status* {
    return Able(self).wish ? Able(self).wish(index, *to) : nullptr;
  };
  memory.allocate = [](deputy_instance* self, const deputy_buffer_request* request, uint64_t* handle) {
    return Able(self).allocate(*request, *handle);
  };
  memory.release = [](deputy_instance* self, uint64_t handle) { Able(self).released_buffers.push_back(handle); };
  memory.imports = 1u << DEPUTY_MEMORY_HANDLE_MEMFD;
  memory.import = [](deputy_instance* self, const deputy_shared_buffer* buffer, uint64_t* handle) {
    return Able(self).import(*buffer, *handle);
  };
  memory.copy = [](deputy_instance* self, const deputy_copy_args* args, deputy_async_run** out) {
    return Able(self).copy(*args, *out);
  };
  async.struct_size = sizeof async;
  async.submit = [](deputy_context* self, const deputy_async_args* args, deputy_async_run** out) {
    return Able(self).submit(*args, *out);
  };
  async.poll = [](deputy_async_run*, uint32_t*) -> deputy_status* { return nullptr; };
  async.wait = [](deputy_async_run*, uint64_t) -> deputy_status* { return nullptr; };
  async.cancel = [](deputy_async_run* self) { return Able(self).cancel_run(); };
  async.run_destroy = [](deputy_async_run* self) { ++Able(self).destroyed_runs; };
  scheduling.struct_size = sizeof scheduling;
  scheduling.limits = [](deputy_instance* self, deputy_queue_limits* to) -> deputy_status* {
    return Able(self).limits ? Able(self).limits(*to) : nullptr;
  };
  scheduling.choose = [](deputy_instance* self, const deputy_ready_run* const* ready, uint32_t count, uint32_t* chosen,
                         uint32_t* queue) -> deputy_status* {
    return Able(self).choose ? Able(self).choose({ready, ready + count}, *chosen, *queue) : nullptr;
  };
  operators.struct_size = sizeof operators;
  operators.operator_count = [](const deputy_delegate* self) {
    return static_cast<uint32_t>(Able(self->impl).operator_infos.size());
  };
  operators.operator_at = [](const deputy_delegate* self, uint32_t index) -> const deputy_operator_info* {
    return &Able(self->impl).operator_infos[index];
  };
  operators.infer = [](const deputy_delegate* self, const deputy_host* services, const deputy_graph* graph,
                       deputy_node_id, const deputy_type_sink* to) {
    Able(self->impl).host = services;
    return Able(self->impl).infer(graph, *to);
  };
  operators.compute = [](const deputy_delegate* self, const deputy_host* services, const deputy_graph*, deputy_node_id,
                         const deputy_run_args* args) {
    Able(self->impl).host = services;
    return Able(self->impl).compute(*args);
  };
}

}  // namespace deputy::host::testing
