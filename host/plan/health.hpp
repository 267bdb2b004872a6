// Delegates and steps that have failed at run time, shared by all sessions: read by an execution before each step, at
// the cost of two relaxed loads while there is no failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/status.hpp"

namespace deputy::host {

struct Plan;

// The circuit breaker of a delegate whose device is lost or unavailable. Three failures within five minutes open it:
// nothing runs there until a back-off, which begins with 0.1 s and doubles up to 60 s, is over. Then one run is let
// through; its success closes the breaker. [any-thread]
class DelegateHealth {
 public:
  // False while the breaker is open. True for one caller after the back-off.
  bool Admits() {
    const uint64_t until = open_until_ns_.load(std::memory_order_relaxed);
    return until == 0 || AdmitsTrial(until);
  }
  void Succeeded() {
    if (open_until_ns_.load(std::memory_order_relaxed) != 0) Close();
  }
  // Whether this failure opened the breaker, or kept it open.
  bool DeviceFailed();

  // CLOCK_MONOTONIC; 0: the breaker is closed.
  uint64_t open_until_ns() const { return open_until_ns_.load(std::memory_order_relaxed); }

  static constexpr size_t kFailuresToOpen = 3;
  static constexpr uint64_t kWindowNs = 300'000'000'000, kFirstBackOffNs = 100'000'000,
                            kLongestBackOffNs = 60'000'000'000;

 private:
  bool AdmitsTrial(uint64_t until);
  void Close();

  std::atomic<uint64_t> open_until_ns_{0};
  std::mutex mutex_;
  std::deque<uint64_t> failures_;  // times, the latest last
  uint64_t back_off_ns_ = 0;
};

// Whether a delegate still runs its step. A step that failed for another reason than its device, and whose alternative
// succeeded, is demoted: the alternative runs it from then on, in every session of the plan.
class StepHealth {
 public:
  explicit StepHealth(std::shared_ptr<DelegateHealth> delegate) : delegate_(std::move(delegate)) {}

  // [any-thread]
  bool OwnerRuns() { return !demoted_.load(std::memory_order_relaxed) && delegate_->Admits(); }
  bool demoted() const { return demoted_.load(std::memory_order_acquire); }
  // True for the call that demoted the step. [any-thread]
  bool Demote() { return !demoted_.exchange(true, std::memory_order_acq_rel); }
  DelegateHealth& delegate() { return *delegate_; }

  // The plan that runs the step instead; null until first needed. The model's lock guards it.
  std::shared_ptr<const Plan> alternative;

 private:
  const std::shared_ptr<DelegateHealth> delegate_;
  std::atomic<bool> demoted_{false};
};

// Whether a failure is that of a device, which may work again later.
inline bool IsDeviceFailure(const Status& status) {
  return status.code() == StatusCode::kDeviceLost || status.code() == StatusCode::kUnavailable;
}

}  // namespace deputy::host
