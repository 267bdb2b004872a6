// A partition in the ABI's form, over the arrays of the host's own, which must live as long.
#pragma once

#include "delegate/delegate.hpp"
#include "plugin/graph_handle.hpp"

namespace deputy::host {

inline deputy_partition FormOf(const deputy_graph& graph, const PartitionSpec& partition) {
  deputy_partition form{};
  form.struct_size = sizeof form;
  form.node_count = static_cast<uint32_t>(partition.nodes.size());
  form.graph = &graph;
  form.nodes = partition.nodes.data();
  form.inputs = partition.inputs.data();
  form.outputs = partition.outputs.data();
  form.input_count = static_cast<uint32_t>(partition.inputs.size());
  form.output_count = static_cast<uint32_t>(partition.outputs.size());
  form.claim = partition.claim;
  form.name = {partition.name.c_str(), partition.name.size()};
  return form;
}

}  // namespace deputy::host
