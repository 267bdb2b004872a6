#include "isolation/worker_memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace deputy::host {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

// Of its /proc/PID/status; 0 for what is not there.
struct ProcessMemory {
  uint64_t writable = 0;  // that it has mapped, and RLIMIT_DATA counts
  uint64_t held = 0;      // that the system has given it

  static ProcessMemory Of(pid_t process) {
    constexpr uint64_t kKernelBytesOfThread = 32u << 10;
    ProcessMemory memory;
    std::ifstream file(fmt::format("/proc/{}/status", process));
    std::string key;
    for (uint64_t number = 0; file >> key;) {
      const bool sums = key == "RssAnon:" || key == "VmSwap:" || key == "VmPTE:" || key == "HugetlbPages:";
      if (sums || key == "VmData:" || key == "Threads:") {
        if (!(file >> number)) break;
        if (sums) memory.held += number << 10;
        if (key == "VmData:") memory.writable = number << 10;
        if (key == "Threads:") memory.held += number * kKernelBytesOfThread;
      }
      std::getline(file, key);
    }
    return memory;
  }
};

uint64_t CountOfEndedNow() {
  std::ifstream counters("/proc/vmstat");
  return CountOfEnded(counters);
}

}  // namespace

uint64_t CountOfEnded(std::istream& counters) {
  std::string name;
  for (uint64_t count = 0; counters >> name >> count;)
    if (name == "oom_kill") return count;
  return 0;
}

std::string WhyKilled(uint64_t peak, uint64_t all, bool lacked_memory) {
  if (!lacked_memory || peak <= all / 2) return "";
  return fmt::format("was ended by SIGKILL, for it held {} MB of memory, and the system lacked some", peak / kMegabyte);
}

void WorkerMemory::Begin(pid_t process) {
  const std::lock_guard lock(mutex_);
  process_ = process;
  ended_before_ = CountOfEndedNow();
}

std::string WorkerMemory::WhyKilled(uint64_t peak) const {
  uint64_t all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // Where this is a container, its own.
  if (uint64_t of_group = 0; std::ifstream("/sys/fs/cgroup/memory.max") >> of_group) all = std::min(all, of_group);
  return host::WhyKilled(peak, all, CountOfEndedNow() > ended_before_);
}

void WorkerMemory::LimitAllocations() {
  const rlimit allocations{limit_ - shared_, limit_};
  (void)prlimit(process_, RLIMIT_DATA, &allocations, nullptr);  // fails where it has ended
}

Status WorkerMemory::Take(uint64_t bytes) {
  if (!is_limited()) return {};
  const std::lock_guard lock(mutex_);
  const bool fits = bytes <= limit_ - shared_;
  if (fits) {
    // In this order: what is not allocated by now cannot be allocated any more.
    shared_ += bytes;
    LimitAllocations();
    if (ProcessMemory::Of(process_).writable <= limit_ - shared_) return {};
    shared_ -= bytes;
    LimitAllocations();
  }
  return Error(StatusCode::kResourceExhausted,
               "{} more bytes of shared memory are beyond its memory_limit of {} bytes, of which {} are shared already",
               bytes, limit_, shared_);
}

void WorkerMemory::Give(uint64_t bytes) {
  if (!is_limited()) return;
  const std::lock_guard lock(mutex_);
  shared_ -= bytes;
  LimitAllocations();
}

std::string WorkerMemory::Look() {
  if (!is_limited()) return "";
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return "";
  next_look_ = now + kBetweenLooks;
  const uint64_t held = ProcessMemory::Of(process_).held + shared_;
  // The limit of allocations does not count what the dynamic linker has written and made read-only.
  constexpr uint64_t kShare = 8, kLeast = 32 * kMegabyte;
  if (held <= limit_ + std::max(limit_ / kShare, kLeast)) return "";
  return fmt::format("held {} MB of memory, more than its memory_limit of {} MB", held / kMegabyte, limit_ / kMegabyte);
}

}  // namespace deputy::host
