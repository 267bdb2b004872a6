// Events of the device that a context reports while it is profiled, and the map of their ids to nodes.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "deputy/abi/ext/profiling.h"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

// The clock of an event's times. kHost is Host::clock_ns(); kDevice needs DelegateBase::CorrelateClocks.
enum class ClockKind : uint32_t { kHost = DEPUTY_CLOCK_MONOTONIC, kDevice = DEPUTY_CLOCK_DEVICE };

struct ProfileEvent {
  uint32_t id = DEPUTY_NO_EVENT_ID;  // as in the debug map
  ClockKind clock = ClockKind::kHost;
  uint64_t begin_ns = 0, end_ns = 0;
  std::string_view name;      // of the operation ("conv 3x3")
  std::string_view metadata;  // anything else; JSON is a good choice
};

// Takes events. [any-thread]
class Profiler {
 public:
  Profiler() = default;
  explicit Profiler(const deputy_profile_sink* sink) : sink_(sink) {}

  // False: profiling is off, and nothing needs to be measured.
  explicit operator bool() const { return sink_ != nullptr; }
  // Copies everything.
  void Report(const ProfileEvent& event) const {
    deputy_profile_event form{};
    form.struct_size = sizeof form;
    form.id = event.id;
    form.clock = static_cast<deputy_clock>(event.clock);
    form.begin_ns = event.begin_ns;
    form.end_ns = event.end_ns;
    form.name = {event.name.data(), event.name.size()};
    form.metadata = {event.metadata.data(), event.metadata.size()};
    sink_->event(sink_->self, &form);
  }

 private:
  const deputy_profile_sink* sink_ = nullptr;
};

// Receives the map of event ids to nodes. Only inside the host's call.
class DebugMap {
 public:
  explicit DebugMap(const deputy_debug_map_sink* sink) : sink_(sink) {}
  DebugMap(const DebugMap&) = delete;
  DebugMap& operator=(const DebugMap&) = delete;

  // Many to many. After the first failure (an id twice, a node of another partition) nothing more is added; the layer
  // returns the failure to the host.
  void Add(uint32_t id, Span<const deputy_node_id> nodes) {
    if (failure_ == nullptr) failure_ = sink_->add(sink_->self, id, nodes.data(), nodes.size());
  }
  void Add(uint32_t id, deputy_node_id node) { Add(id, Span<const deputy_node_id>(&node, 1)); }

  // For the layer.
  bool failed() const { return failure_ != nullptr; }
  deputy_status* TakeFailure() { return std::exchange(failure_, nullptr); }

 private:
  const deputy_debug_map_sink* sink_;
  deputy_status* failure_ = nullptr;
};

// One moment on both clocks.
struct ClockPair {
  uint64_t device_ns = 0, host_ns = 0;
};

}  // namespace deputy::sdk
