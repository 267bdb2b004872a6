/* Prints where every field of every struct of the ABI lies. The golden files beside it hold what it printed when a
 * version of the ABI was released; layout_test.py compares, and sees that no field of the headers is missing here. */
#include <stdio.h>

#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "deputy/abi/note.h"

#define STRUCT(type) printf("%s %zu\n", #type, sizeof(type))
#define FIELD(type, field) printf("%s.%s %zu %zu\n", #type, #field, offsetof(type, field), sizeof(((type *)0)->field))

int main(void) {
  printf("abi %u.%u\n", DEPUTY_ABI_MAJOR, DEPUTY_ABI_MINOR);

  STRUCT(deputy_str);
  FIELD(deputy_str, data);
  FIELD(deputy_str, size);

  STRUCT(deputy_kv);
  FIELD(deputy_kv, key);
  FIELD(deputy_kv, value);

  STRUCT(deputy_open_args);
  FIELD(deputy_open_args, struct_size);
  FIELD(deputy_open_args, device);
  FIELD(deputy_open_args, host);
  FIELD(deputy_open_args, name);
  FIELD(deputy_open_args, options);
  FIELD(deputy_open_args, option_count);
  FIELD(deputy_open_args, flags);
  FIELD(deputy_open_args, reserved);

  STRUCT(deputy_support_sink);
  FIELD(deputy_support_sink, struct_size);
  FIELD(deputy_support_sink, reserved);
  FIELD(deputy_support_sink, self);
  FIELD(deputy_support_sink, answer);

  STRUCT(deputy_run_args);
  FIELD(deputy_run_args, struct_size);
  FIELD(deputy_run_args, input_count);
  FIELD(deputy_run_args, output_count);
  FIELD(deputy_run_args, flags);
  FIELD(deputy_run_args, inputs);
  FIELD(deputy_run_args, outputs);
  FIELD(deputy_run_args, deadline_ns);
  FIELD(deputy_run_args, fences);

  STRUCT(deputy_delegate);
  FIELD(deputy_delegate, struct_size);
  FIELD(deputy_delegate, flags);
  FIELD(deputy_delegate, id);
  FIELD(deputy_delegate, description);
  FIELD(deputy_delegate, impl);
  FIELD(deputy_delegate, probe);
  FIELD(deputy_delegate, get_extension);
  FIELD(deputy_delegate, open);
  FIELD(deputy_delegate, close);
  FIELD(deputy_delegate, query_support);
  FIELD(deputy_delegate, compile);
  FIELD(deputy_delegate, executable_destroy);
  FIELD(deputy_delegate, context_create);
  FIELD(deputy_delegate, context_destroy);
  FIELD(deputy_delegate, execute);

  STRUCT(deputy_plugin);
  FIELD(deputy_plugin, struct_size);
  FIELD(deputy_plugin, abi_version);
  FIELD(deputy_plugin, min_host_abi);
  FIELD(deputy_plugin, flags);
  FIELD(deputy_plugin, id);
  FIELD(deputy_plugin, vendor);
  FIELD(deputy_plugin, version);
  FIELD(deputy_plugin, impl);
  FIELD(deputy_plugin, init);
  FIELD(deputy_plugin, shutdown);
  FIELD(deputy_plugin, delegate_count);
  FIELD(deputy_plugin, delegate_at);
  FIELD(deputy_plugin, get_extension);

  STRUCT(deputy_blob_sink);
  FIELD(deputy_blob_sink, struct_size);
  FIELD(deputy_blob_sink, reserved);
  FIELD(deputy_blob_sink, self);
  FIELD(deputy_blob_sink, write);

  STRUCT(deputy_blob);
  FIELD(deputy_blob, struct_size);
  FIELD(deputy_blob, reserved);
  FIELD(deputy_blob, data);
  FIELD(deputy_blob, size);
  FIELD(deputy_blob, owner);
  FIELD(deputy_blob, release);

  STRUCT(deputy_ext_blob);
  FIELD(deputy_ext_blob, struct_size);
  FIELD(deputy_ext_blob, flags);
  FIELD(deputy_ext_blob, compatibility);
  FIELD(deputy_ext_blob, check);
  FIELD(deputy_ext_blob, serialize);
  FIELD(deputy_ext_blob, restore);

  STRUCT(deputy_device_state);
  FIELD(deputy_device_state, struct_size);
  FIELD(deputy_device_state, level_requested);
  FIELD(deputy_device_state, level_granted);
  FIELD(deputy_device_state, reserved);
  FIELD(deputy_device_state, frequency_requested_hz);
  FIELD(deputy_device_state, frequency_granted_hz);
  FIELD(deputy_device_state, busy_ns);
  FIELD(deputy_device_state, runs);
  FIELD(deputy_device_state, device_name);

  STRUCT(deputy_ext_device_control);
  FIELD(deputy_ext_device_control, struct_size);
  FIELD(deputy_ext_device_control, reserved);
  FIELD(deputy_ext_device_control, device_state);

  STRUCT(deputy_operator_attribute);
  FIELD(deputy_operator_attribute, name);
  FIELD(deputy_operator_attribute, help);
  FIELD(deputy_operator_attribute, type);
  FIELD(deputy_operator_attribute, required);

  STRUCT(deputy_operator_info);
  FIELD(deputy_operator_info, struct_size);
  FIELD(deputy_operator_info, since_version);
  FIELD(deputy_operator_info, domain);
  FIELD(deputy_operator_info, op_type);
  FIELD(deputy_operator_info, help);
  FIELD(deputy_operator_info, min_inputs);
  FIELD(deputy_operator_info, max_inputs);
  FIELD(deputy_operator_info, min_outputs);
  FIELD(deputy_operator_info, max_outputs);
  FIELD(deputy_operator_info, attributes);
  FIELD(deputy_operator_info, attribute_count);

  STRUCT(deputy_type_sink);
  FIELD(deputy_type_sink, struct_size);
  FIELD(deputy_type_sink, reserved);
  FIELD(deputy_type_sink, self);
  FIELD(deputy_type_sink, set_output);

  STRUCT(deputy_ext_operators);
  FIELD(deputy_ext_operators, struct_size);
  FIELD(deputy_ext_operators, reserved);
  FIELD(deputy_ext_operators, operator_count);
  FIELD(deputy_ext_operators, operator_at);
  FIELD(deputy_ext_operators, infer);
  FIELD(deputy_ext_operators, compute);

  STRUCT(deputy_option_info);
  FIELD(deputy_option_info, struct_size);
  FIELD(deputy_option_info, type);
  FIELD(deputy_option_info, name);
  FIELD(deputy_option_info, help);
  FIELD(deputy_option_info, unit);
  FIELD(deputy_option_info, default_value);
  FIELD(deputy_option_info, choices);
  FIELD(deputy_option_info, minimum);
  FIELD(deputy_option_info, maximum);

  STRUCT(deputy_ext_options);
  FIELD(deputy_ext_options, struct_size);
  FIELD(deputy_ext_options, reserved);
  FIELD(deputy_ext_options, option_count);
  FIELD(deputy_ext_options, option_at);
  FIELD(deputy_ext_options, get_option);

  STRUCT(deputy_profile_event);
  FIELD(deputy_profile_event, struct_size);
  FIELD(deputy_profile_event, id);
  FIELD(deputy_profile_event, clock);
  FIELD(deputy_profile_event, reserved);
  FIELD(deputy_profile_event, begin_ns);
  FIELD(deputy_profile_event, end_ns);
  FIELD(deputy_profile_event, name);
  FIELD(deputy_profile_event, metadata);

  STRUCT(deputy_profile_sink);
  FIELD(deputy_profile_sink, struct_size);
  FIELD(deputy_profile_sink, reserved);
  FIELD(deputy_profile_sink, self);
  FIELD(deputy_profile_sink, event);

  STRUCT(deputy_debug_map_sink);
  FIELD(deputy_debug_map_sink, struct_size);
  FIELD(deputy_debug_map_sink, reserved);
  FIELD(deputy_debug_map_sink, self);
  FIELD(deputy_debug_map_sink, add);

  STRUCT(deputy_ext_profiling);
  FIELD(deputy_ext_profiling, struct_size);
  FIELD(deputy_ext_profiling, reserved);
  FIELD(deputy_ext_profiling, debug_map);
  FIELD(deputy_ext_profiling, set_profiling);
  FIELD(deputy_ext_profiling, collect);
  FIELD(deputy_ext_profiling, correlate);

  STRUCT(deputy_claim);
  FIELD(deputy_claim, struct_size);
  FIELD(deputy_claim, node_count);
  FIELD(deputy_claim, nodes);
  FIELD(deputy_claim, inputs);
  FIELD(deputy_claim, outputs);
  FIELD(deputy_claim, input_count);
  FIELD(deputy_claim, output_count);
  FIELD(deputy_claim, handle);

  STRUCT(deputy_claim_sink);
  FIELD(deputy_claim_sink, struct_size);
  FIELD(deputy_claim_sink, reserved);
  FIELD(deputy_claim_sink, self);
  FIELD(deputy_claim_sink, add);

  STRUCT(deputy_ext_propose);
  FIELD(deputy_ext_propose, struct_size);
  FIELD(deputy_ext_propose, reserved);
  FIELD(deputy_ext_propose, propose);
  FIELD(deputy_ext_propose, claim_release);

  STRUCT(deputy_resize_args);
  FIELD(deputy_resize_args, struct_size);
  FIELD(deputy_resize_args, input_count);
  FIELD(deputy_resize_args, output_count);
  FIELD(deputy_resize_args, flags);
  FIELD(deputy_resize_args, inputs);
  FIELD(deputy_resize_args, outputs);

  STRUCT(deputy_ext_resize);
  FIELD(deputy_ext_resize, struct_size);
  FIELD(deputy_ext_resize, reserved);
  FIELD(deputy_ext_resize, resize);

  STRUCT(deputy_node_info);
  FIELD(deputy_node_info, struct_size);
  FIELD(deputy_node_info, id);
  FIELD(deputy_node_info, domain);
  FIELD(deputy_node_info, op_type);
  FIELD(deputy_node_info, name);
  FIELD(deputy_node_info, since_version);
  FIELD(deputy_node_info, flags);
  FIELD(deputy_node_info, input_count);
  FIELD(deputy_node_info, output_count);
  FIELD(deputy_node_info, inputs);
  FIELD(deputy_node_info, outputs);
  FIELD(deputy_node_info, primitive);
  FIELD(deputy_node_info, primitive_size);

  STRUCT(deputy_value_info);
  FIELD(deputy_value_info, struct_size);
  FIELD(deputy_value_info, id);
  FIELD(deputy_value_info, name);
  FIELD(deputy_value_info, dtype);
  FIELD(deputy_value_info, rank);
  FIELD(deputy_value_info, dims);
  FIELD(deputy_value_info, flags);
  FIELD(deputy_value_info, reserved);
  FIELD(deputy_value_info, constant);
  FIELD(deputy_value_info, byte_size);

  STRUCT(deputy_attribute);
  FIELD(deputy_attribute, struct_size);
  FIELD(deputy_attribute, type);
  FIELD(deputy_attribute, i);
  FIELD(deputy_attribute, f);
  FIELD(deputy_attribute, reserved);
  FIELD(deputy_attribute, s);
  FIELD(deputy_attribute, count);
  FIELD(deputy_attribute, ints);
  FIELD(deputy_attribute, floats);
  FIELD(deputy_attribute, strings);
  FIELD(deputy_attribute, tensor);

  STRUCT(deputy_partition);
  FIELD(deputy_partition, struct_size);
  FIELD(deputy_partition, node_count);
  FIELD(deputy_partition, graph);
  FIELD(deputy_partition, nodes);
  FIELD(deputy_partition, inputs);
  FIELD(deputy_partition, outputs);
  FIELD(deputy_partition, input_count);
  FIELD(deputy_partition, output_count);
  FIELD(deputy_partition, claim);
  FIELD(deputy_partition, name);

  STRUCT(deputy_host);
  FIELD(deputy_host, struct_size);
  FIELD(deputy_host, abi_version);
  FIELD(deputy_host, self);
  FIELD(deputy_host, status_new);
  FIELD(deputy_host, log);
  FIELD(deputy_host, get_extension);
  FIELD(deputy_host, graph_node_count);
  FIELD(deputy_host, graph_node_at);
  FIELD(deputy_host, graph_node_info);
  FIELD(deputy_host, graph_value_info);
  FIELD(deputy_host, graph_inputs);
  FIELD(deputy_host, graph_outputs);
  FIELD(deputy_host, node_attribute);
  FIELD(deputy_host, parallel_for);
  FIELD(deputy_host, thread_count);
  FIELD(deputy_host, clock_ns);

  STRUCT(deputy_note_head);
  FIELD(deputy_note_head, magic);
  FIELD(deputy_note_head, head_size);
  FIELD(deputy_note_head, abi_version);
  FIELD(deputy_note_head, min_host_abi);
  FIELD(deputy_note_head, text_size);

  STRUCT(deputy_quantization);
  FIELD(deputy_quantization, struct_size);
  FIELD(deputy_quantization, axis);
  FIELD(deputy_quantization, count);
  FIELD(deputy_quantization, scales);
  FIELD(deputy_quantization, zero_points);

  STRUCT(deputy_tensor);
  FIELD(deputy_tensor, struct_size);
  FIELD(deputy_tensor, dtype);
  FIELD(deputy_tensor, rank);
  FIELD(deputy_tensor, layout);
  FIELD(deputy_tensor, dims);
  FIELD(deputy_tensor, strides);
  FIELD(deputy_tensor, quantization);
  FIELD(deputy_tensor, memory);
  FIELD(deputy_tensor, reserved);
  FIELD(deputy_tensor, data);
  FIELD(deputy_tensor, handle);
  FIELD(deputy_tensor, offset);
  FIELD(deputy_tensor, byte_size);
  return 0;
}
