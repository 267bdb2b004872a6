// Collects the profiling events of one context from any thread, checks them and turns them into the host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "delegate/extensions.hpp"
#include "deputy/abi/ext/profiling.h"
#include "plugin/debug_map.hpp"

namespace deputy::host {

class EventCollector {
 public:
  EventCollector();
  EventCollector(const EventCollector&) = delete;
  EventCollector& operator=(const EventCollector&) = delete;

  static constexpr size_t kMostEvents = 1 << 20;  // that are kept

  const deputy_profile_sink* sink() const { return &sink_; }

  struct Taken {
    std::vector<ProfileEvent> events;  // in order of arrival; times on the clock that they name
    size_t faults = 0;                 // invalid events
    size_t lost = 0;                   // events beyond kMostEvents
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

  deputy_profile_sink sink_{};
  std::mutex mutex_;
  std::vector<Raw> raw_;
  size_t faults_ = 0, lost_ = 0;
  std::string first_fault_;
};

}  // namespace deputy::host
