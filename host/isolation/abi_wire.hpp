// The structs of the plugin ABI on the wire: one list of fields each, for both directions. Members that are functions
// do not travel: the receiver puts its own there. Neither do the bytes of tensors and constants, which are in memory
// that both processes share (shared_memory.hpp); deputy_tensor.data is a number here, of which the sender says the
// meaning.
#pragma once

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/draft/memory.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "isolation/wire.hpp"

namespace deputy::host {

template <class Wire>
void Pass(Wire& wire, deputy_quantization& quantization) {
  wire.Head(quantization);
  wire.Number(quantization.axis);
  wire.Number(quantization.count);
  wire.Array(quantization.scales, quantization.count);
  wire.Array(quantization.zero_points, quantization.count);
}

template <class Wire>
void Pass(Wire& wire, deputy_tensor& tensor) {
  wire.Head(tensor);
  wire.Number(tensor.dtype);
  wire.Number(tensor.layout);
  wire.Number(tensor.rank);
  wire.Array(tensor.dims, tensor.rank);
  wire.Array(tensor.strides, tensor.rank);
  wire.Pointer(tensor.quantization, [&](auto& quantization) { Pass(wire, quantization); });
  wire.Number(tensor.memory);
  wire.Number(tensor.layout_tag);
  wire.Handle(tensor.data);
  wire.Number(tensor.domain);
  wire.Number(tensor.handle);
  wire.Number(tensor.offset);
  wire.Number(tensor.byte_size);
}

// Without `strides`.
template <class Wire>
void Pass(Wire& wire, deputy_memory_wish& wish) {
  wire.Head(wish);
  wire.Number(wish.memory);
  wire.Number(wish.layout);
  wire.Number(wish.layout_tag);
  wire.Number(wish.alignment);
  wire.Number(wish.byte_size);
}

template <class Wire>
void Pass(Wire& wire, deputy_buffer_request& request) {
  wire.Head(request);
  wire.Number(request.uses);
  wire.Number(request.byte_size);
  wire.Number(request.alignment);
}

template <class Wire>
void Pass(Wire& wire, deputy_copy_side& side) {
  wire.Head(side);
  wire.Handle(side.data);  // a place, as deputy_tensor.data
  wire.Number(side.handle);
  wire.Number(side.offset);
}

template <class Wire>
void Pass(Wire& wire, deputy_queue_limits& limits) {
  wire.Head(limits);
  for (uint32_t* number : {&limits.queue_count, &limits.most_runs_in_flight, &limits.most_runs_per_context})
    wire.Number(*number);
  wire.Str(limits.exclusive_group);
}

template <class Wire>
void Pass(Wire& wire, deputy_ready_run& run) {
  wire.Head(run);
  wire.Number(run.priority);
  wire.Handle(run.context);  // a token
  wire.Number(run.ready_since_ns);
  wire.Number(run.deadline_ns);
}

template <class Wire, class Tensors>
void PassTensors(Wire& wire, Tensors& tensors, uint32_t& count) {
  wire.CountedPointers(tensors, count, [&](auto& tensor) { Pass(wire, tensor); });
}

// Without `primitive`, which is kept longer than the rest.
template <class Wire>
void Pass(Wire& wire, deputy_node_info& info) {
  wire.Head(info);
  wire.Number(info.id);
  for (deputy_str* text : {&info.domain, &info.op_type, &info.name}) wire.Str(*text);
  wire.Number(info.since_version);
  wire.Number(info.flags);
  wire.Counted(info.inputs, info.input_count);
  wire.Counted(info.outputs, info.output_count);
}

template <class Wire>
void Pass(Wire& wire, deputy_extent& extent) {
  wire.Number(extent.value);
  wire.Number(extent.minimum);
  wire.Number(extent.maximum);
  wire.Number(extent.symbol);
  wire.Str(extent.name);
}

// Without `constant`.
template <class Wire>
void Pass(Wire& wire, deputy_value_info& info) {
  wire.Head(info);
  wire.Number(info.id);
  wire.Str(info.name);
  wire.Number(info.dtype);
  wire.Number(info.rank);
  wire.Array(info.dims, info.rank);
  wire.Structs(info.extents, info.rank, [&](auto& extent) { Pass(wire, extent); });
  wire.Number(info.flags);
  wire.Number(info.byte_size);
  wire.Pointer(info.quantization, [&](auto& quantization) { Pass(wire, quantization); });
}

// With the bytes of its tensor.
template <class Wire>
void Pass(Wire& wire, deputy_attribute& attribute) {
  wire.Head(attribute);
  wire.Number(attribute.type);
  wire.Number(attribute.i);
  wire.Number(attribute.f);
  wire.Str(attribute.s);
  wire.Number(attribute.count);
  wire.Array(attribute.ints, attribute.count);
  wire.Array(attribute.floats, attribute.count);
  wire.Structs(attribute.strings, attribute.count, [&](auto& text) { wire.Str(text); });
  wire.Pointer(attribute.tensor, [&](auto& tensor) {
    const auto* data = static_cast<const uint8_t*>(tensor.data);
    Pass(wire, tensor);
    wire.Array(data, tensor.byte_size);
    tensor.data = const_cast<uint8_t*>(data);
  });
}

// Without `graph`, which the receiver makes; the claim is a token of the worker's.
template <class Wire>
void Pass(Wire& wire, deputy_partition& partition) {
  wire.Head(partition);
  wire.Counted(partition.nodes, partition.node_count);
  wire.Counted(partition.inputs, partition.input_count);
  wire.Counted(partition.outputs, partition.output_count);
  wire.Handle(partition.claim);
  wire.Str(partition.name);
}

template <class Wire>
void Pass(Wire& wire, deputy_compile_args& args) {
  wire.Head(args);
  wire.Number(args.flags);
  wire.Pointer(args.partition, [&](auto& partition) { Pass(wire, partition); });
  wire.Counted(args.precision, args.precision_count);
  wire.Number(args.deadline_ns);
  wire.Handle(args.control);  // NULL, or not
  wire.Number(args.priority);
}

template <class Wire>
void Pass(Wire& wire, deputy_context_args& args) {
  wire.Head(args);
  wire.Number(args.flags);
  wire.Number(args.priority);
}

template <class Wire>
void Pass(Wire& wire, deputy_run_args& args) {
  wire.Head(args);
  wire.Number(args.flags);
  PassTensors(wire, args.inputs, args.input_count);
  PassTensors(wire, args.outputs, args.output_count);
  wire.Number(args.run);
  wire.Number(args.deadline_ns);
  wire.Handle(args.allocator);  // NULL, or not
  wire.Handle(args.scratch);    // a place, as deputy_tensor.data
  wire.Number(args.scratch_size);
  wire.Number(args.power_level);
  wire.Number(args.precision);
}

template <class Wire>
void Pass(Wire& wire, deputy_open_args& args) {
  wire.Head(args);
  wire.Number(args.flags);
  wire.Str(args.name);
  wire.Str(args.device);
  wire.CountedStructs(args.options, args.option_count, [&](auto& option) {
    wire.Str(option.key);
    wire.Str(option.value);
  });
  wire.Number(args.domain);
}

template <class Wire>
void Pass(Wire& wire, deputy_claim& claim) {
  wire.Head(claim);
  wire.Counted(claim.nodes, claim.node_count);
  wire.Counted(claim.inputs, claim.input_count);
  wire.Counted(claim.outputs, claim.output_count);
  wire.Handle(claim.handle);  // a token
}

template <class Wire>
void Pass(Wire& wire, deputy_group& group) {
  wire.Head(group);
  wire.Counted(group.nodes, group.node_count);
}

template <class Wire>
void Pass(Wire& wire, deputy_estimate& estimate) {
  wire.Head(estimate);
  wire.Number(estimate.feasible);
  wire.Str(estimate.reason);
  wire.Number(estimate.latency_ns);
  wire.Number(estimate.memory_bytes);
  wire.Number(estimate.energy_nj);
  wire.Counted(estimate.give_back, estimate.give_back_count);
}

template <class Wire>
void Pass(Wire& wire, deputy_device_info& device) {
  wire.Head(device);
  wire.Number(device.kind);
  for (deputy_str* text : {&device.id, &device.name, &device.driver}) wire.Str(*text);
  wire.Number(device.memory_bytes);
  wire.Number(device.frequency_hz);
}

template <class Wire>
void Pass(Wire& wire, deputy_device_state& state) {
  wire.Head(state);
  wire.Number(state.level_requested);
  wire.Number(state.level_granted);
  wire.Number(state.frequency_requested_hz);
  wire.Number(state.frequency_granted_hz);
  wire.Number(state.busy_ns);
  wire.Number(state.runs);
  wire.Str(state.device_name);
}

template <class Wire>
void Pass(Wire& wire, deputy_profile_event& event) {
  wire.Head(event);
  wire.Number(event.id);
  wire.Number(event.clock);
  wire.Number(event.begin_ns);
  wire.Number(event.end_ns);
  wire.Str(event.name);
  wire.Str(event.metadata);
}

template <class Wire>
void Pass(Wire& wire, deputy_resize_args& args) {
  wire.Head(args);
  wire.Number(args.flags);
  PassTensors(wire, args.inputs, args.input_count);
  PassTensors(wire, args.outputs, args.output_count);
}

template <class Wire>
void Pass(Wire& wire, deputy_option_info& option) {
  wire.Head(option);
  wire.Number(option.type);
  for (deputy_str* text : {&option.name, &option.help, &option.unit, &option.default_value}) wire.Str(*text);
  wire.CountedStructs(option.choices, option.choice_count, [&](auto& choice) { wire.Str(choice); });
  wire.Number(option.int_minimum);
  wire.Number(option.int_maximum);
  wire.Number(option.minimum);
  wire.Number(option.maximum);
  wire.Number(option.flags);
}

template <class Wire>
void Pass(Wire& wire, deputy_capability& row) {
  wire.Head(row);
  for (uint32_t* number : {&row.min_version, &row.max_version, &row.min_rank, &row.max_rank, &row.layouts})
    wire.Number(*number);
  for (deputy_str* text : {&row.domain, &row.op_type, &row.note}) wire.Str(*text);
  wire.Counted(row.dtypes, row.dtype_count);
}

template <class Wire>
void Pass(Wire& wire, deputy_operator_info& info) {
  wire.Head(info);
  wire.Number(info.since_version);
  for (deputy_str* text : {&info.domain, &info.op_type, &info.help}) wire.Str(*text);
  for (uint32_t* number : {&info.min_inputs, &info.max_inputs, &info.min_outputs, &info.max_outputs, &info.flags})
    wire.Number(*number);
  wire.CountedStructs(info.attributes, info.attribute_count, [&](auto& attribute) {
    wire.Str(attribute.name);
    wire.Str(attribute.help);
    wire.Number(attribute.type);
    wire.Number(attribute.required);
  });
}

template <class Wire>
void Pass(Wire& wire, deputy_opset& opset) {
  wire.Str(opset.domain);
  wire.Number(opset.version);
}

}  // namespace deputy::host
