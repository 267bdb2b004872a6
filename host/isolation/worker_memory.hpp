// The memory of a worker process with a limit, shared memory of the host included.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <string>

#include "base/status.hpp"

namespace deputy::host {

// How many processes the system has ended because it lacked memory, as /proc/vmstat counts them in `counters`.
uint64_t CountOfEnded(std::istream& counters);
// Of WorkerMemory::WhyKilled, with what it reads of the system.
std::string WhyKilled(uint64_t peak, uint64_t all, bool lacked_memory);

// The process limits its own allocations to the same number of bytes when it starts (RLIMIT_DATA). [any-thread]
class WorkerMemory {
 public:
  // Between two looks at what the process holds.
  static constexpr std::chrono::milliseconds kBetweenLooks{100};

  // `limit` in bytes; 0: none, and the functions below do nothing.
  explicit WorkerMemory(uint64_t limit) : limit_(limit) {}
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  bool is_limited() const { return limit_ != 0; }
  // The process. Before shared memory is taken.
  void Begin(pid_t process);

  // Counts memory that the process will be able to write: it can allocate so much less. kResourceExhausted where that
  // is more than what it does not use; nothing is counted then.
  Status Take(uint64_t bytes);
  void Give(uint64_t bytes);

  // Looks, if the last look is long enough ago, for memory that the limit of allocations does not count: pages that
  // were written and are read-only now, swap, page tables, stacks of threads in the kernel. What the process did, as
  // the rest of a sentence ("holds 300 MB ..."), where that is clearly more than the limit; else empty.
  std::string Look();

  // What the process did, as in Look(), where the system, which lacked memory, has ended it by SIGKILL because of its
  // own `peak`: more than half of what there is. Empty where another process needed the memory, or sent the signal.
  std::string WhyKilled(uint64_t peak) const;

 private:
  void LimitAllocations();

  const uint64_t limit_;
  std::mutex mutex_;
  pid_t process_ = -1;
  uint64_t shared_ = 0;
  std::chrono::steady_clock::time_point next_look_{};
  uint64_t ended_before_ = 0;  // processes that the system ended because it lacked memory, when this one began
};

}  // namespace deputy::host
