// Profiling of the delegate under test: ext/profiling.h, called as a host does. Events and debug maps are recorded, and
// their errors are faults.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy/abi/ext/profiling.h"
#include "instance.hpp"

namespace deputy::conformance {

struct Event {
  uint32_t id = DEPUTY_NO_EVENT_ID;
  deputy_clock clock = 0;
  uint64_t begin_ns = 0, end_ns = 0;
  std::string name;
};

// Collects the events of one context. [any-thread]
class EventSink {
 public:
  explicit EventSink(HostServices& host);
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  const deputy_profile_sink* form() const { return &form_; }
  // Removes and returns the events so far.
  std::vector<Event> Take();
  // From now on every event is a fault.
  void Close();

 private:
  static void Add(void* self, const deputy_profile_event* event);
  std::string FaultOf(const deputy_profile_event* event) const;
  HostServices& host_;
  deputy_profile_sink form_{};
  std::mutex mutex_;
  std::vector<Event> events_;
  bool open_ = true;
};

// Nodes by id.
using DebugMap = std::map<uint32_t, std::vector<deputy_node_id>>;

struct ClockPair {
  uint64_t device_ns = 0, host_ns = 0;
};

class Profile {
 public:
  // has() is false without the extension.
  Profile(Plugin& plugin, const deputy_delegate* delegate);

  bool has() const { return table_ != nullptr; }
  bool collects() const { return has() && table_->collect != nullptr; }
  bool correlates() const { return has() && table_->correlate != nullptr; }

  Outcome Map(Executable& executable, const Claim& claim, DebugMap* map);
  // NULL and the outcome when it fails. The sink lives as long as this.
  EventSink* TurnOn(Context& context, Outcome* outcome);
  Outcome TurnOff(Context& context, EventSink& sink);
  Outcome Collect(Context& context, EventSink& sink);
  Outcome Correlate(Instance& instance, ClockPair* pair);

 private:
  Plugin& plugin_;
  const deputy_ext_profiling* table_;
  // Kept, so that late events are noticed.
  std::vector<std::unique_ptr<EventSink>> sinks_;
  struct Mapping;
  std::vector<std::shared_ptr<Mapping>> mappings_;
};

}  // namespace deputy::conformance
