#include "trap.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
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

// The pages of the one Stop.
struct Stopped {
  std::atomic<char*> pages{nullptr};
  size_t size = 0;
  int protection = 0;
  std::atomic<bool> taken{false}, open{false}, reached{false}, waits{false}, goes_on{false};
  std::atomic<int> repeated{0};
};
Stopped g_stopped;

// True if the access is to the pages of the stop, and may be repeated.
bool StoppedAt(const char* address) {
  char* const pages = g_stopped.pages.load(std::memory_order_acquire);
  if (pages == nullptr || address < pages || address >= pages + g_stopped.size) return false;
  // Of several threads the first waits. Others may have reached the pages before they were open; a write to pages that
  // can only be read is repeated without end.
  constexpr int kMostRepeated = 1000;
  if (g_stopped.taken.exchange(true)) return !g_stopped.open || ++g_stopped.repeated < kMostRepeated;
  mprotect(pages, g_stopped.size, g_stopped.protection);
  g_stopped.open = true;
  g_stopped.waits = true;
  g_stopped.reached = true;
  const timespec moment{0, 50000};
  for (int64_t left = std::chrono::nanoseconds(Stop::kPatience).count(); left > 0 && !g_stopped.goes_on;
       left -= moment.tv_nsec)
    nanosleep(&moment, nullptr);
  g_stopped.waits = false;
  return true;
}

void Append(char* text, size_t capacity, const char* more) {
  const size_t used = strlen(text);
  if (used + 1 < capacity) strncat(text, more, capacity - used - 1);
}

void OnFault(int signal, siginfo_t* info, void*) {
  const int error = errno;
  if (StoppedAt(static_cast<const char*>(info->si_addr))) {
    errno = error;
    return;
  }
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

Stop::Stop(void* pages, size_t size, int protection) : pages_(pages), size_(size), protection_(protection) {
  g_stopped.size = size;
  g_stopped.protection = protection;
  for (std::atomic<bool>* flag :
       {&g_stopped.taken, &g_stopped.open, &g_stopped.reached, &g_stopped.waits, &g_stopped.goes_on})
    *flag = false;
  g_stopped.repeated = 0;
  g_stopped.pages.store(static_cast<char*>(pages), std::memory_order_release);
  mprotect(pages, size, PROT_NONE);
}

Stop::~Stop() {
  Continue();
  mprotect(pages_, size_, protection_);
  g_stopped.pages.store(nullptr, std::memory_order_release);
}

bool Stop::reached() { return g_stopped.reached; }
bool Stop::waits() { return g_stopped.waits; }
void Stop::Continue() { g_stopped.goes_on = true; }

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
