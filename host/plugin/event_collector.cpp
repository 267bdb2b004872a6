#include "plugin/event_collector.hpp"

#include <fmt/format.h>

#include <utility>

#include "plugin/table_check.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxName = 256, kMaxMetadata = 4096;
constexpr size_t kEventSize01 = 64;
static_assert(kEventSize01 == DEPUTY_END_OF(deputy_profile_event, metadata));

}  // namespace

EventCollector::EventCollector() {
  sink_.struct_size = sizeof sink_;
  sink_.self = this;
  sink_.event = Event;
}

void EventCollector::Event(void* self, const deputy_profile_event* event) {
  auto& collector = *static_cast<EventCollector*>(self);
  try {
    collector.Keep(event);
  } catch (...) {  // no memory; nothing may be thrown through the plugin
  }
}

void EventCollector::Keep(const deputy_profile_event* event) {
  const auto fault = [&]() -> std::string {
    if (event == nullptr || event->struct_size < kEventSize01) return "an event is not whole";
    if (event->clock != DEPUTY_CLOCK_MONOTONIC && event->clock != DEPUTY_CLOCK_DEVICE)
      return fmt::format("an event is on the unknown clock {}", event->clock);
    if (event->end_ns < event->begin_ns)
      return fmt::format("an event ends at {} and begins at {}", event->end_ns, event->begin_ns);
    for (const auto& [field, text, limit] :
         {std::tuple{"name", &event->name, kMaxName}, std::tuple{"metadata", &event->metadata, kMaxMetadata}})
      if (const CopiedText copied = CopyText(*text, limit); !copied.fault.empty())
        return fmt::format("the {} of an event {}", field, copied.fault);
    return {};
  }();
  const std::lock_guard lock(mutex_);
  if (!fault.empty()) {
    if (faults_++ == 0) first_fault_ = fault;
    return;
  }
  if (raw_.size() == kMostEvents) {
    ++lost_;
    return;
  }
  ProfileEvent kept;
  kept.name = CleanText(CopyText(event->name, kMaxName).text, kMaxName);
  kept.metadata = CleanText(CopyText(event->metadata, kMaxMetadata).text, kMaxMetadata);
  kept.begin_ns = event->begin_ns;
  kept.end_ns = event->end_ns;
  kept.on_device_clock = event->clock == DEPUTY_CLOCK_DEVICE;
  raw_.push_back({event->id, std::move(kept)});
}

EventCollector::Taken EventCollector::Take(const DebugMap& map) {
  Taken taken;
  std::vector<Raw> raw;
  {
    const std::lock_guard lock(mutex_);
    raw = std::exchange(raw_, {});
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
        taken.first_fault = fmt::format("event '{}' has id {}, which its map does not", one.event.name, one.id);
      }
    }
    taken.needs_device_clock = taken.needs_device_clock || one.event.on_device_clock;
    taken.events.push_back(std::move(one.event));
  }
  return taken;
}

}  // namespace deputy::host
