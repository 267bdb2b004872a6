// Delays calls of a delegate that may not overlap, and no others.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace deputy::host {

// Calls that may overlap, as one instance declares.
struct RunRules {
  bool contexts = true, executables = true, instances = true;  // runs
  bool loads = true;                                           // load-time calls with runs
};

// One per delegate and process. Calls that may not overlap run in the order of arrival; a call never waits for a later
// one, nor for one that it may overlap. [any-thread]
class ConcurrencyLimiter {
 public:
  // A call: it waits in the constructor and leaves in the destructor. One without an executable is a load-time call.
  class Pass {
   public:
    Pass(ConcurrencyLimiter& limiter, const void* instance, const void* executable, const RunRules& rules);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    friend class ConcurrencyLimiter;
    ConcurrencyLimiter& limiter_;
    const void* const instance_;
    const void* const executable_;
    const RunRules rules_;
    Pass *before_ = nullptr, *after_ = nullptr;  // in the order of arrival
  };

 private:
  static bool MayOverlap(const Pass& a, const Pass& b);
  static bool MustWait(const Pass& pass);

  std::mutex mutex_;
  std::condition_variable changed_;
  Pass* last_ = nullptr;  // waiting or running
};

}  // namespace deputy::host
