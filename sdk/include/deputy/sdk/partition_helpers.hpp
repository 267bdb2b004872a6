// The host's own partitioning and the model's metadata, for delegates that form partitions themselves
// (abi/ext/partition_helpers.h). Only inside a call that received the graph; a failure ends that call.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/ext/partition_helpers.h"
#include "deputy/sdk/graph.hpp"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

class PartitionHelpers {
 public:
  explicit PartitionHelpers(const GraphView& graph)
      : graph_(graph),
        table_(static_cast<const deputy_ext_partition_helpers*>(graph.host().Extension(DEPUTY_EXT_PARTITION_HELPERS))) {
  }

  // False: this host lacks them, and all functions below return empty results.
  bool available() const { return table_ != nullptr; }

  // Clusters of the nodes for which `wanted(NodeView)` says 1 (or the number, above 1, of a group that stays together),
  // each in the graph's order: as large as possible without a cycle between partitions.
  template <class Wanted>
  std::vector<std::vector<deputy_node_id>> Cluster(Wanted&& wanted) const {
    std::vector<uint32_t> wishes(graph_.node_count()), cluster_of(wishes.size(), DEPUTY_NO_CLUSTER);
    std::vector<deputy_node_id> ids(wishes.size());
    for (size_t i = 0; i < wishes.size(); ++i) {
      const NodeView node = graph_.NodeAt(i);
      ids[i] = node.id();
      wishes[i] = static_cast<uint32_t>(wanted(node));
    }
    uint32_t count = 0;
    std::vector<std::vector<deputy_node_id>> clusters;
    if (!Ask([&] {
          return table_->cluster(table_->self, graph_.handle(), wishes.data(), static_cast<uint32_t>(wishes.size()),
                                 cluster_of.data(), &count);
        }))
      return clusters;
    clusters.resize(count);
    for (size_t i = 0; i < wishes.size(); ++i)
      if (cluster_of[i] < count) clusters[cluster_of[i]].push_back(ids[i]);
    return clusters;
  }

  // Operators with the DequantizeLinear and QuantizeLinear nodes that serve only them.
  std::vector<std::vector<deputy_node_id>> QuantizedGroups() const {
    Collected collected;
    const deputy_group_sink sink{sizeof sink, 0, &collected, Collect};
    Ask([&] { return table_->quantized_groups(table_->self, graph_.handle(), &sink); });
    if (collected.thrown) std::rethrow_exception(collected.thrown);
    return std::move(collected.groups);
  }

  // The delegate has its own form of this constant and will not read the model's soon.
  void Release(const ValueView& constant) const {
    Ask([&] { return table_->constant_release(table_->self, graph_.handle(), constant.id()); });
  }

  // Bytes of the model's metadata under this name; data() is NULL if there are none. Lives as long as the model.
  Span<const char> NamedData(std::string_view key) const {
    const void* data = nullptr;
    uint64_t size = 0;
    if (!Ask([&] { return table_->named_data(table_->self, graph_.handle(), ToStr(key), &data, &size); })) return {};
    return {static_cast<const char*>(data), static_cast<size_t>(size)};
  }

 private:
  // The groups that the host passes one by one; no exception may pass through the host.
  struct Collected {
    std::vector<std::vector<deputy_node_id>> groups{};
    std::exception_ptr thrown{};
  };
  static deputy_status* Collect(void* self, const deputy_group* group) noexcept {
    auto& collected = *static_cast<Collected*>(self);
    try {
      if (!collected.thrown) collected.groups.emplace_back(group->nodes, group->nodes + group->node_count);
    } catch (...) {
      collected.thrown = std::current_exception();
    }
    return nullptr;
  }

  template <class Call>
  bool Ask(Call&& call) const {
    return table_ != nullptr && graph_.Ask(call);
  }

  const GraphView& graph_;
  const deputy_ext_partition_helpers* table_;
};

}  // namespace deputy::sdk
