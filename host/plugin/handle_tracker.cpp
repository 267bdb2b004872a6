#include "plugin/handle_tracker.hpp"

#include <algorithm>

#include "plugin/status_handle.hpp"

namespace deputy::host {

void HandleTracker::Delete::operator()(deputy_status* status) const { delete status; }

void HandleTracker::Lend(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.insert(graph);
}

void HandleTracker::Release(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}

bool HandleTracker::IsLent(const deputy_graph* graph) const {
  const std::lock_guard lock(mutex_);
  return graphs_.count(graph) != 0;
}

void HandleTracker::Made(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  out_.insert(status);
}

void HandleTracker::Returned(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  if (out_.erase(status) != 0) back_.emplace_back(status);
}

bool HandleTracker::WasReturned(const deputy_status* status) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(back_.begin(), back_.end(), [&](const auto& one) { return one.get() == status; });
}

size_t HandleTracker::statuses_out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

void HandleTracker::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool HandleTracker::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace deputy::host
