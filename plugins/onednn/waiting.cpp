#include "waiting.hpp"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace onednn {
namespace {

uint64_t Ns(const timeval& time) {
  return (static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec)) * 1000;
}

Contention::Usage ReadUsageOfThread() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return {Ns(used.ru_utime) + Ns(used.ru_stime), static_cast<uint64_t>(used.ru_nivcsw)};
}

// libgomp ends the process where it cannot start a thread.
bool CanStart(int threads) {
  std::vector<std::thread> started;
  try {
    for (int i = 0; i < threads; ++i) started.emplace_back([] {});
  } catch (const std::system_error&) {
  }
  for (std::thread& thread : started) thread.join();
  return static_cast<int>(started.size()) == threads;
}

}  // namespace

bool Contention::Add(const Usage& run) {
  window_.processor_ns += run.processor_ns;
  window_.involuntary_switches += run.involuntary_switches;
  if (window_.processor_ns < kWindowNs) return contended_;
  const uint64_t per_second = window_.involuntary_switches * 1'000'000'000 / window_.processor_ns;
  quiet_ns_ = per_second < kFreePerSecond ? quiet_ns_ + window_.processor_ns : 0;
  busy_ns_ = per_second > kBusyPerSecond ? busy_ns_ + window_.processor_ns : 0;
  contended_ = busy_ns_ >= kBusyNs || (contended_ && quiet_ns_ < kQuietNs);
  window_ = {};
  return contended_;
}

Waiting& Waiting::OfProcess() {
  static Waiting* const waiting = new Waiting(ReadUsageOfThread);
  return *waiting;
}

void Waiting::Prepare(int threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  least_threads_ = prepared_ ? std::min(least_threads_.load(), threads) : threads;
  if (prepared_) return;
  prepared_ = true;
  try {
    std::thread([this] { Hold(); }).detach();
  } catch (const std::system_error&) {
  }
}

std::optional<Contention::Usage> Waiting::Begin(uint64_t now_ns) {
  if (now_ns < next_ns_.load(std::memory_order_relaxed)) return std::nullopt;
  next_ns_.store(now_ns + kPeriodNs, std::memory_order_relaxed);
  return read_();
}

void Waiting::End(const Contention::Usage& begin) {
  const Contention::Usage end = read_();
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const bool contended =
      contention_.Add({end.processor_ns - begin.processor_ns, end.involuntary_switches - begin.involuntary_switches});
  if (contended == contended_) return;
  contended_ = contended;
  changed_.notify_all();
}

void Waiting::WaitUntilContended(bool wanted) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return contended_ == wanted; });
}

void Waiting::Hold() {
  for (;;) {
    WaitUntilContended(true);
    const int threads = std::max(2, omp_get_num_procs() - least_threads_ + 2);
    // OpenMP's threads belong to the thread that used them first and end with it.
    std::thread holder;
    if (CanStart(threads)) {
      holder = std::thread([this, threads] {
#pragma omp parallel num_threads(threads)
        { std::atomic_signal_fence(std::memory_order_seq_cst); }
        sleeps_.store(true, std::memory_order_release);
        WaitUntilContended(false);
      });
    }
    WaitUntilContended(false);
    if (holder.joinable()) holder.join();
    sleeps_.store(false, std::memory_order_release);
  }
}

}  // namespace onednn
