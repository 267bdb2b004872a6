// The order of runs that wait for a queue of a delegate's device (ext/draft/scheduling.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "base/turn.hpp"
#include "deputy/abi/ext/draft/scheduling.h"
#include "plugin/proxy/concurrency_limiter.hpp"

namespace deputy::host {

class OpenedDelegate;

// One per instance whose delegate limits its queues. Allocates only where more runs wait than ever before. [any-thread]
class RunQueue {
 public:
  // Asks the delegate for its limits; null where it has none. `opened` outlives the queue.
  static Result<std::unique_ptr<RunQueue>> Make(const OpenedDelegate& opened, const deputy_ext_scheduling* scheduling);
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // A run, from before it waits until it has ended.
  class Place {
   public:
    Place(RunQueue& queue, deputy_context* context, const PassRequest& request);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Until it is the turn of the run. False: the token was due before, and the run must not begin.
    bool Wait();
    uint32_t queue() const { return on_; }
    // Only on the thread that begins and ends all runs of the group.
    bool has_turn() const { return has_turn_; }

   private:
    friend class RunQueue;
    RunQueue& queue_;
    const CancellationToken* const token_;
    Turn turn_;
    deputy_ready_run shown_{};
    bool has_turn_ = false;
    uint32_t on_ = 0;
    Place *before_ = nullptr, *after_ = nullptr;  // in the order of arrival
  };

  // Runs that wait look at their tokens again.
  void Wake();

 private:
  // Of delegates that never run at once, or of one that may run beside all others.
  struct Group {
    std::mutex mutex;                   // of all below, and of the places
    std::condition_variable changed;    // a turn, or the end of a choice
    Place* last = nullptr;              // waiting or running
    const RunQueue* running = nullptr;  // whose runs have a turn; null: none has
    size_t runs = 0;                    // that have a turn
    uint64_t arrivals = 0;
  };
  // The group of this name in this process; a new one for an empty name.
  static std::shared_ptr<Group> GroupNamed(const std::string& name);

  RunQueue(const OpenedDelegate& opened, const deputy_ext_scheduling& scheduling, const deputy_queue_limits& limits,
           std::shared_ptr<Group> group);
  // Gives turns to runs of the group that may begin. `lock` is of the group's mutex.
  static void GiveTurns(Group& group, std::unique_lock<std::mutex>& lock);
  // The first of the runs that wait, if it may begin.
  static Place* FirstToBegin(Group& group);
  // The delegate's choice among its runs that wait, which is made without the lock; `first` is the host's. Null: none
  // of them may begin any more.
  Place* Choose(Place* first, std::unique_lock<std::mutex>& lock);
  // Asks the delegate for an index of `shown_` and a queue. False: the host chooses.
  bool Ask(uint32_t& chosen, uint32_t& on);
  void Give(Place& place);

  const OpenedDelegate& opened_;
  const deputy_ext_scheduling& scheduling_;
  const uint32_t queue_count_, most_runs_;
  const std::shared_ptr<Group> group_;
  bool asks_;             // for the choice of the delegate
  bool chooses_ = false;  // is asked just now; runs that wait, whose contexts it sees, stay until it has answered
  uint32_t next_on_ = 0;  // the queue of the next run that the delegate does not choose
  // Of one choice.
  std::vector<Place*> waiting_;
  std::vector<deputy_ready_run> runs_;
  std::vector<const deputy_ready_run*> shown_;
};

}  // namespace deputy::host
