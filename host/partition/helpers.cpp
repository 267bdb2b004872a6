#include "partition/helpers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "partition/clusters.hpp"

namespace deputy::host {
namespace {

class Helpers final : public PartitionHelpers {
 public:
  Clusters Cluster(const GraphView& view, std::span<const uint32_t> wanted) const override {
    const Graph& graph = *view.graph;
    const Successors successors = NodeSuccessors(graph);
    // Groups: those of the view for nodes that are not wanted, one per requested group, and each other node alone.
    std::vector<uint32_t> group_of(graph.nodes.size()), wish(wanted.begin(), wanted.end());
    std::vector<uint8_t> is_wanted;
    for (;;) {
      is_wanted = NumberGroups(view, wish, group_of);
      const auto cycles = Cycles(Contract(successors, group_of, is_wanted.size()));
      if (cycles.empty()) break;
      for (const std::vector<uint32_t>& cycle : cycles) Resolve(cycle, group_of, is_wanted, wish);
    }
    std::vector<uint32_t> color(is_wanted.size());
    std::vector<uint8_t> alone(is_wanted.size());
    for (uint32_t group = 0; group < color.size(); ++group) {
      color[group] = is_wanted[group] ? 0 : group + 1;
      alone[group] = !is_wanted[group];
    }
    const std::vector<uint32_t> cluster_of = host::Cluster(successors, {group_of, is_wanted.size(), color, alone});
    Clusters clusters{std::vector<uint32_t>(graph.nodes.size(), kNone), 0};
    std::map<uint32_t, uint32_t> number_of;  // of clusters that are wanted, in the order of their first node
    for (const NodeId node : view.order) {
      if (!is_wanted[group_of[node]]) continue;
      const auto number = number_of.try_emplace(cluster_of[group_of[node]], clusters.count);
      if (number.second) ++clusters.count;
      clusters.cluster_of[node] = number.first->second;
    }
    return clusters;
  }

  std::vector<std::vector<NodeId>> QuantizedGroups(const GraphView& view) const override {
    const Graph& graph = *view.graph;
    const std::vector<NodeId> producers = graph.Producers();
    const CompressedLists consumers = graph.Consumers();
    std::vector<uint8_t> visible(graph.nodes.size(), 0), is_output(graph.values.size(), 0);
    for (const NodeId node : view.order) visible[node] = 1;
    for (const ValueId id : graph.outputs) is_output[id] = 1;
    const auto is = [&](NodeId node, std::string_view type) {
      return visible[node] && graph.nodes[node].primitive.domain().empty() &&
             graph.nodes[node].primitive.op_type() == type;
    };
    std::vector<std::vector<NodeId>> groups;
    for (const NodeId node : view.order) {
      if (is(node, "DequantizeLinear") || is(node, "QuantizeLinear")) continue;
      std::vector<NodeId> group{node};
      bool dequantized = false;
      graph.nodes[node].ForEachRead([&](ValueId id) {
        const NodeId before = producers[id];
        if (before == kNone || !is(before, "DequantizeLinear")) return;
        dequantized = true;
        const bool alone = consumers[id].size() == 1 && !is_output[id];
        if (alone && std::find(group.begin(), group.end(), before) == group.end()) group.push_back(before);
      });
      if (!dequantized) continue;
      for (const ValueId id : graph.nodes[node].outputs) {
        if (id == kNone) continue;
        for (const NodeId after : consumers[id])
          if (is(after, "QuantizeLinear") && graph.nodes[after].inputs.front() == id) group.push_back(after);
      }
      if (group.size() > 1) groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  // Sets the group of every node and returns for each group whether it is wanted.
  static std::vector<uint8_t> NumberGroups(const GraphView& view, const std::vector<uint32_t>& wish,
                                           std::vector<uint32_t>& group_of) {
    std::vector<uint8_t> is_wanted;
    std::map<uint32_t, uint32_t> of_group, of_view;
    for (NodeId node = 0; node < group_of.size(); ++node) {
      const auto next = static_cast<uint32_t>(is_wanted.size());
      group_of[node] = next;
      if (wish[node] > 1) group_of[node] = of_group.try_emplace(wish[node], next).first->second;
      if (wish[node] == 0 && !view.group_of.empty())
        group_of[node] = of_view.try_emplace(view.group_of[node], next).first->second;
      if (group_of[node] == next) is_wanted.push_back(wish[node] != 0);
    }
    return is_wanted;
  }

  // A cycle of groups that are all wanted becomes one group; otherwise its groups are not wanted any more.
  static void Resolve(const std::vector<uint32_t>& cycle, const std::vector<uint32_t>& group_of,
                      const std::vector<uint8_t>& is_wanted, std::vector<uint32_t>& wish) {
    const bool all = std::all_of(cycle.begin(), cycle.end(), [&](uint32_t group) { return is_wanted[group] != 0; });
    const auto within = [&](NodeId node) { return std::binary_search(cycle.begin(), cycle.end(), group_of[node]); };
    uint32_t number = 0;
    for (NodeId node = 0; node < wish.size(); ++node)
      if (within(node)) number = std::max(number, wish[node]);
    for (NodeId node = 0; node < wish.size(); ++node)
      if (within(node) && (all || wish[node] > 1)) wish[node] = all ? number : 0;
  }
};

}  // namespace

const PartitionHelpers& DefaultPartitionHelpers() {
  static const Helpers helpers;
  return helpers;
}

}  // namespace deputy::host
