#include "plugin/checks/call_watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "plugin/checks/text.hpp"

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
    Result<std::thread> started = StartThread([this] { Watch(); });
    started_ = started.ok();
    if (started_) started->detach();
  }

  void Watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      const Clock::time_point now = Clock::now();
      std::string late;
      HangAction action = HangAction::kReport;
      wakes_ = Clock::time_point::max();
      for (WatchedCall* call = first_; call != nullptr && late.empty(); call = call->next_) {
        if (call->reported_) continue;
        if (call->due_ <= now) {
          call->reported_ = true;
          late = call->Text();
          action = call->limit_.action;
        } else {
          wakes_ = std::min(wakes_, call->due_);
        }
      }
      if (!late.empty()) {
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
  bool started_ = false;
};

WatchedCall::WatchedCall(const CallLimit& limit, std::string_view label, std::string_view function,
                         std::string_view place)
    : limit_(limit), label_(label), function_(function), place_(place), due_(CallWatchdog::Clock::now() + limit.time) {
  if (limit_.time.count() != 0) CallWatchdog::Instance().Add(*this);
}

WatchedCall::~WatchedCall() {
  if (limit_.time.count() != 0) CallWatchdog::Instance().Remove(*this);
}

std::string WatchedCall::Text() const {
  return fmt::format("{}: {}: {}{}has not returned for {}, and cannot be ended in this process", label_, function_,
                     place_, place_.empty() ? "" : ": ", TimeText(limit_.time));
}

}  // namespace deputy::host
