// A plugin's profiling events: collected from one context, checked, and related to nodes of the model by the map of its
// executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "delegate/extensions.hpp"
#include "deputy/abi/ext/profiling.h"

namespace deputy::host {

class OpenedDelegate;

using DebugMap = std::map<uint32_t, std::vector<NodeId>>;

// The map of an executable. Duplicates and nodes outside of `nodes` are refused and logged; any other failure leaves
// the map empty, with a line in the log.
DebugMap AskDebugMap(const OpenedDelegate& opened, deputy_executable* executable, std::span<const NodeId> nodes);

// Collects the events of one context. [any-thread]
class EventCollector {
 public:
  EventCollector() = default;
  EventCollector(const EventCollector&) = delete;
  EventCollector& operator=(const EventCollector&) = delete;

  static constexpr size_t kMostEvents = 1 << 20;      // that are kept
  static constexpr size_t kMostTextBytes = 64 << 20;  // of all of their texts

  const deputy_profile_sink* sink() const { return &sink_; }

  struct Taken {
    std::vector<ProfileEvent> events;  // in order of arrival; times on the clock that they name
    size_t faults = 0;                 // invalid events
    size_t lost = 0;                   // events beyond what is kept
    std::string first_fault;
    bool needs_device_clock = false;
  };
  // All events since the last call.
  Taken Take(const DebugMap& map);

 private:
  struct Raw {
    uint32_t id;
    ProfileEvent event;
  };
  static void Event(void* self, const deputy_profile_event* event);
  void Keep(const deputy_profile_event* event);

  const deputy_profile_sink sink_{sizeof sink_, 0, this, Event};
  std::mutex mutex_;
  std::vector<Raw> raw_;
  size_t faults_ = 0, lost_ = 0, text_bytes_ = 0;
  std::string first_fault_;
};

}  // namespace deputy::host
