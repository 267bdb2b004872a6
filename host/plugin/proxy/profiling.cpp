#include "plugin/proxy/profiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/proxy/opened_delegate.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxEventName = 256, kMaxMetadata = 4096;
constexpr size_t kMaxIds = 1 << 20;
constexpr uint64_t kMaxListed = 1 << 22;  // every node of a large partition, some times

struct MapCollector {
  const OpenedDelegate& opened;
  std::set<NodeId> inside;
  DebugMap map;
  uint64_t listed = 0;  // nodes, of all ids

  std::string Take(uint32_t id, const deputy_node_id* nodes, uint64_t count) {
    if (id == DEPUTY_NO_EVENT_ID) return "an id is the reserved DEPUTY_NO_EVENT_ID";
    if (map.count(id) != 0) return fmt::format("id {} is added twice", id);
    if (map.size() == kMaxIds) return fmt::format("there are more than {} ids", kMaxIds);
    if (count > inside.size()) return fmt::format("id {} has more nodes than the partition", id);
    if (count > kMaxListed - listed) return fmt::format("there are more than {} nodes of ids", kMaxListed);
    if (nodes == nullptr && count != 0) return fmt::format("id {} counts nodes that it does not list", id);
    std::vector<NodeId> taken(nodes, nodes + count);
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) return fmt::format("id {} has a node twice", id);
    for (const NodeId node : taken)
      if (inside.count(node) == 0) return fmt::format("id {} has node {}, which is not in the partition", id, node);
    listed += count;
    map.emplace(id, std::move(taken));
    return {};
  }

  static deputy_status* Add(void* self, uint32_t id, const deputy_node_id* nodes, uint64_t count) {
    auto& collector = *static_cast<MapCollector*>(self);
    return AnswerOfSink([&] { return collector.Take(id, nodes, count); },
                        [&](const std::string& fault) { collector.opened.LogFault("debug_map", fault); });
  }
};

// The fault of the event, or empty.
std::string Convert(const deputy_profile_event* raw, ProfileEvent& event) {
  if (raw == nullptr || !DEPUTY_HAS(raw, deputy_profile_event, metadata)) return "an event has an invalid struct_size";
  if (raw->clock != DEPUTY_CLOCK_MONOTONIC && raw->clock != DEPUTY_CLOCK_DEVICE)
    return fmt::format("an event is on the unknown clock {}", raw->clock);
  if (raw->end_ns < raw->begin_ns)
    return fmt::format("an event ends at {} and begins at {}", raw->end_ns, raw->begin_ns);
  for (const auto& [field, from, limit, to] : {std::tuple{"name", &raw->name, kMaxEventName, &event.name},
                                               std::tuple{"metadata", &raw->metadata, kMaxMetadata, &event.metadata}}) {
    const CopiedText copied = CopyText(*from, limit);
    if (!copied.fault.empty()) return fmt::format("the {} of an event {}", field, copied.fault);
    *to = CleanText(copied.text, limit);
  }
  event.begin_ns = raw->begin_ns;
  event.end_ns = raw->end_ns;
  event.on_device_clock = raw->clock == DEPUTY_CLOCK_DEVICE;
  return {};
}

}  // namespace

DebugMap AskDebugMap(const OpenedDelegate& opened, deputy_executable* executable, std::span<const NodeId> nodes) {
  MapCollector collector{opened, {nodes.begin(), nodes.end()}, {}, 0};
  const deputy_debug_map_sink sink{sizeof sink, 0, &collector, MapCollector::Add};
  const Status status =
      opened.Call("debug_map", nullptr, [&] { return opened.profiling()->debug_map(executable, &sink); });
  if (status.ok()) return std::move(collector.map);
  if (status.code() != StatusCode::kNotSupported) opened.LogFault("debug_map", status.message());
  return {};
}

void EventCollector::Event(void* self, const deputy_profile_event* event) {
  auto& collector = *static_cast<EventCollector*>(self);
  try {
    collector.Keep(event);
  } catch (...) {  // no memory; nothing may be thrown through the plugin
  }
}

void EventCollector::Keep(const deputy_profile_event* event) {
  ProfileEvent kept;
  const std::string fault = Convert(event, kept);
  const std::lock_guard lock(mutex_);
  if (!fault.empty()) {
    if (faults_++ == 0) first_fault_ = fault;
  } else if (const size_t bytes = kept.name.size() + kept.metadata.size();
             raw_.size() == kMostEvents || bytes > kMostTextBytes - text_bytes_) {
    ++lost_;
  } else {
    text_bytes_ += bytes;
    raw_.push_back({event->id, std::move(kept)});
  }
}

EventCollector::Taken EventCollector::Take(const DebugMap& map) {
  Taken taken;
  std::vector<Raw> raw;
  {
    const std::lock_guard lock(mutex_);
    raw = std::exchange(raw_, {});
    text_bytes_ = 0;
    taken.faults = std::exchange(faults_, 0);
    taken.lost = std::exchange(lost_, 0);
    taken.first_fault = std::exchange(first_fault_, {});
  }
  for (Raw& one : raw) {
    if (one.id != DEPUTY_NO_EVENT_ID) {
      const auto found = map.find(one.id);
      if (found != map.end()) {
        one.event.nodes = found->second;
      } else if (taken.faults++ == 0) {
        taken.first_fault = fmt::format("event '{}' has id {}, which is not in its debug map", one.event.name, one.id);
      }
    }
    taken.needs_device_clock = taken.needs_device_clock || one.event.on_device_clock;
    taken.events.push_back(std::move(one.event));
  }
  return taken;
}

}  // namespace deputy::host
