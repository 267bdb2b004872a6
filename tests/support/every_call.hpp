// Calls every function of a plugin's tables once, over the tables alone: for plugins in worker processes that lie, die
// or say nothing. What a call returns decides only which calls are possible after it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/draft/async.h"
#include "deputy/abi/ext/draft/memory.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "partition/helpers.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "plugin/proxy/host_services.hpp"
#include "support/plain_calls.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {

class EveryCall {
 public:
  // Around each call: its name, and what calls it; the status is the host's to release.
  using Made = std::function<void(std::string_view name, const std::function<deputy_status*()>& call)>;

  // `value`: the text of an option, as long as a test needs it. `in`: where four inputs are, if not in a list.
  EveryCall(const deputy_plugin& plugin, Made made, std::string_view value = "1", const float* in = nullptr)
      : plugin_(plugin),
        made_(std::move(made)),
        value_{value.data(), value.size()},
        services_("every_call", nullptr, &DefaultPartitionHelpers()),
        graph_(WithAConstant()),
        handle_(OfferAll(graph_)),
        in_(in != nullptr ? in : own_in_.data()) {}
  EveryCall(const EveryCall&) = delete;
  EveryCall& operator=(const EveryCall&) = delete;

  const deputy_host* host() const { return services_.table(); }

  // False: init failed, and there is nothing more to call.
  bool Begin() {
    deputy_code code = DEPUTY_OK;
    if (plugin_.init != nullptr) code = Call("init", [&] { return plugin_.init(&plugin_, host()); });
    return code == DEPUTY_OK;
  }
  void Use(const deputy_delegate& delegate) {
    delegate_ = &delegate;
    CallWithoutInstance();
    deputy_open_args args{};
    args.struct_size = sizeof args;
    args.host = host();
    args.name = {"every_call", 10};
    args.domain = 1;
    deputy_instance* instance = nullptr;
    Call("open", [&] { return delegate.open(&delegate, &args, &instance); });
    if (instance == nullptr) return;
    instance_ = instance;
    CallPlacement(instance);
    CallOptions(instance);
    deputy_executable* executable = nullptr;
    const deputy_compile_args compile = CompileArgs();
    Call("compile", [&] { return delegate.compile(instance, &compile, &executable); });
    if (executable != nullptr) UseExecutable(executable);
    Restore(instance);
    if (const auto* propose = Extension<deputy_ext_propose>(DEPUTY_EXT_PROPOSE); Has(propose, &propose->claim_release))
      CallVoid("claim_release", [&] { propose->claim_release(instance, this); });
    CallVoid("close", [&] { delegate.close(instance); });
  }
  void End() {
    if (plugin_.shutdown != nullptr) CallVoid("shutdown", [&] { plugin_.shutdown(&plugin_); });
  }
  // What an output held after a run that succeeded.
  const std::vector<float>& output() const { return out_; }

 private:
  deputy_code Call(std::string_view name, const std::function<deputy_status*()>& call) {
    deputy_code code = DEPUTY_OK;
    made_(name, [&] {
      deputy_status* status = call();
      code = host()->status_code(host()->self, status);
      return status;
    });
    return code;
  }
  void CallVoid(std::string_view name, const std::function<void()>& call) {
    made_(name, [&]() -> deputy_status* {
      call();
      return nullptr;
    });
  }
  template <class Table>
  const Table* Extension(const char* id) const {
    return delegate_->get_extension == nullptr ? nullptr
                                               : static_cast<const Table*>(delegate_->get_extension(delegate_, id));
  }
  // Whether the table reaches to the function and has it.
  template <class Table, class Slot>
  static bool Has(const Table* table, Slot* slot) {
    if (table == nullptr) return false;
    return reinterpret_cast<const char*>(slot + 1) - reinterpret_cast<const char*>(table) <= table->struct_size &&
           *slot != nullptr;
  }

  void CallWithoutInstance() {
    const deputy_delegate& delegate = *delegate_;
    if (delegate.probe != nullptr) Call("probe", [&] { return delegate.probe(&delegate, host()); });
    const deputy_device_sink devices{sizeof devices, 0, this,
                                     [](void*, const deputy_device_info*) -> deputy_status* { return nullptr; }};
    if (const auto* table = Extension<deputy_ext_devices>(DEPUTY_EXT_DEVICES); Has(table, &table->enumerate))
      Call("enumerate", [&] { return table->enumerate(&delegate, host(), &devices); });
    if (const auto* table = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB); Has(table, &table->check))
      Call("check", [&] { return table->check(&delegate, host(), {"text", 4}); });
    const auto* operators = Extension<deputy_ext_operators>(DEPUTY_EXT_OPERATORS);
    const deputy_type_sink types{
        sizeof types, 0, this,
        [](void*, uint32_t, deputy_dtype, const int64_t*, uint32_t) -> deputy_status* { return nullptr; }};
    if (Has(operators, &operators->infer))
      Call("infer", [&] { return operators->infer(&delegate, host(), &handle_, 0, &types); });
    if (Has(operators, &operators->compute)) {
      const plain::PlainRun run(in_, out_.data(), out_.size());
      Call("compute", [&] { return operators->compute(&delegate, host(), &handle_, 0, &run.args); });
    }
  }

  void CallPlacement(deputy_instance* instance) {
    const deputy_support_sink support{sizeof support, 0, this, [](void*, deputy_node_id, deputy_reason, deputy_str) {}};
    Call("query_support", [&] { return delegate_->query_support(instance, &handle_, &support); });
    const auto* propose = Extension<deputy_ext_propose>(DEPUTY_EXT_PROPOSE);
    const deputy_claim_sink claims{sizeof claims, 0, this,
                                   [](void*, const deputy_claim*) -> deputy_status* { return nullptr; }};
    if (Has(propose, &propose->propose)) Call("propose", [&] { return propose->propose(instance, &handle_, &claims); });
    const deputy_group_sink groups{sizeof groups, 0, this,
                                   [](void*, const deputy_group*) -> deputy_status* { return nullptr; }};
    if (Has(propose, &propose->groups)) Call("groups", [&] { return propose->groups(instance, &handle_, &groups); });
    const deputy_estimate_sink estimates{sizeof estimates, 0, this, [](void*, const deputy_estimate*) {}};
    const deputy_partition partition = Partition();
    if (const auto* table = Extension<deputy_ext_estimate>(DEPUTY_EXT_ESTIMATE); Has(table, &table->estimate))
      Call("estimate", [&] { return table->estimate(instance, &partition, &estimates); });
  }

  void CallOptions(deputy_instance* instance) {
    std::array<char, 64> buffer{};
    uint64_t size = 0;
    const auto* options = Extension<deputy_ext_options>(DEPUTY_EXT_OPTIONS);
    if (Has(options, &options->get_option))
      Call("get_option", [&] { return options->get_option(instance, {"o", 1}, buffer.data(), buffer.size(), &size); });
    if (Has(options, &options->set_option))
      Call("set_option", [&] { return options->set_option(instance, {"o", 1}, value_); });
    uint32_t flags = 0;
    if (const auto* table = Extension<deputy_ext_concurrency>(DEPUTY_EXT_CONCURRENCY); Has(table, &table->concurrency))
      Call("concurrency", [&] { return table->concurrency(instance, &flags); });
    deputy_queue_limits limits{};
    limits.struct_size = sizeof limits;
    if (const auto* table = Extension<deputy_ext_scheduling>(DEPUTY_EXT_SCHEDULING); Has(table, &table->limits))
      Call("limits", [&] { return table->limits(instance, &limits); });
    deputy_device_state state{};
    state.struct_size = sizeof state;
    if (const auto* table = Extension<deputy_ext_device_control>(DEPUTY_EXT_DEVICE_CONTROL);
        Has(table, &table->device_state))
      Call("device_state", [&] { return table->device_state(instance, &state); });
    uint64_t device_ns = 0, host_ns = 0;
    if (const auto* table = Extension<deputy_ext_profiling>(DEPUTY_EXT_PROFILING); Has(table, &table->correlate))
      Call("correlate", [&] { return table->correlate(instance, &device_ns, &host_ns); });
    if (const auto* table = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB); Has(table, &table->compatibility))
      Call("compatibility", [&] { return table->compatibility(instance, buffer.data(), buffer.size(), &size); });
    if (const auto* table = Extension<deputy_ext_memory>(DEPUTY_EXT_MEMORY); Has(table, &table->copy))
      CallMemory(instance, *table);
  }

  void CallMemory(deputy_instance* instance, const deputy_ext_memory& memory) {
    const deputy_buffer_request request{sizeof request, DEPUTY_BUFFER_CPU_READS, 16, 64};
    uint64_t handle = 0;
    Call("allocate", [&] { return memory.allocate(instance, &request, &handle); });
    std::array<char, 16> bytes{};
    if (memory.import != nullptr) {
      const int file = memfd_create("every_call", MFD_CLOEXEC);
      if (ftruncate(file, 4096) != 0) std::abort();
      const deputy_shared_buffer shared{sizeof shared, DEPUTY_MEMORY_HANDLE_MEMFD, file, 0, 16, {}, nullptr, 0, 0, 0};
      uint64_t imported = 0;
      Call("import", [&] { return memory.import(instance, &shared, &imported); });
      CallVoid("release", [&] { memory.release(instance, imported); });
      close(file);
    }
    const deputy_copy_side here{sizeof here, 0, bytes.data(), 0, 0}, there{sizeof there, 0, nullptr, handle, 0};
    for (const auto& [from, to] : {std::pair{&here, &there}, std::pair{&there, &here}}) {
      deputy_copy_args args{};
      args.struct_size = sizeof args;
      args.from = from;
      args.to = to;
      args.byte_size = bytes.size();
      deputy_async_run* run = nullptr;
      Call("copy", [&] { return memory.copy(instance, &args, &run); });
    }
    CallVoid("release", [&] { memory.release(instance, handle); });
  }

  void UseExecutable(deputy_executable* executable) {
    const deputy_blob_sink bytes{sizeof bytes, 0, this,
                                 [](void*, const void*, uint64_t) -> deputy_status* { return nullptr; }};
    if (const auto* table = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB); Has(table, &table->serialize))
      Call("serialize", [&] { return table->serialize(executable, &bytes); });
    const deputy_debug_map_sink map{
        sizeof map, 0, this,
        [](void*, uint32_t, const deputy_node_id*, uint64_t) -> deputy_status* { return nullptr; }};
    if (const auto* table = Extension<deputy_ext_profiling>(DEPUTY_EXT_PROFILING); Has(table, &table->debug_map))
      Call("debug_map", [&] { return table->debug_map(executable, &map); });
    deputy_context* context = nullptr;
    Call("context_create", [&] { return delegate_->context_create(executable, &plain::kPlainContext, &context); });
    if (context != nullptr) UseContext(context);
    CallVoid("executable_destroy", [&] { delegate_->executable_destroy(executable); });
  }

  void UseContext(deputy_context* context) {
    if (delegate_->scratch_size != nullptr)
      CallVoid("scratch_size", [&] { static_cast<void>(delegate_->scratch_size(context)); });
    deputy_memory_wish wish{};
    wish.struct_size = sizeof wish;
    if (const auto* table = Extension<deputy_ext_memory>(DEPUTY_EXT_MEMORY); Has(table, &table->wish_of))
      Call("wish_of", [&] { return table->wish_of(context, 0, &wish); });
    const auto* profiling = Extension<deputy_ext_profiling>(DEPUTY_EXT_PROFILING);
    const deputy_profile_sink events{sizeof events, 0, this, [](void*, const deputy_profile_event*) {}};
    if (Has(profiling, &profiling->set_profiling))
      Call("set_profiling", [&] { return profiling->set_profiling(context, &events); });
    for (const char* name : {"execute", "execute_again"}) {
      std::vector<float> out(out_.size(), -1);
      plain::PlainRun run(in_, out.data(), out.size());
      const deputy_output_allocator allocator{
          sizeof allocator, 0, this,
          [](void* self, uint32_t, const int64_t*, uint32_t rank, void** data) -> deputy_status* {
            auto& every = *static_cast<EveryCall*>(self);
            *data = rank == 0 ? every.scalar_.data() : nullptr;
            return nullptr;
          }};
      run.args.allocator = &allocator;
      if (Call(name, [&] { return delegate_->execute(context, &run.args); }) == DEPUTY_OK) out_ = out;
    }
    if (delegate_->cancel != nullptr) CallVoid("cancel", [&] { delegate_->cancel(context, 1); });
    CallQueues(context);
    if (Has(profiling, &profiling->collect)) Call("collect", [&] { return profiling->collect(context, &events); });
    const deputy_resize_args args{sizeof args, 0, 0, 0, nullptr, nullptr};
    deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
    if (const auto* table = Extension<deputy_ext_resize>(DEPUTY_EXT_RESIZE); Has(table, &table->resize))
      Call("resize", [&] { return table->resize(context, &args, &outcome); });
    CallVoid("context_destroy", [&] { delegate_->context_destroy(context); });
  }

  void CallQueues(deputy_context* context) {
    const deputy_ready_run run{sizeof run, 0, context, 1, 0};
    const deputy_ready_run* const ready[] = {&run, &run};
    uint32_t chosen = 0, queue = 0;
    if (const auto* table = Extension<deputy_ext_scheduling>(DEPUTY_EXT_SCHEDULING); Has(table, &table->choose))
      Call("choose", [&] { return table->choose(instance_, ready, 2, &chosen, &queue); });
    const auto* async = Extension<deputy_ext_async>(DEPUTY_EXT_ASYNC);
    if (!Has(async, &async->run_destroy)) return;
    std::vector<float> out(out_.size(), -1);
    const plain::PlainRun plain(in_, out.data(), out.size());
    deputy_async_args args{};
    args.struct_size = sizeof args;
    args.run = &plain.args;
    deputy_async_run* made = nullptr;
    Call("submit", [&] { return async->submit(context, &args, &made); });
    if (made == nullptr) return;
    uint32_t finished = 0;
    Call("poll", [&] { return async->poll(made, &finished); });
    Call("cancel_submitted", [&] { return async->cancel(made); });
    Call("wait", [&] { return async->wait(made, 0); });
    CallVoid("run_destroy", [&] { async->run_destroy(made); });
  }

  void Restore(deputy_instance* instance) {
    const auto* table = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB);
    if (!Has(table, &table->restore)) return;
    const deputy_blob blob{sizeof blob, 0, "blob", 4, this, [](void*) {}};
    const deputy_compile_args args = CompileArgs();
    deputy_executable* executable = nullptr;
    Call("restore", [&] { return table->restore(instance, &args, &blob, &executable); });
    if (executable != nullptr) CallVoid("executable_destroy", [&] { delegate_->executable_destroy(executable); });
  }

  deputy_partition Partition() const {
    static constexpr deputy_node_id kNode = 0;
    static constexpr deputy_value_id kInput = 0, kOutput = 1;
    return {sizeof(deputy_partition), 1, &handle_, &kNode, &kInput, &kOutput, 1, 1, nullptr, {"p", 1}};
  }
  // Values 0 to 2 are the input and what the nodes make, 3 is the constant.
  static Graph WithAConstant() {
    Graph graph = TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph;
    graph.nodes[0].inputs.push_back(graph.AddConstant("constant", *Tensor::Allocate(DType::kFloat32, {4})));
    return graph;
  }
  // The partition and the control live as long as this.
  deputy_compile_args CompileArgs() {
    partition_ = Partition();
    deputy_compile_args args{};
    args.struct_size = sizeof args;
    args.partition = &partition_;
    args.control = &control_;
    return args;
  }

  const deputy_plugin& plugin_;
  const Made made_;
  const deputy_str value_;
  const deputy_delegate* delegate_ = nullptr;
  deputy_instance* instance_ = nullptr;
  HostServices services_;
  const Graph graph_;
  const deputy_graph handle_;
  deputy_partition partition_{};
  const deputy_control control_{sizeof(deputy_control), 0, nullptr, [](void*) { return 0u; },
                                [](void*, uint32_t, deputy_str) {}};
  const std::vector<float> own_in_ = std::vector<float>(4, 1.0f);
  const float* const in_;
  std::vector<float> out_ = std::vector<float>(4, -1.0f), scalar_ = std::vector<float>(1);
};

}  // namespace deputy::host
