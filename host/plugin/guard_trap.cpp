#include "plugin/guard_trap.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace deputy::host {
namespace {

struct Region {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<size_t> size{0};
  std::atomic<const char*> what{nullptr};
};

// Read by a signal handler, so it can be nothing but fixed.
std::array<Region, 4096> regions;
struct sigaction before_segv, before_bus;
std::once_flag installed;

void Say(const char* text) {
  // A line that cannot be written has nobody to tell.
  (void)!write(STDERR_FILENO, text, std::strlen(text));
}

void Handle(int number, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Region& region : regions) {
    const uintptr_t begin = region.begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at - begin >= region.size.load(std::memory_order_relaxed)) continue;
    Say("deputy: check: ");
    Say(region.what.load(std::memory_order_relaxed));
    Say("\n");
    break;
  }
  // The instruction runs again, and this time the one who was there before decides.
  sigaction(number, number == SIGSEGV ? &before_segv : &before_bus, nullptr);
}

void Install() {
  struct sigaction action {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

}  // namespace

void WatchRegion(const void* begin, size_t size, const char* what) {
  std::call_once(installed, Install);
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (Region& region : regions) {
    if (region.begin.load(std::memory_order_relaxed) != 0) continue;
    region.size.store(size, std::memory_order_relaxed);
    region.what.store(what, std::memory_order_relaxed);
    region.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
    return;
  }
}

void UnwatchRegion(const void* begin) {
  for (Region& region : regions) {
    uintptr_t wanted = reinterpret_cast<uintptr_t>(begin);
    if (region.begin.compare_exchange_strong(wanted, 0)) return;
  }
}

}  // namespace deputy::host
