// Delays calls of a delegate that may not overlap, and no others.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/cancellation.hpp"
#include "base/turn.hpp"

namespace deputy::host {

// Calls that may overlap, as one instance declares.
struct RunRules {
  bool contexts = true, executables = true, instances = true;  // runs
  bool loads = true;                                           // load-time calls with runs
};

// How a call takes part in the order of those that may not overlap.
struct PassRequest {
  int32_t priority = 0;                      // the largest goes first
  const CancellationToken* token = nullptr;  // ends the wait when it is due; null: nothing does
};

// One per delegate and process. Calls that may not overlap go in the order of their turns (base/turn.hpp); no call
// waits for one that it may overlap. [any-thread]
class ConcurrencyLimiter {
 public:
  // A call: it waits in the constructor and leaves in the destructor. One without an executable is a load-time call.
  class Pass {
   public:
    Pass(ConcurrencyLimiter& limiter, const void* instance, const void* executable, const RunRules& rules,
         const PassRequest& request = {});
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // False: the token was due before the turn of the call, which must not run.
    bool has_turn() const { return has_turn_; }

   private:
    friend class ConcurrencyLimiter;
    ConcurrencyLimiter& limiter_;
    const void* const instance_;
    const void* const executable_;
    const RunRules rules_;
    Turn turn_;
    bool has_turn_ = false;
    Pass *before_ = nullptr, *after_ = nullptr;  // in the order of arrival
  };

  // Calls that wait look at their tokens again.
  void Wake();
  // Calls that wait.
  size_t waiting() const;

 private:
  static bool MayOverlap(const Pass& a, const Pass& b);
  bool MustWait(const Pass& pass) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Pass* last_ = nullptr;  // waiting or running
  uint64_t passes_ = 0;   // so far
};

}  // namespace deputy::host
