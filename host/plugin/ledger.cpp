#include "plugin/ledger.hpp"

#include <algorithm>

#include "plugin/status_handle.hpp"

namespace deputy::host {

void Ledger::Delete::operator()(deputy_status* status) const { delete status; }

void Ledger::Lend(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.insert(graph);
}

void Ledger::TakeBack(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}

bool Ledger::IsLent(const deputy_graph* graph) const {
  const std::lock_guard lock(mutex_);
  return graphs_.count(graph) != 0;
}

void Ledger::Made(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  out_.insert(status);
}

void Ledger::Returned(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  if (out_.erase(status) != 0) back_.emplace_back(status);
}

bool Ledger::CameBack(const deputy_status* status) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(back_.begin(), back_.end(), [&](const auto& one) { return one.get() == status; });
}

size_t Ledger::statuses_out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

void Ledger::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Ledger::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace deputy::host
