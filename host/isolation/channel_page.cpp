#include "isolation/channel_page.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

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

void Bell::Sleep(uint32_t seen, std::chrono::nanoseconds most) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec limit{static_cast<time_t>(most.count() / kSecond), static_cast<long>(most.count() % kSecond)};
  sleeps_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a ring in between is not missed.
  if (count_.load(std::memory_order_seq_cst) == seen)
    FutexCall(count_, FUTEX_WAIT, seen, most.count() < 0 ? nullptr : &limit);
  sleeps_.store(0, std::memory_order_relaxed);
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
