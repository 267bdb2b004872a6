// Every function of every table, in process and in a worker process: what the plugin sees and what the host gets must
// be the same, line by line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/memory_file.hpp"
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
#include "support/test_graph.hpp"
#include "unit/isolation/every_slot_model.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {
namespace {

deputy_str Str(std::string_view text) { return {text.data(), text.size()}; }
std::string View(const deputy_str& text) { return text.data == nullptr ? "" : std::string(text.data, text.size); }

// One run through the life of a plugin, and what happened in it.
class Life {
 public:
  Life(const deputy_plugin* plugin, const EverySlotModel& model, bool streams)
      : plugin_(*plugin),
        pool_(2),
        services_("life", &pool_, &DefaultPartitionHelpers()),
        view_(OfferAll(model.graph)) {
    host_ = services_.table();
    SetLogLevel(LogLevel::kInfo);
    SetLogSink([this](LogLevel, std::string_view source, std::string_view message) {
      if (source == "life") Say(std::string(message));
    });
    graph_ = std::make_unique<deputy_graph>(view_, nullptr, streams);
  }
  ~Life() {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void Run() {
    Said("deputy_plugin.init", plugin_.init(&plugin_, host_));
    Say("deputy_plugin.delegate_count", plugin_.delegate_count(&plugin_));
    Say("deputy_plugin.get_extension", plugin_.get_extension(&plugin_, "none") != nullptr);
    delegate_ = plugin_.delegate_at(&plugin_, 0);
    Say("deputy_plugin.delegate_at", plugin_.delegate_at(&plugin_, 1) != nullptr, View(delegate_->id),
        View(delegate_->description), delegate_->flags, delegate_->opset_count, View(delegate_->opsets[1].domain),
        delegate_->opsets[1].version, View(plugin_.id), View(plugin_.vendor), View(plugin_.version),
        plugin_.abi_version, plugin_.min_host_abi);
    Said("deputy_delegate.probe", delegate_->probe(delegate_, host_));
    Say("deputy_delegate.get_extension", delegate_->get_extension(delegate_, "com.example.none/1") != nullptr);
    Tables();
    OpenInstance();
    Place();
    Compile();
    Blobs();
    Runs();
    Profile();
    Operators();
    Memory();
    Queues();
    delegate_->context_destroy(context_);
    Say("deputy_delegate.context_destroy");
    delegate_->executable_destroy(executable_);
    Say("deputy_delegate.executable_destroy");
    delegate_->close(instance_);
    Say("deputy_delegate.close");
    plugin_.shutdown(&plugin_);
    Say("deputy_plugin.shutdown");
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  template <class... Values>
  void Say(const std::string& text, const Values&... values) {
    std::ostringstream line;
    line << text;
    ((line << " " << values), ...);
    const std::lock_guard lock(mutex_);
    lines_.push_back(line.str());
  }
  template <class... Values>
  void Said(const std::string& text, deputy_status* status, const Values&... values) {
    Say("  host: " + text, host_->status_code(host_->self, status), host_->status_node(host_->self, status),
        View(host_->status_message(host_->self, status)), values...);
    host_->status_release(host_->self, status);
  }
  template <class T>
  const T* Extension(const char* id) const {
    return static_cast<const T*>(delegate_->get_extension(delegate_, id));
  }
  static std::string List(const uint32_t* ids, uint64_t count) {
    std::string list = ids == nullptr ? "none" : "";
    for (uint64_t i = 0; ids != nullptr && i < count; ++i) list += std::to_string(ids[i]) + ",";
    return list;
  }
  // Every sink refuses what it is given for the second time, and says so.
  deputy_status* Refuse(bool refused) const {
    if (!refused) return nullptr;
    return host_->status_new(host_->self, DEPUTY_INVALID_ARGUMENT, 1, "not again", 9);
  }

  void Tables() {
    const auto* capabilities = Extension<deputy_ext_capabilities>(DEPUTY_EXT_CAPABILITIES);
    Say("deputy_ext_capabilities.capability_count", capabilities->capability_count(delegate_));
    for (uint32_t i = 0; i < 3; ++i) {
      const deputy_capability* row = capabilities->capability_at(delegate_, i);
      Say("deputy_ext_capabilities.capability_at", row != nullptr);
      if (row != nullptr)
        Say("  row", row->struct_size, row->min_version, row->max_version, row->min_rank, row->max_rank, row->layouts,
            View(row->domain), View(row->op_type), row->dtype_count, View(row->note),
            row->dtypes == nullptr ? 0 : row->dtypes[1]);
    }
    const auto* options = Extension<deputy_ext_options>(DEPUTY_EXT_OPTIONS);
    Say("deputy_ext_options.option_count", options->option_count(delegate_));
    for (uint32_t i = 0; i < 3; ++i) {
      const deputy_option_info* row = options->option_at(delegate_, i);
      Say("deputy_ext_options.option_at", row != nullptr);
      if (row != nullptr)
        Say("  row", row->type, View(row->name), View(row->help), View(row->unit), View(row->default_value),
            row->choice_count, row->choices == nullptr ? "" : View(row->choices[2]), row->int_minimum, row->int_maximum,
            row->minimum, row->maximum, row->flags);
    }
    const auto* operators = Extension<deputy_ext_operators>(DEPUTY_EXT_OPERATORS);
    Say("deputy_ext_operators.operator_count", operators->operator_count(delegate_));
    const deputy_operator_info* row = operators->operator_at(delegate_, 0);
    Say("deputy_ext_operators.operator_at", row->since_version, View(row->domain), View(row->op_type), View(row->help),
        row->min_inputs, row->max_inputs, row->min_outputs, row->max_outputs, row->flags, row->attribute_count,
        View(row->attributes[0].name), View(row->attributes[0].help), row->attributes[0].type,
        row->attributes[0].required, operators->operator_at(delegate_, 1) != nullptr);
    const deputy_device_sink sink{sizeof sink, 0, this, [](void* self, const deputy_device_info* device) {
                                    Life& life = *static_cast<Life*>(self);
                                    life.Say("deputy_device_sink.add", device->kind, View(device->id),
                                             View(device->name), View(device->driver), device->memory_bytes,
                                             device->frequency_hz);
                                    return life.Refuse(device->id.size == 0);
                                  }};
    Said("enumerate", Extension<deputy_ext_devices>(DEPUTY_EXT_DEVICES)->enumerate(delegate_, host_, &sink));
    const auto* blob = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB);
    Say("flags of blobs", blob->flags);
    for (const char* text : {"every format 1", "other"}) Said("check", blob->check(delegate_, host_, Str(text)));
  }

  void OpenInstance() {
    const deputy_kv options[] = {{Str("mode"), Str("refuse")}, {Str("depth"), Str("")}};
    deputy_open_args args{};
    args.struct_size = sizeof args;
    args.flags = DEPUTY_OPEN_COMPILE_ONLY;
    args.host = host_;
    args.name = Str("life");
    args.device = Str("pci-0");
    args.options = options;
    args.option_count = 2;
    args.domain = 77;
    Said("open", delegate_->open(delegate_, &args, &instance_), instance_ != nullptr);
    args.options = options + 1;
    args.option_count = 1;
    args.flags = 0;
    Said("open", delegate_->open(delegate_, &args, &instance_), instance_ != nullptr);
    const auto* table = Extension<deputy_ext_options>(DEPUTY_EXT_OPTIONS);
    Said("set_option", table->set_option(instance_, Str("depth"), Str("twelve")));
    for (const auto& [name, capacity] : {std::pair{"depth", 64u}, std::pair{"depth", 3u}, std::pair{"none", 64u}}) {
      char buffer[64] = "unchanged";
      uint64_t size = 4711;
      Said("get_option", table->get_option(instance_, Str(name), buffer, capacity, &size), capacity == 64 ? buffer : "",
           size);
    }
    uint32_t flags = 99;
    Said("concurrency", Extension<deputy_ext_concurrency>(DEPUTY_EXT_CONCURRENCY)->concurrency(instance_, &flags),
         flags);
    deputy_device_state state{};
    state.struct_size = sizeof state;
    const auto* control = Extension<deputy_ext_device_control>(DEPUTY_EXT_DEVICE_CONTROL);
    Said("device_state", control->device_state(instance_, &state), state.level_requested, state.level_granted,
         state.frequency_requested_hz, state.frequency_granted_hz, state.busy_ns, state.runs, View(state.device_name));
    state = {};
    state.struct_size = DEPUTY_END_OF(deputy_device_state, level_granted);
    Said("device_state", control->device_state(instance_, &state), state.level_granted, state.busy_ns);
    uint64_t device_ns = 0, host_ns = 0;
    Said("correlate", Extension<deputy_ext_profiling>(DEPUTY_EXT_PROFILING)->correlate(instance_, &device_ns, &host_ns),
         device_ns, host_ns);
  }

  void Place() {
    const deputy_support_sink support{
        sizeof support, 0, this, [](void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
          static_cast<Life*>(self)->Say("deputy_support_sink.answer", node, reason, View(detail));
        }};
    Said("query_support", delegate_->query_support(instance_, graph_.get(), &support));
    const auto* propose = Extension<deputy_ext_propose>(DEPUTY_EXT_PROPOSE);
    const deputy_claim_sink claims{
        sizeof claims, 0, this, [](void* self, const deputy_claim* claim) {
          Life& life = *static_cast<Life*>(self);
          life.Say("deputy_claim_sink.add", List(claim->nodes, claim->node_count),
                   List(claim->inputs, claim->input_count), List(claim->outputs, claim->output_count));
          const bool again = std::count(life.claims_.begin(), life.claims_.end(), claim->handle);
          if (!again) life.claims_.push_back(claim->handle);
          return life.Refuse(again);
        }};
    Said("propose", propose->propose(instance_, graph_.get(), &claims));
    ASSERT_EQ(claims_.size(), 2u);
    const deputy_group_sink groups{sizeof groups, 0, this, [](void* self, const deputy_group* group) {
                                     Life& life = *static_cast<Life*>(self);
                                     life.Say("deputy_group_sink.add", List(group->nodes, group->node_count));
                                     return life.Refuse(life.grouped_++ != 0);
                                   }};
    Said("groups", propose->groups(instance_, graph_.get(), &groups));
    partition_ = {sizeof partition_, 1, graph_.get(), kNodes, kInputs, kOutputs, 1, 1, claims_[0], Str("life.0")};
    const deputy_estimate_sink estimate{sizeof estimate, 0, this, [](void* self, const deputy_estimate* given) {
                                          static_cast<Life*>(self)->Say("deputy_estimate_sink.answer", given->feasible,
                                                                        View(given->reason), given->latency_ns,
                                                                        given->memory_bytes, given->energy_nj,
                                                                        List(given->give_back, given->give_back_count));
                                        }};
    Said("estimate", Extension<deputy_ext_estimate>(DEPUTY_EXT_ESTIMATE)->estimate(instance_, &partition_, &estimate));
    propose->claim_release(instance_, claims_[1]);
    Say("deputy_ext_propose.claim_release");
  }

  deputy_compile_args CompileArgs(int32_t priority) {
    deputy_compile_args args{};
    args.struct_size = sizeof args;
    args.partition = &partition_;
    args.precision = &precision_;
    args.precision_count = 1;
    args.deadline_ns = 12345678901234;
    args.control = &control_;
    args.priority = priority;
    return args;
  }

  void Compile() {
    control_ = {sizeof control_, 0, this, [](void* self) { return static_cast<Life*>(self)->cancel_.load(); },
                [](void* self, uint32_t permille, deputy_str step) {
                  static_cast<Life*>(self)->Say("deputy_control.progress", permille, View(step));
                }};
    precision_ = {0, DEPUTY_DTYPE_FLOAT16};
    deputy_compile_args args = CompileArgs(2);  // fails
    Said("compile", delegate_->compile(instance_, &args, &executable_), executable_ != nullptr);
    partition_.claim = nullptr;  // consumed
    cancel_ = 1;
    args = CompileArgs(3);  // waits
    Said("compile", delegate_->compile(instance_, &args, &executable_), executable_ != nullptr);
    cancel_ = 0;
    args = CompileArgs(0);
    Said("compile", delegate_->compile(instance_, &args, &executable_), executable_ != nullptr);
  }

  void Blobs() {
    const auto* table = Extension<deputy_ext_blob>(DEPUTY_EXT_BLOB);
    char buffer[64] = "";
    for (const uint64_t capacity : {64u, 4u}) {
      uint64_t size = 0;
      Said("compatibility", table->compatibility(instance_, buffer, capacity, &size), size, std::string(buffer));
    }
    const deputy_blob_sink sink{sizeof sink, 0, this, [](void* self, const void* data, uint64_t size) {
                                  Life& life = *static_cast<Life*>(self);
                                  life.blob_.append(static_cast<const char*>(data), size);
                                  return life.Refuse(life.blob_.size() > (4u << 20));
                                }};
    Said("serialize", table->serialize(executable_, &sink), blob_.size(), std::hash<std::string>()(blob_));
    Say("deputy_blob_sink.write", blob_.substr(0, 6));
    Said("serialize", table->serialize(executable_, &sink));
    delegate_->executable_destroy(executable_);
    executable_ = nullptr;
    for (const int32_t priority : {2, 0}) {
      alignas(64) static char bytes[70000] = "bytes";
      released_ = 0;
      const deputy_blob blob{sizeof blob,  0,    bytes,
                             sizeof bytes, this, [](void* self) { ++static_cast<Life*>(self)->released_; }};
      const deputy_compile_args args = CompileArgs(priority);
      Said("restore", table->restore(instance_, &args, &blob, &executable_), executable_ != nullptr);
      if (executable_ != nullptr) delegate_->executable_destroy(std::exchange(executable_, nullptr));
      Say("deputy_blob.release", released_);
    }
    const deputy_compile_args args = CompileArgs(0);
    Said("compile", delegate_->compile(instance_, &args, &executable_));
  }

  // One run of one input and two outputs, the second of which may be sized by the run.
  void RunOnce(uint32_t power_level, bool open) {
    WithRun(power_level, open, [&](const deputy_run_args& args, const float* out) {
      if (power_level == 3) delegate_->cancel(context_, run_);
      Said("execute", delegate_->execute(context_, &args), out[0], out[3], sized_[0], sized_[2]);
    });
  }

  // The same by a queue, of a run that may be cancelled while it waits.
  void SubmitOnce(uint32_t power_level, bool open) {
    submits_ = true;
    WithRun(power_level, open, [&](const deputy_run_args& args, const float* out) {
      const auto* table = Extension<deputy_ext_async>(DEPUTY_EXT_ASYNC);
      deputy_async_args submitted{};
      submitted.struct_size = sizeof submitted;
      submitted.run = &args;
      submitted.queue = 2;
      submitted.priority = -4;
      deputy_async_run* run = nullptr;
      Said("submit", table->submit(context_, &submitted, &run), run != nullptr);
      if (run == nullptr) return;
      uint32_t finished = 9;
      if (power_level == 3) {
        Said("wait", table->wait(run, 1));
        Said("poll", table->poll(run, &finished), finished);
        Said("cancel", table->cancel(run));
      }
      Said("wait", table->wait(run, 0), out[0], out[3], sized_[0], sized_[2]);
      Said("poll", table->poll(run, &finished), finished);
      Said("cancel", table->cancel(run));
      Said("wait", table->wait(run, 1));
      table->run_destroy(run);
    });
  }

  template <class Use>
  void WithRun(uint32_t power_level, bool open, Use use) {
    float in[] = {1, 2, 3, 4}, out[] = {9, 9, 9, 9};
    const int64_t four = 4, unknown = -1;
    deputy_tensor input{}, fixed{}, sized{};
    for (deputy_tensor* tensor : {&input, &fixed, &sized}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 1;
      tensor->dims = &four;
      tensor->byte_size = 16;
    }
    input.data = in;
    fixed.data = out;
    sized.dims = &unknown;
    sized.byte_size = 0;
    const deputy_tensor *const inputs[] = {&input}, *const outputs[] = {&fixed, &sized};
    const deputy_output_allocator allocator{
        sizeof allocator, 0, this,
        [](void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data) -> deputy_status* {
          Life& life = *static_cast<Life*>(self);
          if (output != 1) return life.Refuse(true);
          if (!life.submits_) life.Say("allocated", output, rank, dims[0]);  // else at any time
          *data = life.sized_;
          return nullptr;
        }};
    alignas(64) static char scratch[1000];
    deputy_run_args args{};
    args.struct_size = sizeof args;
    args.input_count = 1;
    args.output_count = open ? 2 : 1;
    args.inputs = inputs;
    args.outputs = outputs;
    args.run = ++run_;
    args.deadline_ns = 99'000'000'000'000'000;  // not over: the host ends a worker a second after it
    args.allocator = open ? &allocator : nullptr;
    args.scratch = scratch;
    args.scratch_size = delegate_->scratch_size(context_);
    args.power_level = power_level;
    args.precision = DEPUTY_DTYPE_FLOAT16;
    Say("deputy_delegate.scratch_size", args.scratch_size);
    use(args, out);
  }

  void Queues() {
    Say("flags of queues", Extension<deputy_ext_async>(DEPUTY_EXT_ASYNC)->flags);
    const auto* table = Extension<deputy_ext_scheduling>(DEPUTY_EXT_SCHEDULING);
    for (const uint32_t size : {static_cast<uint32_t>(sizeof(deputy_queue_limits)),
                                uint32_t{DEPUTY_END_OF(deputy_queue_limits, most_runs_per_context)}}) {
      deputy_queue_limits limits{};
      limits.struct_size = size;
      Said("limits", table->limits(instance_, &limits), limits.queue_count, limits.most_runs_in_flight,
           limits.most_runs_per_context, View(limits.exclusive_group));
    }
    const deputy_ready_run first{sizeof first, -1, context_, 5, 7}, second{sizeof second, 9, context_, 6, 0};
    const deputy_ready_run* const ready[] = {&first, &second, &first};
    for (const uint32_t count : {2u, 3u}) {
      uint32_t chosen = 0, queue = 0;
      Said("choose", table->choose(instance_, ready, count, &chosen, &queue), chosen, queue);
    }
    for (const uint32_t power_level : {0u, 2u, 3u, 5u, 0u}) SubmitOnce(power_level, false);
    for (int again = 0; again < 2; ++again) SubmitOnce(0, true);
  }

  void Runs() {
    for (const int32_t priority : {-1, 4}) {
      const deputy_context_args args{sizeof args, 0, priority, 0};
      Said("context_create", delegate_->context_create(executable_, &args, &context_), context_ != nullptr);
    }
    RunOnce(0, false);
    RunOnce(0, true);
    RunOnce(2, false);
    RunOnce(3, false);
    Say("deputy_delegate.cancel");
    for (const int64_t rows : {1, 2, 3}) {
      const int64_t dims[] = {rows, 5};
      deputy_tensor tensor{};
      tensor.struct_size = sizeof tensor;
      tensor.dtype = DEPUTY_DTYPE_FLOAT32;
      tensor.rank = 2;
      tensor.dims = dims;
      tensor.byte_size = static_cast<uint64_t>(rows) * 20;
      const deputy_tensor* const tensors[] = {&tensor};
      const deputy_resize_args args{sizeof args, 1, 1, 0, tensors, tensors};
      deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
      Said("resize", Extension<deputy_ext_resize>(DEPUTY_EXT_RESIZE)->resize(context_, &args, &outcome), outcome);
    }
  }

  void Memory() {
    const auto* table = Extension<deputy_ext_memory>(DEPUTY_EXT_MEMORY);
    for (const uint32_t index : {0u, 2u}) {
      deputy_memory_wish wish{};
      wish.struct_size = sizeof wish;
      wish.alignment = 64;
      wish.byte_size = 100;
      Said("wish_of", table->wish_of(context_, index, &wish), wish.memory, wish.layout, wish.layout_tag, wish.alignment,
           wish.byte_size);
    }
    uint64_t handle = 0;
    for (const uint64_t bytes : {uint64_t{16}, uint64_t{17}}) {
      const deputy_buffer_request request{sizeof request, DEPUTY_BUFFER_CPU_READS, bytes, 256};
      Said("allocate", table->allocate(instance_, &request, &handle), handle);
    }
    const Result<Descriptor> memory = SealedMemory(4096);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(pwrite(memory->get(), "!", 1, 64), 1);
    for (const uint64_t offset : {uint64_t{64}, uint64_t{4096}}) {
      uint64_t imported = 0;
      const deputy_shared_buffer shared{
          sizeof shared, DEPUTY_MEMORY_HANDLE_MEMFD, memory->get(), offset, 16, {}, nullptr, 0, 0, 0};
      Said("import", table->import(instance_, &shared, &imported), imported);
    }
    std::array<char, 8> bytes = {'1', '2', '3', '4', '5', '6', '7', '8'};
    const deputy_copy_side here{sizeof here, 0, bytes.data(), 0, 0}, part{sizeof part, 0, nullptr, handle, 4},
        whole{sizeof whole, 0, nullptr, handle, 0}, none{sizeof none, 0, nullptr, handle + 1, 0};
    for (const auto& [from, to, size] : {std::tuple{&here, &part, uint64_t{8}},
                                         {&part, &whole, 4},
                                         {&whole, &here, 6},
                                         {&none, &here, 8},
                                         {&here, &whole, 0}}) {
      deputy_copy_args args{};
      args.struct_size = sizeof args;
      args.from = from;
      args.to = to;
      args.byte_size = size;
      deputy_async_run* run = nullptr;
      Said("copy", table->copy(instance_, &args, &run), std::string(bytes.begin(), bytes.end()), run != nullptr);
    }
    table->release(instance_, handle);
    Say("  host: release");
  }

  void Profile() {
    const auto* table = Extension<deputy_ext_profiling>(DEPUTY_EXT_PROFILING);
    const deputy_debug_map_sink map{sizeof map, 0, this,
                                    [](void* self, uint32_t id, const deputy_node_id* nodes, uint64_t count) {
                                      Life& life = *static_cast<Life*>(self);
                                      life.Say("deputy_debug_map_sink.add", id, List(nodes, count));
                                      return life.Refuse(life.mapped_++ != 0);
                                    }};
    Said("debug_map", table->debug_map(executable_, &map));
    const deputy_profile_sink sink{sizeof sink, 0, this, [](void* self, const deputy_profile_event* event) {
                                     // Live events come at the end of the call from a worker, so they have their own
                                     // list.
                                     std::ostringstream line;
                                     line << event->id << " " << event->clock << " " << event->begin_ns << " "
                                          << event->end_ns << " " << View(event->name) << " " << View(event->metadata);
                                     static_cast<Life*>(self)->events_.push_back(line.str());
                                   }};
    Said("set_profiling", table->set_profiling(context_, &sink));
    RunOnce(0, false);
    Said("collect", table->collect(context_, &sink));
    Said("set_profiling", table->set_profiling(context_, nullptr));
    for (const std::string& event : events_) Say("deputy_profile_sink.event", event);
    RunOnce(0, false);
  }

  void Operators() {
    const auto* table = Extension<deputy_ext_operators>(DEPUTY_EXT_OPERATORS);
    const deputy_type_sink sink{
        sizeof sink, 0, this, [](void* self, uint32_t output, deputy_dtype dtype, const int64_t* dims, uint32_t rank) {
          Life& life = *static_cast<Life*>(self);
          life.Say("deputy_type_sink.set_output", output, dtype, rank, dims == nullptr, rank == 0 ? 0 : dims[0]);
          return life.Refuse(output == 9);
        }};
    Said("infer", table->infer(delegate_, host_, graph_.get(), 1, &sink));
    float in[] = {5, 6}, out[] = {0, 0};
    const int64_t two = 2;
    deputy_tensor input{}, output{};
    input.struct_size = output.struct_size = sizeof input;
    input.dtype = output.dtype = DEPUTY_DTYPE_FLOAT32;
    input.rank = output.rank = 1;
    input.dims = output.dims = &two;
    input.byte_size = output.byte_size = 8;
    input.data = in;
    output.data = out;
    const deputy_tensor *const inputs[] = {&input, nullptr}, *const outputs[] = {&output};
    deputy_run_args args{};
    args.struct_size = sizeof args;
    args.input_count = 2;
    args.output_count = 1;
    args.inputs = inputs;
    args.outputs = outputs;
    Said("compute", table->compute(delegate_, host_, graph_.get(), 1, &args), out[0], out[1]);
  }

  static constexpr deputy_node_id kNodes[] = {0};
  static constexpr deputy_value_id kInputs[] = {0}, kOutputs[] = {1};

  const deputy_plugin& plugin_;
  ThreadPool pool_;
  HostServices services_;
  const GraphView view_;
  const deputy_host* host_ = nullptr;
  const deputy_delegate* delegate_ = nullptr;
  std::unique_ptr<deputy_graph> graph_;
  deputy_instance* instance_ = nullptr;
  deputy_executable* executable_ = nullptr;
  deputy_context* context_ = nullptr;
  std::vector<void*> claims_;
  int grouped_ = 0, mapped_ = 0, released_ = 0;
  deputy_partition partition_{};
  deputy_node_precision precision_{};
  deputy_control control_{};
  std::atomic<uint32_t> cancel_{0};
  std::string blob_;
  uint64_t run_ = 0;
  bool submits_ = false;
  alignas(64) float sized_[3] = {7, 7, 7};
  std::vector<std::string> events_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

std::vector<std::string> LinesOf(const deputy_plugin* plugin, bool streams = false) {
  const EverySlotModel model;
  Life life(plugin, model, streams);
  life.Run();
  return life.lines();
}

// `streams`: large constants have no pointer.
void Compare(bool streams) {
  const std::vector<std::string> here = LinesOf(InProcess(EverySlotPath()), streams);
  const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
  ASSERT_NE(remote, nullptr);
  const std::vector<std::string> there = LinesOf(remote->table(), streams);
  for (size_t i = 0; i < std::min(here.size(), there.size()); ++i) ASSERT_EQ(there[i], here[i]) << "line " << i;
  EXPECT_EQ(there.size(), here.size());
  EXPECT_EQ(std::count(there.begin(), there.end(), "constant aligned=0 sum=0") != 0, streams);
}

TEST(EverySlot, IsTheSameInAWorkerProcess) { Compare(false); }
TEST(EverySlot, IsTheSameInAWorkerProcessThatStreamsConstants) { Compare(true); }

// A new function of the ABI needs a call here, and with it a proxied one.
TEST(EverySlot, IsCalled) {
  const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
  ASSERT_NE(remote, nullptr);
  std::set<std::string> called;
  for (const std::string& line : LinesOf(remote->table())) called.insert(line.substr(0, line.find(' ')));
  for (const char* slot : kSlots) EXPECT_EQ(called.count(slot), 1u) << slot;
}

}  // namespace
}  // namespace deputy::host::testing
