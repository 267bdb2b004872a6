// Runs that a delegate begins and ends by itself (ext/draft/async.h), and the limits of its queues
// (ext/draft/scheduling.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "deputy/abi/ext/draft/async.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "instance.hpp"
#include "shown_model.hpp"

namespace deputy::conformance {

// A run from submit to run_destroy, in buffers of its own. Its end comes from any thread of the plugin.
class Submission {
 public:
  Submission(const ShownModel& shown, const Claim& claim, Context& context)
      : shown_(shown), claim_(claim), context_(context), binding_(shown, claim, Flush::kEnd, kPoison) {}
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  Binding& binding() { return binding_; }
  // In the place of the binding's tensors, in their order.
  void Give(std::vector<deputy_tensor> tensors) { tensors_ = std::move(tensors); }
  // Of a run that has ended.
  const Outcome& outcome() const { return outcome_; }
  std::string FaultOfValues(deputy_dtype computes_in) const {
    return conformance::FaultOfValues(shown_, claim_, binding_.Results(), computes_in);
  }
  // It ended before submit had returned, on the thread that called submit.
  bool ended_in_submit() const { return ended_in_submit_; }

 private:
  friend class Submissions;
  const ShownModel& shown_;
  const Claim& claim_;
  Context& context_;
  Binding binding_;
  std::vector<deputy_tensor> tensors_;
  std::vector<const deputy_tensor*> inputs_, outputs_;
  std::unique_ptr<GuardedBuffer> scratch_;
  deputy_async_run* run_ = nullptr;
  uint64_t number_ = 0;
  bool has_ended_ = false, ended_in_submit_ = false;
  Outcome outcome_;
};

// The runs of an instance. Ends that belong to no run are faults of the plugin.
class Submissions {
 public:
  explicit Submissions(Instance& instance);
  Submissions(const Submissions&) = delete;
  Submissions& operator=(const Submissions&) = delete;

  // False: the delegate lacks the extension, or its table has empty slots, which is recorded.
  bool has() const { return table_ != nullptr; }
  bool says_it_cancels() const { return (table_->flags & DEPUTY_ASYNC_CANCELS) != 0; }
  const deputy_ext_scheduling* scheduling() const { return scheduling_; }
  // Of one run and one context without deputy.scheduling.
  deputy_queue_limits Limits();

  // Without a sink the end is that of Wait. A full queue is tried again for a second, as by a host. Runs are on the
  // delegate's queues in turn.
  Outcome Submit(Submission& one, bool with_sink = true, uint64_t deadline_ns = 0);
  // The same once.
  Outcome TrySubmit(Submission& one, bool with_sink = true, uint64_t deadline_ns = 0);
  // False: it has not ended in that time, after which the process must end without destroying the run.
  bool WaitForEnd(Submission& one, std::chrono::seconds patience);
  Outcome Wait(Submission& one, uint64_t deadline_ns);
  bool HasEnded(Submission& one);
  Outcome Cancel(Submission& one);
  // Ends a run that has ended. Its tensors cannot be written any more: they are kept for a while.
  void Destroy(std::unique_ptr<Submission>& one);

 private:
  static void Done(void* self, uint64_t number, deputy_status* status);

  Instance& instance_;
  const deputy_ext_async* table_;
  const deputy_ext_scheduling* scheduling_;
  deputy_async_sink sink_{};
  std::mutex mutex_;  // of all below, and of the submissions' ends
  std::condition_variable changed_;
  std::map<uint64_t, Submission*> in_flight_;
  std::map<uint64_t, std::thread::id> submitting_;  // whose submit has not returned
  uint64_t last_number_ = 0;
  uint32_t queues_ = 0;                            // 0: not known yet
  std::deque<std::unique_ptr<Submission>> ended_;  // on the kit's thread alone
};

}  // namespace deputy::conformance
