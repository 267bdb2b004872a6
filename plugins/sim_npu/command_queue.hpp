// Runs that were submitted to a device, in order, on a thread of the device's own.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// [any-thread]
class CommandQueue {
 public:
  CommandQueue() = default;
  // No run is left.
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // `context` executes the run when those before it have ended. Where no thread can be started, it does so now.
  void Add(deputy::sdk::ExecutionContext& context, deputy::sdk::SubmittedRun& run);
  // Ends the runs that were cancelled and have not begun.
  void EndCancelled();

 private:
  struct Command {
    deputy::sdk::ExecutionContext* context;
    deputy::sdk::SubmittedRun* run;
  };
  static void Execute(const Command& command);
  void Work();
  // With the lock. False: there is no thread.
  bool Start();

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Command> waiting_;
  bool quits_ = false;
  std::thread thread_;
};

}  // namespace sim_npu
