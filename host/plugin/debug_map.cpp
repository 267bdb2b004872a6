#include "plugin/debug_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plugin/opened_delegate.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxIds = 1 << 20;

struct MapCollector {
  const OpenedDelegate& opened;
  std::set<NodeId> inside;
  DebugMap map;

  std::string Take(uint32_t id, const deputy_node_id* nodes, uint64_t count) {
    if (id == DEPUTY_NO_EVENT_ID) return "an id is the reserved DEPUTY_NO_EVENT_ID";
    if (map.count(id) != 0) return fmt::format("id {} is added twice", id);
    if (map.size() == kMaxIds) return fmt::format("there are more than {} ids", kMaxIds);
    if (count > inside.size()) return fmt::format("id {} has more nodes than the partition", id);
    if (nodes == nullptr && count != 0) return fmt::format("id {} has {} nodes at NULL", id, count);
    std::vector<NodeId> taken(nodes, nodes + count);
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) return fmt::format("id {} has a node twice", id);
    for (const NodeId node : taken)
      if (inside.count(node) == 0) return fmt::format("id {} has node {}, which is not in the partition", id, node);
    map.emplace(id, std::move(taken));
    return {};
  }

  static deputy_status* Add(void* self, uint32_t id, const deputy_node_id* nodes, uint64_t count) {
    auto& collector = *static_cast<MapCollector*>(self);
    return AnswerOfSink([&] { return collector.Take(id, nodes, count); },
                        [&](const std::string& fault) { collector.opened.LogFault("debug_map", fault); });
  }
};

}  // namespace

DebugMap AskDebugMap(const OpenedDelegate& opened, deputy_executable* executable, std::span<const NodeId> nodes) {
  MapCollector collector{opened, {nodes.begin(), nodes.end()}, {}};
  deputy_debug_map_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &collector;
  sink.add = MapCollector::Add;
  const Status status =
      opened.Call("debug_map", nullptr, [&] { return opened.profiling()->debug_map(executable, &sink); });
  if (status.ok()) return std::move(collector.map);
  if (status.code() != StatusCode::kNotSupported) opened.LogFault("debug_map", status.message());
  return {};
}

}  // namespace deputy::host
