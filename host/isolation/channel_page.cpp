#include "isolation/channel_page.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "base/spin.hpp"

namespace deputy::host {
namespace {

// Not the private form: the other side is another process.
void FutexCall(const std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* limit) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

}  // namespace

void Bell::Ring() {
  // In this order: a thread that goes to sleep announces it before it compares the count.
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeps_.load(std::memory_order_seq_cst) != 0) FutexCall(count_, FUTEX_WAKE, INT_MAX, nullptr);
}

bool Bell::Poll(uint32_t seen, std::chrono::nanoseconds most) const {
  if (most.count() <= 0) return count() != seen;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + most;
  constexpr int kRounds = 16;  // between two looks at the clock
  do {
    for (int round = 0; round < kRounds; ++round) {
      if (count() != seen) return true;
      Pause();
    }
  } while (Clock::now() < end);
  return count() != seen;
}

void Bell::Sleep(uint32_t seen, std::chrono::nanoseconds most) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec limit{static_cast<time_t>(most.count() / kSecond), static_cast<long>(most.count() % kSecond)};
  sleeps_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a ring in between is not missed.
  if (count_.load(std::memory_order_seq_cst) == seen)
    FutexCall(count_, FUTEX_WAIT, seen, most.count() < 0 ? nullptr : &limit);
  sleeps_.store(0, std::memory_order_relaxed);
}

bool SpinTime::Poll(const Bell& bell, uint32_t seen) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(1);
  constexpr uint32_t kBetweenTries = 32;
  if (now_ < kShortest && most_ >= kShortest && ++left_out_ >= kBetweenTries) {
    left_out_ = 0;
    now_ = most_;
    const bool rung = bell.Poll(seen, most_);
    if (!rung) now_ = std::chrono::nanoseconds(0);
    return rung;
  }
  const bool rung = bell.Poll(seen, now_ < kShortest ? std::chrono::nanoseconds(0) : now_);
  if (!rung) now_ /= 2;
  if (rung && now_ >= kShortest) now_ = most_;
  return rung;
}

bool PutWords(uint64_t* slot, std::atomic<uint32_t>& count, const std::vector<uint64_t>& words) {
  if (words.size() > kSlotWords) return false;
  std::copy(words.begin(), words.end(), slot);
  count.store(static_cast<uint32_t>(words.size()), std::memory_order_relaxed);
  return true;
}

bool TakeWords(const uint64_t* slot, const std::atomic<uint32_t>& count, std::vector<uint64_t>& words) {
  const uint32_t taken = count.load(std::memory_order_relaxed);
  if (taken > kSlotWords) return false;
  words.assign(slot, slot + taken);
  return true;
}

}  // namespace deputy::host
