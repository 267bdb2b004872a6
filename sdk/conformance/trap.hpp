// The progress of a test, in memory shared with the process that started it: the current action, and the guarded region
// of a fatal access.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace deputy::conformance {

struct Progress {
  char function[64];  // of the plugin, that is running; "" between calls
  char subject[256];  // the case
  char fault[256];    // "wrote 4 bytes behind output 0"
  int64_t next_case;  // to continue with after a case that ended the process
  uint64_t since_ns;  // when the function was called
};

// The progress of this process. The process that starts a test makes the shared memory.
Progress* SharedProgress();
Progress* MakeProgress();
void DropProgress(Progress* progress);
void UseProgress(Progress* progress);

// Regions of memory with forbidden accesses. `description` names the region in messages and must outlive it.
enum class Forbidden { kAll, kWrites };
void WatchRegion(const void* begin, size_t size, Forbidden forbidden, const char* description);
void UnwatchRegion(const void* begin);

// Whole pages at whose first access the accessing thread waits. One at a time in the process.
class Stop {
 public:
  // `protection` is that of the pages from the access on, or from the end of the stop.
  Stop(void* pages, size_t size, int protection);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // A thread has reached the pages, and waits until Continue, but not for ever: it may have a lock for which the caller
  // of Continue waits.
  static bool reached();
  static bool waits();
  static void Continue();
  static constexpr std::chrono::milliseconds kPatience{100};

 private:
  void* pages_;
  size_t size_;
  int protection_;
};

// Catches SIGSEGV and SIGBUS on a separate stack, records the region in SharedProgress(), and lets the signal kill the
// process.
void InstallTrap();

}  // namespace deputy::conformance
