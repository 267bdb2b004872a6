// The memory of a worker process with a limit, of which the host's shared memory is a part.
#include "isolation/worker_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "isolation/shared_memory.hpp"

namespace deputy::host::testing {
namespace {

constexpr uint64_t kMegabyte = 1u << 20;

// A process that holds `bytes` that it has written and waits.
class Holder {
 public:
  explicit Holder(uint64_t bytes) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      void* const memory = mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) _exit(1);
      std::memset(memory, 1, bytes + 1);
      if (write(ends[1], "r", 1) != 1) _exit(1);
      while (true) pause();
    }
    close(ends[1]);  // so that a holder that lacks memory is seen to end
    char ready = 0;
    is_ready_ = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
  }
  ~Holder() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }
  uint64_t limit() const {
    rlimit data{};
    return prlimit(pid_, RLIMIT_DATA, nullptr, &data) == 0 ? data.rlim_cur : 0;
  }

 private:
  pid_t pid_ = -1;
  bool is_ready_ = false;
};

// More than this process, of which a holder is a copy, has mapped by itself: terabytes under AddressSanitizer.
uint64_t MostMemory() {
  std::ifstream file("/proc/self/status");
  std::string key;
  uint64_t kilobytes = 0;
  while (file >> key && key != "VmData:") std::getline(file, key);
  file >> kilobytes;
  return (kilobytes << 10) + 4096 * kMegabyte;
}
const uint64_t kMostMemory = MostMemory();

TEST(WorkerMemory, R168_SharedMemoryIsTakenFromWhatTheProcessMayAllocate) {
  const Holder holder(0);
  ASSERT_TRUE(holder.is_ready());
  WorkerMemory memory(kMostMemory);
  memory.Begin(holder.pid());
  {
    SharedRegion region;
    ASSERT_TRUE(region.Ensure(16 * kMegabyte, &memory).ok());
    EXPECT_EQ(holder.limit(), kMostMemory - region.size());
    ASSERT_TRUE(region.Ensure(64 * kMegabyte, &memory).ok());  // in place of the first
    EXPECT_EQ(holder.limit(), kMostMemory - region.size());
  }
  EXPECT_EQ(holder.limit(), kMostMemory);
}

TEST(WorkerMemory, R168_SharedMemoryBeyondTheLimitIsRefused) {
  const Holder holder(0);
  ASSERT_TRUE(holder.is_ready());
  WorkerMemory memory(kMostMemory);
  memory.Begin(holder.pid());
  SharedRegion region;
  EXPECT_EQ(region.Ensure(kMostMemory + 1, &memory).code(), StatusCode::kResourceExhausted);
  const Status refused = memory.Take(kMostMemory + 1);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.message().find("memory_limit"), std::string::npos) << refused.message();
  EXPECT_EQ(region.size(), 0u);
  EXPECT_TRUE(region.Ensure(kMegabyte, &memory).ok());
}

TEST(WorkerMemory, R168_MemoryThatIsAllocatedIsNotShared) {
  const Holder holder(128 * kMegabyte);
  ASSERT_TRUE(holder.is_ready());
  WorkerMemory memory(kMostMemory);
  memory.Begin(holder.pid());
  EXPECT_FALSE(memory.Take(kMostMemory - 128 * kMegabyte).ok());
  EXPECT_EQ(holder.limit(), kMostMemory);
  EXPECT_TRUE(memory.Take(128 * kMegabyte).ok());
}

TEST(WorkerMemory, R168_WhatAProcessHoldsIsSeenWithoutItsHelp) {
  const Holder holder(128 * kMegabyte);
  ASSERT_TRUE(holder.is_ready());
  WorkerMemory small(64 * kMegabyte), large(kMostMemory), none(0);
  for (WorkerMemory* memory : {&small, &large, &none}) memory->Begin(holder.pid());
  EXPECT_NE(small.Look().find("more than its memory_limit of 67 MB"), std::string::npos);
  EXPECT_EQ(large.Look(), "");
  EXPECT_EQ(none.Look(), "");
  EXPECT_TRUE(none.Take(UINT64_MAX).ok());
}

TEST(WorkerMemory, R198_AProcessThatTheSystemEndedForItsOwnMemoryIsToBlame) {
  EXPECT_EQ(WhyKilled(51 * kMegabyte, 100 * kMegabyte, true),
            "was ended by SIGKILL, for it held 53 MB of memory, and the system lacked some");
  EXPECT_EQ(WhyKilled(50 * kMegabyte, 100 * kMegabyte, true), "");
  EXPECT_EQ(WhyKilled(99 * kMegabyte, 100 * kMegabyte, false), "");  // another process sent the signal
  std::istringstream counters("nr_free_pages 17\noom_kill 3\nnuma_hit 5\n");
  EXPECT_EQ(CountOfEnded(counters), 3u);
  const Holder holder(kMegabyte);
  ASSERT_TRUE(holder.is_ready());
  WorkerMemory memory(0);
  memory.Begin(holder.pid());
  EXPECT_EQ(memory.WhyKilled(kMegabyte), "");
}

}  // namespace
}  // namespace deputy::host::testing
