// The calls between the host and a worker process, and what each carries. A call of the host is answered by one return;
// before it the worker may send callbacks, each of which the host answers, and notices, which have no answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isolation/abi_wire.hpp"
#include "isolation/message_types.hpp"

namespace deputy::host {

// The result of a function that returns a status.
struct Outcome {
  bool failed = false;
  deputy_code code = DEPUTY_OK;
  deputy_node_id node = DEPUTY_NO_NODE;
  deputy_str message{};
};
template <class Wire>
void Pass(Wire& wire, Outcome& outcome) {
  wire.Number(outcome.failed);
  wire.Number(outcome.code);
  wire.Number(outcome.node);
  wire.Str(outcome.message);
}

struct Nothing {};
template <class Wire>
void Pass(Wire&, Nothing&) {}

// What is behind an outcome is there also after a failure.
template <class Payload>
struct Reply {
  Outcome outcome;
  Payload payload;
};
template <class Wire, class Payload>
void Pass(Wire& wire, Reply<Payload>& reply) {
  Pass(wire, reply.outcome);
  Pass(wire, reply.payload);
}

struct WireNumber {
  uint64_t value = 0;
};
template <class Wire>
void Pass(Wire& wire, WireNumber& number) {
  wire.Number(number.value);
}

struct TwoNumbers {
  uint64_t first = 0, second = 0;
};
template <class Wire>
void Pass(Wire& wire, TwoNumbers& numbers) {
  wire.Number(numbers.first);
  wire.Number(numbers.second);
}

struct Ids {
  const uint32_t* ids = nullptr;
  uint64_t count = 0;
};
template <class Wire>
void Pass(Wire& wire, Ids& ids) {
  wire.Counted(ids.ids, ids.count);
}

struct WireBytes {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};
template <class Wire>
void Pass(Wire& wire, WireBytes& bytes) {
  wire.Counted(bytes.data, bytes.size);
}

// A table `deputy_host` of this process, for the worker to make its own of.
struct HostForm {
  uint64_t key = 0;  // 0: none
  uint32_t thread_count = 1;
  bool has_helpers = false;
};
template <class Wire>
void Pass(Wire& wire, HostForm& host) {
  wire.Number(host.key);
  wire.Number(host.thread_count);
  wire.Number(host.has_helpers);
}

// The first message of a worker: the plugin's table, or why there is none.
struct Hello {
  uint32_t version = kWireVersion;
  deputy_str refusal{};  // not empty: there is no plugin, and `reason` is a RejectReason
  uint32_t reason = 0;
  uint32_t abi_version = 0, min_host_abi = 0, flags = 0;
  deputy_str id{}, vendor{}, plugin_version{};
  bool has_init = false, has_shutdown = false, has_get_extension = false;
};
template <class Wire>
void Pass(Wire& wire, Hello& hello) {
  wire.Number(hello.version);
  wire.Str(hello.refusal);
  for (uint32_t* number : {&hello.reason, &hello.abi_version, &hello.min_host_abi, &hello.flags}) wire.Number(*number);
  for (deputy_str* text : {&hello.id, &hello.vendor, &hello.plugin_version}) wire.Str(*text);
  for (bool* flag : {&hello.has_init, &hello.has_shutdown, &hello.has_get_extension}) wire.Number(*flag);
}

// Rows that count_of() and row_at() of a table give: how many it counts, and those that it has.
template <class T>
struct Rows {
  uint32_t counted = 0;
  std::vector<const T*> rows;
};
template <class Wire, class T>
void Pass(Wire& wire, Rows<T>& rows) {
  wire.Number(rows.counted);
  wire.List(rows.rows, [&](auto& row) { wire.Pointer(row, [&](auto& whole) { Pass(wire, whole); }); });
}

// An extension that a delegate has: which of its functions are there, a bit each in the order of the header.
struct TableForm {
  bool present = false;
  uint32_t struct_size = 0, flags = 0, functions = 0;
};
template <class Wire>
void Pass(Wire& wire, TableForm& table) {
  wire.Number(table.present);
  for (uint32_t* number : {&table.struct_size, &table.flags, &table.functions}) wire.Number(*number);
}

struct DelegateForm {
  uint32_t flags = 0;
  deputy_str id{}, description{};
  const deputy_opset* opsets = nullptr;
  uint64_t opset_count = 0;
  bool has_probe = false, has_get_extension = false, has_scratch_size = false, has_cancel = false;
  TableForm async, blob, capabilities, concurrency, device_control, devices, estimate, memory, operators, options,
      profiling, propose, resize, scheduling;
  uint32_t memory_imports = 0;  // deputy_ext_memory.imports
  Rows<deputy_capability> capability_rows;
  Rows<deputy_operator_info> operator_rows;
  Rows<deputy_option_info> option_rows;
};
template <class Wire>
void Pass(Wire& wire, DelegateForm& delegate) {
  wire.Number(delegate.flags);
  wire.Str(delegate.id);
  wire.Str(delegate.description);
  wire.CountedStructs(delegate.opsets, delegate.opset_count, [&](auto& opset) { Pass(wire, opset); });
  for (bool* flag :
       {&delegate.has_probe, &delegate.has_get_extension, &delegate.has_scratch_size, &delegate.has_cancel})
    wire.Number(*flag);
  for (TableForm* table :
       {&delegate.async, &delegate.blob, &delegate.capabilities, &delegate.concurrency, &delegate.device_control,
        &delegate.devices, &delegate.estimate, &delegate.memory, &delegate.operators, &delegate.options,
        &delegate.profiling, &delegate.propose, &delegate.resize, &delegate.scheduling})
    Pass(wire, *table);
  wire.Number(delegate.memory_imports);
  Pass(wire, delegate.capability_rows);
  Pass(wire, delegate.operator_rows);
  Pass(wire, delegate.option_rows);
}

struct PluginForm {
  uint32_t counted = 0;  // what delegate_count says
  std::vector<DelegateForm> delegates;
};
template <class Wire>
void Pass(Wire& wire, PluginForm& plugin) {
  wire.Number(plugin.counted);
  wire.List(plugin.delegates, [&](auto& delegate) { Pass(wire, delegate); });
}

// A call for a delegate, with the host that it is given.
struct DelegateCall {
  uint32_t delegate = 0;
  HostForm host;
};
template <class Wire>
void Pass(Wire& wire, DelegateCall& call) {
  wire.Number(call.delegate);
  Pass(wire, call.host);
}

template <class Args>
struct DelegateCallWith {
  DelegateCall call;
  Args args;
};
template <class Wire, class Args>
void Pass(Wire& wire, DelegateCallWith<Args>& message) {
  Pass(wire, message.call);
  Pass(wire, message.args);
}

// A call for an object of the worker's: an instance, an executable or a context.
template <class Args>
struct ObjectCall {
  uint64_t object = 0;
  Args args;
};
template <class Wire, class Args>
void Pass(Wire& wire, ObjectCall<Args>& message) {
  wire.Number(message.object);
  Pass(wire, message.args);
}

struct WireText {
  deputy_str text{};
};
template <class Wire>
void Pass(Wire& wire, WireText& text) {
  wire.Str(text.text);
}

// get_option and compatibility: how much fits, and what was written.
struct TextRequest {
  deputy_str name{};
  uint64_t capacity = 0;
  uint64_t size = 0;  // as the caller left it
};
template <class Wire>
void Pass(Wire& wire, TextRequest& request) {
  wire.Str(request.name);
  wire.Number(request.capacity);
  wire.Number(request.size);
}
struct WrittenText {
  uint64_t size = 0;
  WireBytes bytes;  // of the whole buffer, as far as it is known to be written
};
template <class Wire>
void Pass(Wire& wire, WrittenText& text) {
  wire.Number(text.size);
  Pass(wire, text.bytes);
}

struct OptionSetting {
  deputy_str name{}, value{};
};
template <class Wire>
void Pass(Wire& wire, OptionSetting& option) {
  wire.Str(option.name);
  wire.Str(option.value);
}

// Where bytes of a run are, as a number: the region, and the offset in it. Region 0 is that of the channel, which the
// worker may write and whose first bytes are not used; the others are inputs, and 0 is no memory.
inline constexpr uint32_t kOffsetBits = 40;
constexpr uint64_t PlaceAt(uint32_t region, uint64_t offset) {
  return static_cast<uint64_t>(region) << kOffsetBits | offset;
}
constexpr uint32_t RegionOf(uint64_t place) { return static_cast<uint32_t>(place >> kOffsetBits); }
constexpr uint64_t OffsetOf(uint64_t place) { return place & ((uint64_t{1} << kOffsetBits) - 1); }
inline constexpr uint32_t kMostRegions = 1u << (64 - kOffsetBits);

struct RegionForm {
  uint64_t id = 0;  // of SharedArenas
  uint32_t region = 0;
  uint64_t size = 0;
};
template <class Wire>
void Pass(Wire& wire, RegionForm& region) {
  wire.Number(region.id);
  wire.Number(region.region);
  wire.Number(region.size);
}

// How a run begins: by execute, or by submit of deputy.async.
struct RunStart {
  bool submits = false;
  uint32_t queue = 0;
  int32_t priority = 0;
};
template <class Wire>
void Pass(Wire& wire, RunStart& start) {
  wire.Number(start.submits);
  wire.Number(start.queue);
  wire.Number(start.priority);
}

// A run, with places as the data of its tensors.
struct RunForm {
  deputy_run_args args{};
  RunStart start;
  uint64_t region_size = 0;  // of the channel's region; its descriptor comes along when it is new
};
template <class Wire>
void Pass(Wire& wire, RunForm& run) {
  Pass(wire, run.args);
  Pass(wire, run.start);
  wire.Number(run.region_size);
}
struct RunAgainForm {
  RunStart start;
  uint64_t run = 0, deadline_ns = 0;
  uint32_t power_level = 0;
  deputy_dtype precision = 0;
  uint64_t region_size = 0;
  uint64_t scratch = 0;              // its place
  const uint64_t* places = nullptr;  // of the inputs, then of the outputs; 0 for those that are left out
  uint64_t count = 0;
};
template <class Wire>
void Pass(Wire& wire, RunAgainForm& run) {
  Pass(wire, run.start);
  for (uint64_t* number : {&run.run, &run.deadline_ns}) wire.Number(*number);
  wire.Number(run.power_level);
  wire.Number(run.precision);
  for (uint64_t* number : {&run.region_size, &run.scratch}) wire.Number(*number);
  wire.Counted(run.places, run.count);
}
// Runs for the delegate's choice, with tokens as their contexts.
struct ReadyRuns {
  const deputy_ready_run* const* runs = nullptr;
  uint32_t count = 0;
};
template <class Wire>
void Pass(Wire& wire, ReadyRuns& ready) {
  wire.CountedPointers(ready.runs, ready.count, [&](auto& run) { Pass(wire, run); });
}

// A wish for the tensor of this index.
struct IndexedWish {
  uint32_t index = 0;
  deputy_memory_wish wish{};
};
template <class Wire>
void Pass(Wire& wire, IndexedWish& wish) {
  wire.Number(wish.index);
  Pass(wire, wish.wish);
}

// A copy between two buffers, or one and memory that both processes share.
struct CopyForm {
  deputy_copy_side from{}, to{};
  uint64_t byte_size = 0;
  uint64_t region_size = 0;  // as in RunForm
};
template <class Wire>
void Pass(Wire& wire, CopyForm& copy) {
  Pass(wire, copy.from);
  Pass(wire, copy.to);
  wire.Number(copy.byte_size);
  wire.Number(copy.region_size);
}

struct NodeRun {
  deputy_node_id node = 0;
  RunForm run;
};
template <class Wire>
void Pass(Wire& wire, NodeRun& run) {
  wire.Number(run.node);
  Pass(wire, run.run);
}

// What profiled calls bring along: the events since the last of them.
struct Events {
  std::vector<deputy_profile_event> events;
};
template <class Wire>
void Pass(Wire& wire, Events& events) {
  wire.List(events.events, [&](auto& event) { Pass(wire, event); });
}

struct RestoreForm {
  deputy_compile_args args{};
  uint64_t size = 0;  // of the blob, whose descriptor comes along
};
template <class Wire>
void Pass(Wire& wire, RestoreForm& restore) {
  Pass(wire, restore.args);
  wire.Number(restore.size);
}

// Callbacks. Keys are the host's pointers: two values with one key have the same bytes as long as the worker holds one.
struct NodeForm {
  deputy_node_info info{};
  uint64_t key = 0;
  WireBytes primitive;
};
template <class Wire>
void Pass(Wire& wire, NodeForm& node) {
  Pass(wire, node.info);
  wire.Number(node.key);
  Pass(wire, node.primitive);
}
struct ValueForm {
  deputy_value_info info{};
  uint64_t key = 0;  // of the constant; 0: none, or it has no pointer
  WireBytes small;   // the constant's bytes where they are few
};
template <class Wire>
void Pass(Wire& wire, ValueForm& value) {
  Pass(wire, value.info);
  wire.Number(value.key);
  Pass(wire, value.small);
}
struct ConstantRange {
  deputy_value_id value = 0;
  uint64_t offset = 0, size = 0;
};
template <class Wire>
void Pass(Wire& wire, ConstantRange& range) {
  wire.Number(range.value);
  wire.Number(range.offset);
  wire.Number(range.size);
}
struct AttributeName {
  deputy_node_id node = 0;
  deputy_str name{};
};
template <class Wire>
void Pass(Wire& wire, AttributeName& name) {
  wire.Number(name.node);
  wire.Str(name.name);
}
struct WireClusters {
  Ids cluster_of;
  uint32_t count = 0;
};
template <class Wire>
void Pass(Wire& wire, WireClusters& clusters) {
  Pass(wire, clusters.cluster_of);
  wire.Number(clusters.count);
}
struct WireGroups {
  std::vector<Ids> groups;
};
template <class Wire>
void Pass(Wire& wire, WireGroups& groups) {
  wire.List(groups.groups, [&](auto& ids) { Pass(wire, ids); });
}
struct NamedBytes {
  uint64_t key = 0;  // 0: nothing under that name
  WireBytes bytes;
};
template <class Wire>
void Pass(Wire& wire, NamedBytes& named) {
  wire.Number(named.key);
  Pass(wire, named.bytes);
}
struct OutputShape {
  uint32_t output = 0;
  deputy_dtype dtype = 0;  // of an inferred type
  const int64_t* dims = nullptr;
  uint32_t rank = 0;
};
template <class Wire>
void Pass(Wire& wire, OutputShape& shape) {
  wire.Number(shape.output);
  wire.Number(shape.dtype);
  wire.Counted(shape.dims, shape.rank);
}
struct DebugIds {
  uint32_t id = 0;
  Ids nodes;
};
template <class Wire>
void Pass(Wire& wire, DebugIds& ids) {
  wire.Number(ids.id);
  Pass(wire, ids.nodes);
}

// Notices.
struct SupportAnswer {
  deputy_node_id node = 0;
  deputy_reason reason = 0;
  deputy_str detail{};
};
template <class Wire>
void Pass(Wire& wire, SupportAnswer& answer) {
  wire.Number(answer.node);
  wire.Number(answer.reason);
  wire.Str(answer.detail);
}
struct ProgressStep {
  uint32_t permille = 0;
  deputy_str step{};
};
template <class Wire>
void Pass(Wire& wire, ProgressStep& progress) {
  wire.Number(progress.permille);
  wire.Str(progress.step);
}
struct LogForm {
  uint64_t host = 0;  // the key; 0: of the worker itself
  deputy_log_level level = DEPUTY_LOG_INFO;
  deputy_str message{};
};
template <class Wire>
void Pass(Wire& wire, LogForm& line) {
  wire.Number(line.host);
  wire.Number(line.level);
  wire.Str(line.message);
}

}  // namespace deputy::host
