// Profiling events of a context, kept in the worker process until the next call for the context brings them to the
// host.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "isolation/messages.hpp"

namespace deputy::host {

class EventBuffer {
 public:
  EventBuffer() : sink_{sizeof sink_, 0, this, Take} {}
  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  const deputy_profile_sink* sink() const { return &sink_; }

  // Events that were taken out, with their texts.
  struct Taken {
    std::deque<std::string> texts;
    Events events;
    uint64_t bytes = 0;  // about, on the wire
  };
  void TakeAll(Taken& taken);

 private:
  static void Take(void* self, const deputy_profile_event* event);
  deputy_str Copy(const deputy_str& text);

  const deputy_profile_sink sink_;
  std::mutex mutex_;
  Taken kept_;
};

}  // namespace deputy::host
