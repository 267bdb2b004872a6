#include "plugin/proxy/submitted_runs.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/turn.hpp"
#include "plugin/checks/handles.hpp"

namespace deputy::host {

SubmittedRuns::SubmittedRuns(const std::string& label)
    : label_(label), faults_(label), sink_{sizeof sink_, 0, this, Done} {}

SubmittedRuns::Run::Run(SubmittedRuns& runs) : runs_(runs) {
  const std::lock_guard lock(runs_.mutex_);
  number_ = ++runs_.last_number_;
  next_ = std::exchange(runs_.first_, this);
}

SubmittedRuns::Run::~Run() {
  const StatusHandle left(status_);
  const std::lock_guard lock(runs_.mutex_);
  Run** link = &runs_.first_;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

bool SubmittedRuns::Run::Wait(const CancellationToken* token, SpinTime& spin) {
  if (spin.Poll([this] { return has_ended_.load(std::memory_order_acquire); })) return true;
  const uint64_t deadline_ns = token == nullptr || token->deadline_ns == 0 ? UINT64_MAX : token->deadline_ns;
  std::unique_lock lock(runs_.mutex_);
  while (!has_ended_) {
    if (token != nullptr && token->Due()) return false;
    WaitUntil(changed_, lock, deadline_ns);
  }
  return true;
}

deputy_status* SubmittedRuns::Run::TakeStatus() { return std::exchange(status_, nullptr); }

SubmittedRuns::Run* SubmittedRuns::Find(uint64_t number) {
  for (Run* run = first_; run != nullptr; run = run->next_)
    if (run->number_ == number && !run->has_ended_) return run;
  return nullptr;
}

void SubmittedRuns::Done(void* self, uint64_t number, deputy_status* status) noexcept {
  SubmittedRuns& runs = *static_cast<SubmittedRuns*>(self);
  {
    const std::lock_guard lock(runs.mutex_);
    if (Run* const run = runs.Find(number); run != nullptr) {
      run->status_ = status;
      run->has_ended_ = true;
      ++runs.ends_;
      run->changed_.notify_one();  // with the lock: afterwards it may be gone
      runs.one_ended_.notify_all();
      return;
    }
  }
  const StatusHandle unused(status);
  try {
    runs.faults_.Line(LogLevel::kWarning,
                      fmt::format("{}: done broke its contract: run {} has ended before, or was never submitted",
                                  runs.label_, number));
  } catch (...) {  // no memory for the line
  }
}

void SubmittedRuns::Wake() {
  const std::lock_guard lock(mutex_);
  for (Run* run = first_; run != nullptr; run = run->next_) run->changed_.notify_one();
  one_ended_.notify_all();
}

void SubmittedRuns::WaitForAnEnd(uint64_t until_ns) {
  std::unique_lock lock(mutex_);
  const uint64_t before = ends_;
  while (ends_ == before && NowNs() <= until_ns) WaitUntil(one_ended_, lock, until_ns);
}

}  // namespace deputy::host
