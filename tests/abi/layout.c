/* Prints where every field of every struct of the ABI lies. The golden files beside it hold what it printed when a
 * version of the ABI was released; layout_test.py compares, and sees that no field of the headers is missing here. */
#include <stdio.h>

#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/partition_helpers.h"
#include "deputy/abi/ext/propose.h"
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
  FIELD(deputy_ext_propose, groups);

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

  STRUCT(deputy_capability);
  FIELD(deputy_capability, struct_size);
  FIELD(deputy_capability, min_version);
  FIELD(deputy_capability, max_version);
  FIELD(deputy_capability, min_rank);
  FIELD(deputy_capability, max_rank);
  FIELD(deputy_capability, layouts);
  FIELD(deputy_capability, domain);
  FIELD(deputy_capability, op_type);
  FIELD(deputy_capability, dtypes);
  FIELD(deputy_capability, dtype_count);
  FIELD(deputy_capability, reserved);
  FIELD(deputy_capability, note);

  STRUCT(deputy_ext_capabilities);
  FIELD(deputy_ext_capabilities, struct_size);
  FIELD(deputy_ext_capabilities, reserved);
  FIELD(deputy_ext_capabilities, capability_count);
  FIELD(deputy_ext_capabilities, capability_at);

  STRUCT(deputy_ext_concurrency);
  FIELD(deputy_ext_concurrency, struct_size);
  FIELD(deputy_ext_concurrency, reserved);
  FIELD(deputy_ext_concurrency, concurrency);

  STRUCT(deputy_device_info);
  FIELD(deputy_device_info, struct_size);
  FIELD(deputy_device_info, kind);
  FIELD(deputy_device_info, name);
  FIELD(deputy_device_info, driver);
  FIELD(deputy_device_info, memory_bytes);
  FIELD(deputy_device_info, frequency_hz);

  STRUCT(deputy_device_sink);
  FIELD(deputy_device_sink, struct_size);
  FIELD(deputy_device_sink, reserved);
  FIELD(deputy_device_sink, self);
  FIELD(deputy_device_sink, add);

  STRUCT(deputy_ext_devices);
  FIELD(deputy_ext_devices, struct_size);
  FIELD(deputy_ext_devices, reserved);
  FIELD(deputy_ext_devices, enumerate);

  STRUCT(deputy_estimate);
  FIELD(deputy_estimate, struct_size);
  FIELD(deputy_estimate, feasible);
  FIELD(deputy_estimate, reason);
  FIELD(deputy_estimate, latency_ns);
  FIELD(deputy_estimate, memory_bytes);
  FIELD(deputy_estimate, energy_nj);
  FIELD(deputy_estimate, give_back);
  FIELD(deputy_estimate, give_back_count);
  FIELD(deputy_estimate, reserved);

  STRUCT(deputy_estimate_sink);
  FIELD(deputy_estimate_sink, struct_size);
  FIELD(deputy_estimate_sink, reserved);
  FIELD(deputy_estimate_sink, self);
  FIELD(deputy_estimate_sink, answer);

  STRUCT(deputy_ext_estimate);
  FIELD(deputy_ext_estimate, struct_size);
  FIELD(deputy_ext_estimate, reserved);
  FIELD(deputy_ext_estimate, estimate);

  STRUCT(deputy_ext_partition_helpers);
  FIELD(deputy_ext_partition_helpers, struct_size);
  FIELD(deputy_ext_partition_helpers, reserved);
  FIELD(deputy_ext_partition_helpers, self);
  FIELD(deputy_ext_partition_helpers, cluster);
  FIELD(deputy_ext_partition_helpers, quantized_groups);
  FIELD(deputy_ext_partition_helpers, constant_release);
  FIELD(deputy_ext_partition_helpers, named_data);

  STRUCT(deputy_group);
  FIELD(deputy_group, struct_size);
  FIELD(deputy_group, node_count);
  FIELD(deputy_group, nodes);

  STRUCT(deputy_group_sink);
  FIELD(deputy_group_sink, struct_size);
  FIELD(deputy_group_sink, reserved);
  FIELD(deputy_group_sink, self);
  FIELD(deputy_group_sink, add);
  return 0;
}
