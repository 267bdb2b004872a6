#include "plugin/checks/call_watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/log.hpp"

namespace deputy::host {

// All calls that are watched, and the thread that waits for the first that is late. Never destroyed: plugins are called
// until the process ends.
class CallWatchdog {
 public:
  using Clock = std::chrono::steady_clock;

  static CallWatchdog& Instance() {
    static auto* const watchdog = new CallWatchdog;
    return *watchdog;
  }

  void SetAction(HangAction action) {
    const std::lock_guard lock(mutex_);
    action_ = action;
  }

  void Add(WatchedCall& call) {
    {
      const std::lock_guard lock(mutex_);
      call.next_ = first_;
      if (first_ != nullptr) first_->before_ = &call;
      first_ = &call;
      if (!started_) Start();
      if (call.due_ >= wakes_) return;
    }
    changed_.notify_one();
  }

  void Remove(WatchedCall& call) {
    const std::lock_guard lock(mutex_);
    (call.before_ == nullptr ? first_ : call.before_->next_) = call.next_;
    if (call.next_ != nullptr) call.next_->before_ = call.before_;
  }

 private:
  // Without a further thread, calls are not watched until one can be started.
  void Start() {
    try {
      std::thread([this] { Watch(); }).detach();
      started_ = true;
    } catch (const std::system_error&) {
    }
  }

  void Watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      const Clock::time_point now = Clock::now();
      std::string late;
      wakes_ = Clock::time_point::max();
      for (WatchedCall* call = first_; call != nullptr && late.empty(); call = call->next_) {
        if (call->reported_) continue;
        if (call->due_ <= now) {
          call->reported_ = true;
          late = call->Text();
        } else {
          wakes_ = std::min(wakes_, call->due_);
        }
      }
      if (!late.empty()) {
        const HangAction action = action_;
        lock.unlock();
        Log(LogLevel::kError, "{}", late);
        if (action == HangAction::kAbort) std::abort();
        lock.lock();
      } else if (wakes_ == Clock::time_point::max()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, wakes_);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  WatchedCall* first_ = nullptr;
  Clock::time_point wakes_ = Clock::time_point::max();
  HangAction action_ = HangAction::kReport;
  bool started_ = false;
};

void SetHangAction(HangAction action) { CallWatchdog::Instance().SetAction(action); }

WatchedCall::WatchedCall(std::chrono::milliseconds limit, std::string_view label, std::string_view function,
                         std::string_view place)
    : limit_(limit), label_(label), function_(function), place_(place), due_(CallWatchdog::Clock::now() + limit) {
  if (limit_.count() != 0) CallWatchdog::Instance().Add(*this);
}

WatchedCall::~WatchedCall() {
  if (limit_.count() != 0) CallWatchdog::Instance().Remove(*this);
}

std::string WatchedCall::Text() const {
  const std::string time =
      limit_.count() % 1000 == 0 ? fmt::format("{} s", limit_.count() / 1000) : fmt::format("{} ms", limit_.count());
  return fmt::format("{}: {}: {}{}has not returned for {}, and cannot be ended in this process", label_, function_,
                     place_, place_.empty() ? "" : ": ", time);
}

}  // namespace deputy::host
