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

// Whether other work takes processors from runs, by the involuntary context switches of the threads that call them.
// Only those within runs count: between them, the threads of a process are interrupted by its own ones, such as the
// host's pool by threads of OpenMP that still poll. Not thread-safe.
class Contention {
 public:
  // Of a thread, or of a run in it.
  struct Usage {
    uint64_t processor_ns = 0, involuntary_switches = 0;
  };

  bool Add(const Usage& run);

 private:
  // Several windows: the kernel and the services of a free machine interrupt a run now and then.
  static constexpr uint64_t kWindowNs = 30'000'000, kBusyNs = 2 * kWindowNs, kQuietNs = 100'000'000;
  // A calling thread on a free machine had up to 130 in a single window; on two processors, beside one or two busy
  // threads, 208 to 500 while the threads of its runs polled, and about 17,000 while they slept.
  static constexpr uint64_t kBusyPerSecond = 160, kFreePerSecond = 100;

  Usage window_;
  uint64_t busy_ns_ = 0, quiet_ns_ = 0;  // with, and without contention until then
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

  // A run that uses several threads, as long as it lives: two system calls, but in runs that begin within 0.1 ms of an
  // observed one. Begins and ends in the thread that runs.
  class ObservedRun {
   public:
    ObservedRun(Waiting& waiting, uint64_t now_ns) : waiting_(waiting), begin_(waiting.Begin(now_ns)) {}
    ~ObservedRun() {
      if (begin_) waiting_.End(*begin_);
    }
    ObservedRun(const ObservedRun&) = delete;
    ObservedRun& operator=(const ObservedRun&) = delete;

   private:
    Waiting& waiting_;
    const std::optional<Contention::Usage> begin_;
  };

  // Whether threads sleep now. Follows a little after a run that observed the reason.
  bool sleeps() const { return sleeps_.load(std::memory_order_acquire); }

 private:
  static constexpr uint64_t kPeriodNs = 100'000;

  std::optional<Contention::Usage> Begin(uint64_t now_ns);
  void End(const Contention::Usage& begin);
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
