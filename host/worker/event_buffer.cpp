#include "worker/event_buffer.hpp"

#include <algorithm>
#include <utility>

namespace deputy::host {
namespace {

// More than the host keeps of one run, so that it can tell that there were too many; and no more than a message holds.
constexpr size_t kMostEvents = (1u << 20) + 1;
constexpr uint64_t kMostBytes = 192u << 20;
constexpr uint64_t kEventBytes = 120;  // without its texts
constexpr uint64_t kMostText = 8192;

}  // namespace

void EventBuffer::TakeAll(Taken& taken) {
  const std::lock_guard lock(mutex_);
  taken = std::exchange(kept_, {});
}

deputy_str EventBuffer::Copy(const deputy_str& text) {
  if (text.data == nullptr || text.size == 0) return text;
  const std::string& copy = kept_.texts.emplace_back(text.data, std::min(text.size, kMostText));
  kept_.bytes += copy.size() + 8;
  return {copy.c_str(), copy.size()};
}

void EventBuffer::Take(void* self, const deputy_profile_event* event) {
  if (event == nullptr) return;
  auto& buffer = *static_cast<EventBuffer*>(self);
  try {
    const std::lock_guard lock(buffer.mutex_);
    if (buffer.kept_.events.events.size() == kMostEvents || buffer.kept_.bytes > kMostBytes) return;
    buffer.kept_.bytes += kEventBytes;
    deputy_profile_event kept = Whole(*event);
    kept.name = buffer.Copy(kept.name);
    kept.metadata = buffer.Copy(kept.metadata);
    buffer.kept_.events.events.push_back(kept);
  } catch (...) {  // no memory; nothing may be thrown through the plugin
  }
}

}  // namespace deputy::host
