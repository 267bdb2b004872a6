#include "trap.hpp"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <new>

namespace deputy::conformance {
namespace {

struct Region {
  std::atomic<const char*> begin{nullptr};
  size_t size = 0;
  Forbidden forbidden = Forbidden::kAll;
  const char* description = "";
};

// Read by a signal handler: no locks, no allocation.
std::array<Region, 1024> g_regions;
Progress g_own_progress{};
Progress* g_progress = &g_own_progress;

void Append(char* text, size_t capacity, const char* more) {
  const size_t used = strlen(text);
  if (used + 1 < capacity) strncat(text, more, capacity - used - 1);
}

void OnFault(int signal, siginfo_t* info, void*) {
  static std::atomic_flag taken;
  if (taken.test_and_set())  // of several threads the first ends the process
    for (;;) pause();
  Progress* progress = SharedProgress();
  const auto* address = static_cast<const char*>(info->si_addr);
  for (const Region& region : g_regions) {
    const char* begin = region.begin.load(std::memory_order_acquire);
    if (begin == nullptr || address < begin || address >= begin + region.size) continue;
    progress->fault[0] = 0;
    Append(progress->fault, sizeof progress->fault, region.forbidden == Forbidden::kWrites ? "wrote " : "reached ");
    Append(progress->fault, sizeof progress->fault, region.description);
    break;
  }
  // Restores the default action: the repeated access kills the process.
  ::signal(signal, SIG_DFL);
}

}  // namespace

Progress* SharedProgress() { return g_progress; }

Progress* MakeProgress() {
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Progress*>(memory);
}

void DropProgress(Progress* progress) { munmap(progress, sizeof *progress); }

void UseProgress(Progress* progress) { g_progress = progress; }

void WatchRegion(const void* begin, size_t size, Forbidden forbidden, const char* description) {
  for (Region& region : g_regions) {
    if (region.begin.load() != nullptr) continue;
    region.size = size;
    region.forbidden = forbidden;
    region.description = description;
    region.begin.store(static_cast<const char*>(begin), std::memory_order_release);
    return;
  }
}

void UnwatchRegion(const void* begin) {
  for (Region& region : g_regions)
    if (region.begin.load() == begin) region.begin.store(nullptr, std::memory_order_release);
}

void InstallTrap() {
  static std::array<char, 64 * 1024> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace deputy::conformance
