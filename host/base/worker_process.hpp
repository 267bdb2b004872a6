// A helper process that runs foreign code: started without forking this process, in a session of its own, holding no
// descriptor of ours but those to answer on, and killed with everything that it started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/refused_calls.hpp"
#include "base/status.hpp"

namespace deputy::host {

// The helper finds the pipe or the socket for its answers here.
inline constexpr int kWorkerReplyFd = 3;
// And, where it enters a sandbox, the socket on which it sends the listener of its filter (RefusedCalls) here.
inline constexpr int kWorkerSandboxFd = 4;

class WorkerProcess {
 public:
  // A pipe that does not block, or a socket for both directions that does.
  enum class ReplyKind { kPipe, kSocket };

  struct Options {
    ReplyKind reply = ReplyKind::kPipe;
    bool sandbox = false;                  // the process will enter a sandbox
    std::vector<std::string> environment;  // of a sandbox: patterns of variables beyond those of WorkerEnvironment
  };
  // `arguments` follow the program's name. A program that is missing or cannot run is an error. Without a sandbox the
  // process has the environment of this one.
  static Result<std::unique_ptr<WorkerProcess>> Start(const std::filesystem::path& program,
                                                      const std::vector<std::string>& arguments,
                                                      const Options& options);
  // Kills all remaining processes.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Both end when all holders of the other side have closed it.
  int reply_fd() const { return reply_fd_; }
  int output_fd() const { return output_fd_; }  // standard output and standard error

  // The system calls that its sandbox has refused so far: "socket (1)". [any-thread]
  std::vector<std::string> refused_calls() const {
    return refused_ == nullptr ? std::vector<std::string>() : refused_->List();
  }

  // Waits until one of the two has data or the process has ended, `timeout` at most.
  struct Ready {
    bool reply = false, output = false, ended = false;
  };
  Ready Wait(std::chrono::milliseconds timeout, bool watch_reply, bool watch_output);

  // Kills the whole process group, and leaves the process to Finish(). Only before Finish(). [any-thread]
  void Kill() const;

  // Kills the whole process group and collects the process. Its wait status, or nothing when the kernel does not give
  // it up in time or the application has collected it (waitpid(-1), SIGCHLD ignored).
  std::optional<int> Finish();
  // The most memory that the process has held in bytes, once it was collected; else 0.
  uint64_t peak_memory() const { return peak_memory_; }

 private:
  WorkerProcess() = default;

  pid_t pid_ = -1;
  int pid_fd_ = -1, reply_fd_ = -1, output_fd_ = -1;
  uint64_t peak_memory_ = 0;
  std::unique_ptr<RefusedCalls> refused_;
};

// That all threads of a process have used; 0 where there is no such process.
std::chrono::nanoseconds ProcessorTimeOf(pid_t process);

// "was ended by SIGSEGV", "ended with exit status 1": of a wait status, as Finish() gives it.
std::string HowItEnded(const std::optional<int>& status);

}  // namespace deputy::host
