// Delegates and steps that have failed at run time or are still to be verified, shared by all sessions: read by an
// execution before each step, at the cost of three relaxed loads in the common case.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/digest.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"

namespace deputy::host {

struct Plan;

// The consequences that the configuration gives to failures of a delegate, and the runs that are verified.
struct RunHandling {
  bool falls_back = true;      // false: a failure ends the run
  bool first_run = false;      // verifies the first run of a partition without a verdict
  uint32_t every = 0;          // n > 0: verifies the first run of each session and each n-th one after it
  bool replaces_wrong = true;  // false: a wrong result ends the run

  bool verifies() const { return first_run || every != 0; }
};

// The circuit breaker of a delegate whose device is lost or unavailable. Three failures within five minutes open it:
// nothing runs there until a back-off, which begins with 0.1 s and doubles up to 60 s, is over. Then one run is let
// through; its success closes the breaker. [any-thread]
class DelegateHealth {
 public:
  explicit DelegateHealth(RunHandling handling = {}) : handling_(handling) {}
  const RunHandling& handling() const { return handling_; }

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

  // One loss of a device, or end of its process, fails all runs that are on it: only the first of them counts. A run
  // takes the number before it begins, and after its failure asks whether it is the first since. [any-thread]
  uint64_t loss_number() const { return losses_.load(std::memory_order_relaxed); }
  bool IsFirstOfLoss(uint64_t number) { return losses_.compare_exchange_strong(number, number + 1); }

  // Steps whose last run failed, and that the delegate has not run well since. [any-thread]
  void CountFailing(int change) { failing_.fetch_add(change, std::memory_order_relaxed); }
  bool failing() const { return failing_.load(std::memory_order_relaxed) > 0; }

  // CLOCK_MONOTONIC; 0: the breaker is closed.
  uint64_t open_until_ns() const { return open_until_ns_.load(std::memory_order_relaxed); }

  static constexpr size_t kFailuresToOpen = 3;
  static constexpr uint64_t kWindowNs = 300'000'000'000, kFirstBackOffNs = 100'000'000,
                            kLongestBackOffNs = 60'000'000'000;

 private:
  bool AdmitsTrial(uint64_t until);
  void Close();

  const RunHandling handling_;
  std::atomic<uint64_t> open_until_ns_{0};
  std::atomic<uint64_t> losses_{0};
  std::atomic<int> failing_{0};
  Mutex mutex_;
  std::deque<uint64_t> failures_ DEPUTY_GUARDED_BY(mutex_);  // times, the latest last
  uint64_t back_off_ns_ DEPUTY_GUARDED_BY(mutex_) = 0;
};

// Whether a delegate still runs its step. A step that failed for another reason than its device, and whose alternative
// succeeded, is demoted: the alternative runs it from then on, in every session of the plan. So is a step that was
// found to compute wrong results.
class StepHealth {
 public:
  // `key`: of the partition in the store of verdicts, if it has one.
  explicit StepHealth(std::shared_ptr<DelegateHealth> delegate, std::optional<Digest> key = std::nullopt)
      : verdict_key(key), delegate_(std::move(delegate)) {
    const RunHandling& handling = delegate_->handling();
    attention_ = static_cast<uint8_t>((handling.first_run ? kUnverified | kImportsUnverified : 0) |
                                      (handling.every != 0 ? kVerifies : 0));
  }

  ~StepHealth() {
    if ((attention_.load(std::memory_order_relaxed) & kFailing) != 0) delegate_->CountFailing(-1);
  }
  StepHealth(const StepHealth&) = delete;
  StepHealth& operator=(const StepHealth&) = delete;

  // [any-thread]
  bool OwnerRuns() { return !demoted() && delegate_->Admits(); }
  bool demoted() const { return (attention_.load(std::memory_order_acquire) & kDemoted) != 0; }
  // True for the call that demoted the step. [any-thread]
  bool Demote() { return (attention_.fetch_or(kDemoted, std::memory_order_acq_rel) & kDemoted) == 0; }
  // Whether the result of the run is to be verified: that with this number, counted from 0 in each session. A first
  // run is one more where it is the first with tensors in imported memory.
  bool IsToVerify(uint64_t run, bool has_imports = false) const {
    const uint8_t attention = attention_.load(std::memory_order_relaxed);
    if ((attention & kAnyVerification) == 0) return false;
    return (attention & (has_imports ? kUnverified | kImportsUnverified : kUnverified)) != 0 ||
           ((attention & kVerifies) != 0 && run % delegate_->handling().every == 0);
  }
  // Whether any later run may have to be verified, other than the first one with imported memory.
  bool MayVerify() const {
    const uint8_t attention = attention_.load(std::memory_order_relaxed);
    return (attention & kDemoted) == 0 && (attention & (kUnverified | kVerifies)) != 0;
  }
  void SetVerified() { attention_.fetch_and(static_cast<uint8_t>(~kUnverified), std::memory_order_relaxed); }
  void SetImportsVerified() {
    attention_.fetch_and(static_cast<uint8_t>(~kImportsUnverified), std::memory_order_relaxed);
  }
  // Results cannot be verified: those of random numbers, or where the CPU has no kernel.
  void StopVerifying() { attention_.fetch_and(static_cast<uint8_t>(~kAnyVerification), std::memory_order_relaxed); }
  DelegateHealth& delegate() { return *delegate_; }
  void Succeeded() {
    delegate_->Succeeded();
    if ((attention_.load(std::memory_order_relaxed) & (kEndedProcess | kFailing)) == 0) return;
    constexpr auto kKept = static_cast<uint8_t>(~(kEndedProcess | kFailing));
    if ((attention_.fetch_and(kKept, std::memory_order_relaxed) & kFailing) != 0) delegate_->CountFailing(-1);
  }
  // Notes that the delegate failed to run the step; until it has run it well.
  void Failed() {
    if ((attention_.fetch_or(kFailing, std::memory_order_relaxed) & kFailing) == 0) delegate_->CountFailing(1);
  }
  // Notes that a run of the step ended the process of its delegate. Whether the one before did so, too.
  bool EndedProcess() { return (attention_.fetch_or(kEndedProcess, std::memory_order_relaxed) & kEndedProcess) != 0; }

  const std::optional<Digest> verdict_key;
  // The plan that runs the step instead; null until first needed. The model's lock guards it.
  std::shared_ptr<const Plan> alternative;
  // The same nodes on the CPU, as long as runs may have to be verified. The model's lock guards it.
  std::shared_ptr<const Plan> reference;

 private:
  static constexpr uint8_t kDemoted = 1, kUnverified = 2, kVerifies = 4, kEndedProcess = 8, kFailing = 16,
                           kImportsUnverified = 32, kAnyVerification = kUnverified | kVerifies | kImportsUnverified;

  const std::shared_ptr<DelegateHealth> delegate_;
  std::atomic<uint8_t> attention_{0};
};

// Whether a failure is that of a device, which may work again later.
inline bool IsDeviceFailure(const Status& status) {
  return status.code() == StatusCode::kDeviceLost || status.code() == StatusCode::kUnavailable;
}

}  // namespace deputy::host
