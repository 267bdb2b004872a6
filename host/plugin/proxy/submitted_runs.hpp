// Runs that a delegate has begun and ends by itself (ext/draft/async.h): the host's side of their ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/cancellation.hpp"
#include "base/limited_log.hpp"
#include "base/spin.hpp"
#include "deputy/abi/ext/draft/async.h"

namespace deputy::host {

// One per delegate and process, since a thread of the plugin may call the sink after its instance was closed.
// [any-thread]
class SubmittedRuns {
 public:
  // `label`: of the plugin, for the log.
  explicit SubmittedRuns(const std::string& label);
  SubmittedRuns(const SubmittedRuns&) = delete;
  SubmittedRuns& operator=(const SubmittedRuns&) = delete;

  // From before a run is submitted until its end is known, or submit has failed. It allocates nothing.
  class Run {
   public:
    explicit Run(SubmittedRuns& runs);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    uint64_t number() const { return number_; }
    // Until the run has ended. False: the token was due before; null: none ever is.
    bool Wait(const CancellationToken* token, SpinTime& spin);
    // Of a run that has ended: the host's, null for success.
    deputy_status* TakeStatus();

   private:
    friend class SubmittedRuns;
    SubmittedRuns& runs_;
    uint64_t number_ = 0;
    std::atomic<bool> has_ended_{false};
    deputy_status* status_ = nullptr;  // before has_ended_
    std::condition_variable changed_;
    Run* next_ = nullptr;
  };

  const deputy_async_sink* sink() const { return &sink_; }
  // Waits look at their tokens again.
  void Wake();
  // Until the end of any run, or CLOCK_MONOTONIC is beyond `until_ns`.
  void WaitForAnEnd(uint64_t until_ns);

 private:
  static void Done(void* self, uint64_t number, deputy_status* status) noexcept;
  Run* Find(uint64_t number);

  const std::string label_;
  LimitedLog faults_;
  const deputy_async_sink sink_;
  std::mutex mutex_;  // of all below, and of the runs
  std::condition_variable one_ended_;
  Run* first_ = nullptr;
  uint64_t last_number_ = 0, ends_ = 0;
};

}  // namespace deputy::host
