// How the threads of OpenMP wait for the next primitive. On free processors they poll: to wake a sleeping thread takes
// as long as a small primitive. Beside other work, a thread that polls uses up its share of a processor and is then
// interrupted for milliseconds while the others wait for it; there they sleep at once. Results do not depend on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace onednn {

// Whether other work takes processors from the threads of a process, by its involuntary context switches: alone it had
// 2 to 5 in a second of processor time, beside one busy thread on two processors 340 to 425 while its threads polled
// and 19,000 while they slept. Not thread-safe.
class Contention {
 public:
  // Of the process so far.
  struct Usage {
    uint64_t processor_ns, involuntary_switches;
  };

  bool Add(const Usage& usage);

 private:
  static constexpr uint64_t kWindowNs = 30'000'000, kQuietNs = 100'000'000;
  static constexpr uint64_t kBusyPerSecond = 120, kFreePerSecond = 40;

  std::optional<Usage> begin_;  // of the window
  uint64_t quiet_ns_ = 0;       // without contention until then
  bool contended_ = false;
};

// Of the process, as OpenMP's threads are. libgomp polls for GOMP_SPINCOUNT rounds, or for at most 100 while it has
// more threads than processors. So that they sleep, a thread of the plugin holds as many more as that needs; they never
// run.
class Waiting {
 public:
  static Waiting& OfProcess();

  // Never destroyed: its thread waits until the process ends.
  using ReadUsage = Contention::Usage (*)();
  explicit Waiting(ReadUsage read) : read_(read) {}
  ~Waiting() = delete;

  // Before the first run that uses `threads` threads. May start a thread; where none can be started, threads poll.
  // [any-thread]
  void Prepare(int threads);

  // In each run that uses several threads; a system call every 10 ms. [any-thread]
  void Observe(uint64_t now_ns);

  // Whether threads sleep now. Follows a little after a run that observed the reason.
  bool sleeps() const { return sleeps_.load(std::memory_order_acquire); }

 private:
  static constexpr uint64_t kPeriodNs = 10'000'000;

  void WaitUntilContended(bool wanted);
  void Hold();

  const ReadUsage read_;
  std::atomic<uint64_t> next_ns_{0};
  std::atomic<bool> sleeps_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Contention contention_;                      // guarded by mutex_
  bool contended_ = false, prepared_ = false;  // guarded by mutex_
  std::atomic<int> least_threads_{0};          // of a run
};

}  // namespace onednn
