#include "plugin/helper_table.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>

#include "plugin/graph_handle.hpp"
#include "plugin/status_handle.hpp"

namespace deputy::host {
namespace {

const PartitionHelpers& Self(void* self) { return *static_cast<const PartitionHelpers*>(self); }

deputy_status* Wrong(std::string_view message, deputy_node_id node = DEPUTY_NO_NODE) {
  return NewStatus(DEPUTY_INVALID_ARGUMENT, node, message);
}

GraphView ViewOf(const deputy_graph& graph) {
  GraphView view{&graph.graph(), {}, std::vector<uint8_t>(graph.graph().nodes.size(), 0), graph.group_of()};
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    view.order.push_back(graph.node_at(i));
    view.offered[view.order.back()] = graph.offered(view.order.back());
  }
  return view;
}

// Whole pages inside the bytes: neighbours of a constant may be in use.
void PageOut(const void* data, size_t size) {
#if defined(MADV_PAGEOUT)
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto last = (reinterpret_cast<uintptr_t>(data) + size) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_PAGEOUT);
#else
  static_cast<void>(data);
  static_cast<void>(size);
#endif
}

extern "C" {

deputy_status* ClusterNodes(void* self, const deputy_graph* graph, const uint32_t* wanted, uint32_t count,
                            uint32_t* clusters, uint32_t* cluster_count) {
  if (graph == nullptr || clusters == nullptr || cluster_count == nullptr || (wanted == nullptr && count != 0))
    return Wrong("no graph, or no room for the answer, was given");
  if (count != graph->node_count()) return Wrong("'count' is not the number of the graph's nodes");
  try {
    std::vector<uint32_t> wishes(graph->graph().nodes.size(), 0);
    for (uint32_t i = 0; i < count; ++i) {
      const NodeId node = graph->node_at(i);
      if (wanted[i] != 0 && !graph->offered(node)) return Wrong("a wanted node is not on offer", node);
      wishes[node] = wanted[i];
    }
    const PartitionHelpers::Clusters made = Self(self).Cluster(ViewOf(*graph), wishes);
    for (uint32_t i = 0; i < count; ++i) clusters[i] = made.cluster_of[graph->node_at(i)];
    *cluster_count = made.count;
    return nullptr;
  } catch (...) {  // no memory; nothing may be thrown into the plugin
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

deputy_status* GroupQuantized(void* self, const deputy_graph* graph, const deputy_group_sink* sink) {
  if (graph == nullptr || sink == nullptr || !DEPUTY_HAS_FN(sink, deputy_group_sink, add))
    return Wrong("no graph, or no sink, was given");
  try {
    for (const std::vector<NodeId>& nodes : Self(self).QuantizedGroups(ViewOf(*graph))) {
      const deputy_group group{sizeof group, static_cast<uint32_t>(nodes.size()), nodes.data()};
      if (deputy_status* refused = sink->add(sink->self, &group)) return refused;
    }
    return nullptr;
  } catch (...) {  // no memory; nothing may be thrown into the plugin
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

deputy_status* ReleaseConstant(void*, const deputy_graph* graph, deputy_value_id value) {
  if (graph == nullptr) return Wrong("no graph was given");
  const Graph& model = graph->graph();
  if (value >= model.values.size() || !model.values[value].is_constant())
    return Wrong("a value that is no constant was released");
  const Tensor& constant = model.values[value].constant;
  if (constant.byte_size() != 0) PageOut(constant.data(), constant.byte_size());
  return nullptr;
}

deputy_status* FindNamedData(void*, const deputy_graph* graph, deputy_str key, const void** data, uint64_t* size) {
  if (graph == nullptr || data == nullptr || size == nullptr) return Wrong("no graph, or no room, was given");
  *data = nullptr;
  *size = 0;
  const std::string_view wanted = key.data == nullptr ? std::string_view() : std::string_view(key.data, key.size);
  for (const auto& [name, value] : graph->graph().metadata) {
    if (name != wanted) continue;
    *data = value.data();
    *size = value.size();
    break;
  }
  return nullptr;
}

}  // extern "C"

}  // namespace

deputy_ext_partition_helpers MakeHelperTable(const PartitionHelpers& helpers) {
  // The ABI's `self` is not const; nothing behind it changes.
  return {sizeof(deputy_ext_partition_helpers),
          0,
          const_cast<PartitionHelpers*>(&helpers),
          ClusterNodes,
          GroupQuantized,
          ReleaseConstant,
          FindNamedData};
}

}  // namespace deputy::host
