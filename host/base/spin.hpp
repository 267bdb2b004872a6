// Waiting in a loop before a thread sleeps in the kernel: a blocking wake-up costs tens of microseconds, a polled one
// less than one. Where this process may use a single CPU, polling only keeps the other side from running.
#pragma once

#include <chrono>
#include <cstdint>

namespace deputy::host {

// CPUs that this process may use, at the time of the call. [any-thread]
uint32_t AvailableCpus();

// Tells the CPU that this thread polls.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Polls until `happened` says so, `most` long. False: it did not happen.
template <class Happened>
bool PollFor(std::chrono::nanoseconds most, const Happened& happened) {
  if (most.count() <= 0) return happened();
  const auto end = std::chrono::steady_clock::now() + most;
  constexpr int kRounds = 16;  // between two looks at the clock
  do {
    for (int round = 0; round < kRounds; ++round) {
      if (happened()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return happened();
}

// How long a thread polls next: as long as allowed while that is worth it, half as long after each time in vain, and
// not at all in the end. Two sides that have to share a processor would only keep it from each other. It tries again
// now and then. Of one thread at a time.
class SpinTime {
 public:
  explicit SpinTime(std::chrono::nanoseconds most) : most_(most), now_(most) {}
  // PollFor that time.
  template <class Happened>
  bool Poll(const Happened& happened) {
    constexpr uint32_t kBetweenTries = 32;
    const bool tries = now_ < kShortest && most_ >= kShortest && ++left_out_ >= kBetweenTries;
    if (tries) {
      left_out_ = 0;
      now_ = most_;
    }
    const bool polled = now_ >= kShortest, succeeded = PollFor(polled ? now_ : std::chrono::nanoseconds(0), happened);
    if (!succeeded) now_ = tries ? std::chrono::nanoseconds(0) : now_ / 2;
    if (succeeded && polled) now_ = most_;
    return succeeded;
  }

 private:
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(1);

  const std::chrono::nanoseconds most_;
  std::chrono::nanoseconds now_;
  uint32_t left_out_ = 0;
};

}  // namespace deputy::host
