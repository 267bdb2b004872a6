// The system calls that the sandbox of a worker process refuses. The kernel asks this process about each (a seccomp
// listener, https://docs.kernel.org/userspace-api/seccomp_filter.html), which answers with an error and counts them by
// name: code in the worker can neither hide a call nor be asked to report it, and need not keep a signal free for it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.hpp"

namespace deputy::host {

// What a worker sends with its listener: a line "NUMBER ERROR NAME" for each system call that this machine has.
inline constexpr size_t kMostCallTable = size_t{64} << 10;

class RefusedCalls {
 public:
  // Calls beyond this rate are answered by the kernel alone, with ENOSYS and without a count, from then on.
  static constexpr double kAtOnce = 1000, kPerSecond = 100;

  // `socket`: this process' end of the one on which the worker sends its listener. Starts a thread that answers until
  // the worker ends; without one more thread the socket is closed, which the worker sees.
  explicit RefusedCalls(Descriptor socket);
  ~RefusedCalls();
  RefusedCalls(const RefusedCalls&) = delete;
  RefusedCalls& operator=(const RefusedCalls&) = delete;

  // "socket (1)", "memfd_create (2)": each name with how often, in alphabetical order. [any-thread]
  std::vector<std::string> List() const;

 private:
  struct Call {
    std::string name;
    int error;
  };

  void Serve();
  bool TakeListener();
  bool ReadTable(std::string_view table);
  // False: no more calls are answered.
  bool Answer();

  Descriptor socket_, listener_, stop_;
  std::map<int, Call> calls_;  // by number
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> counts_;
  std::thread thread_;
};

// "; the sandbox has refused system calls of the plugin: memfd_create (2), socket (1)"; empty without one.
std::string RefusedText(const std::vector<std::string>& calls);

}  // namespace deputy::host
