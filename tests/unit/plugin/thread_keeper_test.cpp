// What a plugin changes of the thread that calls it is restored, and reported once.
#include "plugin/checks/thread_keeper.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cfenv>

#include "base/log.hpp"
#include "base/thread_pool.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/host_services.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::LogKeeper;

void FlushSubnormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | (uint64_t{1} << 24)));
#endif
}

void Block(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool IsBlocked(int signal) {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  return sigismember(&set, signal) == 1;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ThreadKeeper, RoundingModeIsRestoredAndReportedOnce) {
  const LogKeeper log;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Returned(
        {"plugin rounds (a.so)", "execute"}, [] { std::fesetround(FE_UPWARD); }, Watch::kFloat));
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(Count(log.text(), "plugin rounds (a.so): execute changed the rounding mode"), 1u) << log.text();
}

TEST(ThreadKeeper, FlushToZeroIsRestoredAndReportedOnce) {
  const LogKeeper log;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Returned({"plugin flushes (b.so)", "compile"}, FlushSubnormals));
    volatile float small = 1e-38F;
    EXPECT_GT(small / 16, 0);
  }
  EXPECT_EQ(Count(log.text(), "plugin flushes (b.so): compile changed the flushing of subnormal numbers"), 1u)
      << log.text();
}

TEST(ThreadKeeper, SignalMaskIsRestoredAndReportedOnce) {
  const LogKeeper log;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Returned({"plugin blocks (c.so)", "open"}, [] { Block(SIGUSR1); }));
    EXPECT_FALSE(IsBlocked(SIGUSR1));
  }
  EXPECT_EQ(Count(log.text(), "plugin blocks (c.so): open changed the signal mask"), 1u) << log.text();
}

TEST(ThreadKeeper, StateIsRestoredAfterAnException) {
  EXPECT_FALSE(Returned({"plugin throws (d.so)", "execute"}, [] {
    std::fesetround(FE_DOWNWARD);
    Block(SIGUSR2);
    throw 1;
  }));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_FALSE(IsBlocked(SIGUSR2));
}

TEST(ThreadKeeper, TheApplicationsOwnModesStay) {
  const LogKeeper log;
  std::fesetround(FE_TOWARDZERO);
  ASSERT_TRUE(Returned({"plugin e", "execute"}, [] { EXPECT_EQ(std::fegetround(), FE_TOWARDZERO); }));
  EXPECT_EQ(std::fegetround(), FE_TOWARDZERO);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(log.text(), "");
}

TEST(ThreadKeeper, FlagsOfPastExceptionsAreFreeToChange) {
  const LogKeeper log;
  ASSERT_TRUE(Returned({"plugin f", "execute"}, [] { std::feraiseexcept(FE_INEXACT | FE_OVERFLOW); }));
  EXPECT_EQ(log.text(), "");
}

TEST(ThreadKeeper, CallsAreNamedFromTheInside) {
  EXPECT_EQ(ThreadKeeper::Current(), nullptr);
  ASSERT_TRUE(Returned({"plugin g", "execute", "node 'a' (Relu)"}, [] {
    EXPECT_EQ(ThreadKeeper::Current()->place, "node 'a' (Relu)");
    ASSERT_TRUE(Returned({"plugin h", "init"}, [] { EXPECT_EQ(ThreadKeeper::Current()->plugin, "plugin h"); }));
    EXPECT_EQ(ThreadKeeper::Current()->plugin, "plugin g");
  }));
  EXPECT_EQ(ThreadKeeper::Current(), nullptr);
}

TEST(ThreadKeeper, TheLogsSinkIsOutsideOfTheCallAndMayCallPlugins) {
  bool outside = true;
  int lines = 0;
  const auto call = [](const char* plugin) {
    (void)Returned({plugin, "execute"}, [] {
      std::fesetround(FE_UPWARD);
      Block(SIGUSR1);
    });
  };
  SetLogSink([&](LogLevel, std::string_view, std::string_view) {
    outside = outside && ThreadKeeper::Current() == nullptr;
    if (++lines == 1 && outside) call("plugin k (k.so)");
  });
  call("plugin j (j.so)");
  SetLogSink(nullptr);
  EXPECT_TRUE(outside);
  EXPECT_EQ(lines, 4);
}

// The threads of the pool compute for the CPU afterwards.
TEST(ThreadKeeper, ThreadsOfThePoolAreRestoredAndNamed) {
  const LogKeeper log;
  ThreadPool pool(4);
  const HostServices services("npu0", &pool);
  const deputy_host& host = *services.table();
  std::atomic<int> unnamed{0}, changed{0};
  ASSERT_TRUE(Returned({"plugin of ranges (i.so)", "execute"}, [&] {
    host.parallel_for(
        host.self, 1000, 1,
        [](void* job, int64_t, int64_t, uint32_t) {
          const CallSite* call = ThreadKeeper::Current();
          if (call == nullptr || call->plugin != "plugin of ranges (i.so)")
            static_cast<std::atomic<int>*>(job)->fetch_add(1);
          std::fesetround(FE_UPWARD);
        },
        &unnamed);
  }));
  pool.ParallelFor(1000, 1, [&](int64_t, int64_t) {
    if (std::fegetround() != FE_TONEAREST) changed.fetch_add(1);
  });
  EXPECT_EQ(unnamed.load(), 0);
  EXPECT_EQ(changed.load(), 0);
  EXPECT_EQ(Count(log.text(), "plugin of ranges (i.so): execute changed the rounding mode"), 1u) << log.text();
}

}  // namespace
}  // namespace deputy::host
