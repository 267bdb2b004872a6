// What is measured of a helper process.
#include "base/worker_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace deputy::host {
namespace {

// A probe that is late is excused where it had no processor. One whose first thread waits for its others has no excuse.
TEST(WorkerProcessTest, R198_ProcessorTimeIsThatOfAllThreads) {
  static constexpr std::chrono::milliseconds kUsed{50};
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread([] {
      timespec used{};
      while (used.tv_sec == 0 && used.tv_nsec < std::chrono::nanoseconds(kUsed).count())
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }).join();
    if (write(ends[1], "r", 1) != 1) _exit(1);
    while (true) pause();
  }
  char ready = 0;
  EXPECT_EQ(read(ends[0], &ready, 1), 1);
  EXPECT_GE(ProcessorTimeOf(child), kUsed);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(ProcessorTimeOf(child).count(), 0);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace deputy::host
