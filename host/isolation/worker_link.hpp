// The host's end of a worker process that serves a plugin: the process, the channels for calls, and a thread that
// watches it, takes its log lines, and finds out how it ended. A worker that breaks the protocol is ended.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/limited_log.hpp"
#include "base/status.hpp"
#include "base/worker_process.hpp"
#include "deputy/abi/host.h"
#include "isolation/call_deadline.hpp"
#include "isolation/channel.hpp"
#include "isolation/frame.hpp"
#include "isolation/serve.hpp"
#include "isolation/worker_memory.hpp"

namespace deputy::host {

// A text of a worker as the message of an error: never empty, printable, not too long.
std::string PrintableReason(std::string_view text);

class WorkerLink final : private SharedArenaUser {
 public:
  // Starts the process and waits for its first message.
  static Result<std::unique_ptr<WorkerLink>> Start(const RemotePluginOptions& options);
  // Ends the process; no call is in progress.
  ~WorkerLink() override;
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  Hello& hello() { return **hello_; }
  // "plugin com.example.npu (npu.so) in its worker process"
  const std::string& label() const { return label_; }
  const RemotePluginOptions& options() const { return options_; }

  // A channel that no other call uses. Null when the worker has ended, as has_ended() tells, when it has too many
  // messages to read before the limit is over, and when there is no descriptor or memory for one. [any-thread]
  std::unique_ptr<Channel> Acquire(const TimeLimit& limit);
  bool has_ended();
  // Of serve.hpp. [any-thread]
  std::string OwnFault();
  // Under which it has failed. [any-thread]
  FaultLimits fault_limits();
  // Of the sandbox: "socket (1)". [any-thread]
  std::vector<std::string> refused_calls() const { return process_->refused_calls(); }
  // What the worker may hold.
  WorkerMemory& memory() { return memory_; }
  // `sound`: another call may use it.
  void Release(std::unique_ptr<Channel> channel, bool sound) noexcept;
  // Ends the worker because of what it did: "sent an invalid frame". Returns the fault as a sentence. `limit`: the one
  // of time that it has exceeded, of FaultLimits. [any-thread]
  std::string Condemn(std::string_view fault, std::string_view limit = {});
  // Ends the worker in a call that this side has given up, which is no fault of its own. [any-thread]
  void Abandon() noexcept;
  // For a channel that was closed: waits until it is known how the worker ended, a moment at least and not much longer
  // than the limit of the call. [any-thread]
  std::string HowLost(const TimeLimit& limit);

  // The place of bytes in a region that the worker has; 0 where it has none with them. A new region is sent to it in a
  // call of its own, within the limit of the run. [any-thread]
  uint64_t PlaceOf(const void* data, uint64_t size, const CallDeadline& run);
  // As long as it is the same, PlaceOf has the same results. [any-thread]
  uint64_t generation() const { return options_.arenas == nullptr ? 0 : options_.arenas->generation(); }

  // Asks the run of a context to end, by kCancel, or kCancelSubmitted. Waits for a moment where the worker has many
  // messages to read, after which the run goes on. [any-thread]
  void Cancel(Function function, uint64_t context, uint64_t run);

  // The host that log lines of the worker with this key go to, until it is forgotten. [any-thread]
  void RememberHost(uint64_t key, const deputy_host* host);
  void ForgetHost(uint64_t key);
  // [any-thread]
  void Log(const LogForm& line);

 private:
  class Output;

  explicit WorkerLink(const RemotePluginOptions& options);
  Status Begin();
  Status StartProcess();
  Status AwaitHello();
  std::chrono::milliseconds UntilLook(std::chrono::milliseconds left) const;
  void Watch();
  bool TakeControl();
  void Kill();  // with mutex_
  std::unique_ptr<Channel> NewChannel(const TimeLimit& limit);
  Transfer SendControl(Function function, const std::vector<uint64_t>& words, const TimeLimit& limit,
                       const std::vector<int>& descriptors = {});
  void Freed(uint64_t region) override;
  bool Share(const SharedArenas::Region& region, uint32_t number, const CallDeadline& run);
  void SendFreed(const RegionForm& region);

  const RemotePluginOptions options_;
  const FaultLimits limits_;  // but those of time
  WorkerMemory memory_;
  LimitedLog log_;  // of what the worker prints, and of its lines that belong to no host
  const std::chrono::nanoseconds spin_;
  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<Received<Hello>> hello_;
  std::string label_;
  std::unique_ptr<Output> output_;
  // Of the control socket, by the watcher.
  FrameReader control_;
  std::optional<TimeLimit> control_limit_;  // of the frame that has begun
  int ending_signal_ = 0;                   // that the worker said would end it
  std::thread watcher_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Channel>> idle_;
  std::vector<Channel*> used_;        // by calls in progress
  std::string condemned_;             // why this side ended it
  std::string exceeded_;              // the limit of time, if that was it
  std::optional<std::string> ended_;  // how it ended
  bool end_unknown_ = false;          // the application has its status, and it told of no fault
  bool collecting_ = false;           // its number may be another process' soon

  std::mutex sending_;  // on the control socket
  std::optional<std::chrono::steady_clock::time_point> unread_since_;
  std::atomic<uint32_t> last_channel_{0};
  std::mutex regions_mutex_;
  std::map<uint64_t, uint32_t> regions_;  // that the worker has: the numbers in places, by id
  std::vector<uint32_t> free_numbers_;
  uint32_t last_number_ = 0;

  std::mutex hosts_mutex_;
  std::map<uint64_t, const deputy_host*> hosts_;
};

}  // namespace deputy::host
