// A plugin that ends the process is named: by a fatal signal, by exit(), from a call or from a thread of its own.
#include "plugin/checks/process_end.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "plugin/checks/process_end.hpp"
#include "plugin/discovery/table_check.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

const CallSite kSite{"plugin npu (npu.so)", "execute", "node 'conv1' (Conv)"};

// Sanitizers have handlers of their own, which end the process with a status.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
struct Dies {
  explicit Dies(int) {}
  bool operator()(int status) const { return status != 0; }
};
#else
using Dies = KilledBySignal;
#endif

void Crash() {
  static volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void CallThat(void (*function)()) {
  ReportFatalSignals();
  (void)Returned(kSite, function);
}

TEST(FatalSignal, OfEachKindNamesPluginFunctionAndNodeAndKills) {
  EXPECT_EXIT(CallThat(Crash), Dies(SIGSEGV),
              "deputy: error: plugin npu \\(npu.so\\): execute: node 'conv1' \\(Conv\\): received SIGSEGV");
  EXPECT_EXIT(CallThat([] { std::abort(); }), Dies(SIGABRT), "execute: node 'conv1' \\(Conv\\): received SIGABRT");
  EXPECT_EXIT(CallThat([] { raise(SIGFPE); }), Dies(SIGFPE), "execute: node 'conv1' \\(Conv\\): received SIGFPE");
  EXPECT_EXIT(CallThat([] { raise(SIGBUS); }), Dies(SIGBUS), "execute: node 'conv1' \\(Conv\\): received SIGBUS");
  EXPECT_EXIT(CallThat([] { raise(SIGILL); }), Dies(SIGILL), "execute: node 'conv1' \\(Conv\\): received SIGILL");
}

TEST(FatalSignal, OutsideOfPluginsSaysNothing) {
  const auto crash = [] {
    ReportFatalSignals();
    (void)Returned(kSite, [] {});
    raise(SIGABRT);
  };
  EXPECT_EXIT(crash(), Dies(SIGABRT), "^$|Sanitizer");
}

TEST(FatalSignal, ControlCharactersOfNamesDoNotReachTheTerminal) {
  const auto crash = [] {
    ReportFatalSignals();
    (void)Returned({"plugin x", "execute", "node '\x1b[2J\n' (Relu)"}, Crash);
  };
  EXPECT_EXIT(crash(), Dies(SIGSEGV), "node '\\?\\[2J\\?' \\(Relu\\): received SIGSEGV");
}

void OwnHandler(int) { _exit(42); }

TEST(FatalSignal, TheApplicationsHandlerHasTheLastWord) {
  const auto crash = [] {
    signal(SIGILL, OwnHandler);
    CallThat([] { raise(SIGILL); });
  };
  EXPECT_EXIT(crash(), ExitedWithCode(42), "received SIGILL");
}

void Install(int number, int flags, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(number, &action, nullptr);
}

TEST(FatalSignal, AHandlerForOneSignalIsCalledOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process in which no other test has installed a handler
  const auto crash = [] {
    alarm(20);  // or the faulting instruction would run again for ever
    Install(SIGSEGV, static_cast<int>(SA_RESETHAND), [](int) {});
    CallThat(Crash);
  };
  EXPECT_EXIT(crash(), Dies(SIGSEGV), "received SIGSEGV");
}

TEST(FatalSignal, AHandlerHasTheMaskThatItWasInstalledWith) {
  static int number;
  const auto exit_with_mask = [](int) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    _exit(sigismember(&mask, SIGUSR1) * 2 + sigismember(&mask, number));
  };
  for (const auto& [flags, status] : {std::pair{0, 3}, {static_cast<int>(SA_NODEFER), 2}}) {
    const auto crash = [&, flags = flags] {
      number = SIGILL;
      Install(number, flags, exit_with_mask);
      CallThat([] { raise(number); });
    };
    EXPECT_EXIT(crash(), ExitedWithCode(status), "received SIGILL") << flags;
  }
}

TEST(FatalSignal, AnIgnoredSignalStaysIgnored) {
  const auto ignore = [] {
    signal(SIGFPE, SIG_IGN);
    CallThat([] { raise(SIGFPE); });
    _exit(7);
  };
  EXPECT_EXIT(ignore(), ExitedWithCode(7), "received SIGFPE");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
volatile bool deeper = true;

int Deep(const volatile char* outer) {  // NOLINT(misc-no-recursion)
  volatile char frame[4096];
  frame[0] = outer == nullptr ? char{0} : outer[0];
  return (deeper ? Deep(frame) : 0) + frame[0];
}

TEST(FatalSignal, AStackThatOverflowsIsReportedOnAnyThread) {
  const auto overflow = [] {
    ReportFatalSignals();
    std::thread([] { (void)Returned(kSite, [] { (void)Deep(nullptr); }); }).join();
  };
  EXPECT_EXIT(overflow(), Dies(SIGSEGV), "execute: node 'conv1' \\(Conv\\): received SIGSEGV");
}
#endif

TEST(PluginExit, EndsWithTheStatusOfAFailureAndNamesTheCall) {
  const auto leave = [](void (*end)()) {
    RefuseExit(4);
    (void)Returned(kSite, end);
  };
  constexpr const char* kLine =
      "deputy: error: plugin npu \\(npu.so\\): execute: node 'conv1' \\(Conv\\): it ended the process";
  EXPECT_EXIT(leave([] { std::exit(0); }), ExitedWithCode(4), kLine);
  EXPECT_EXIT(leave([] { std::quick_exit(0); }), ExitedWithCode(4), kLine);
}

TEST(PluginExit, FromAnUnknownThreadIsRefusedUntilTheProgramIsDone) {
  const auto early = [] {
    RefuseExit(4);
    std::thread([] { std::exit(0); }).join();
  };
  EXPECT_EXIT(early(), ExitedWithCode(4), "deputy: error: a library of this process: .* it ended the process");
  const auto late = [] {
    RefuseExit(4);
    AcceptExit();
    std::exit(3);
  };
  EXPECT_EXIT(late(), ExitedWithCode(3), "^$");
}

TEST(PluginExit, InsideACallIsRefusedEvenWhenTheProgramIsDone) {
  const auto leave = [] {
    RefuseExit(4);
    AcceptExit();
    (void)Returned({"plugin npu", "close"}, [] { std::exit(0); });
  };
  EXPECT_EXIT(leave(), ExitedWithCode(4), "plugin npu: close: it ended the process");
}

TEST(PluginExit, EveryStatusRefusesAndNoneIsSuccess) {
  for (const auto& [status, seen] : {std::pair{-1, 255}, {0, EXIT_FAILURE}, {256, EXIT_FAILURE}}) {
    const auto leave = [status = status] {
      RefuseExit(status);
      (void)Returned(kSite, [] { std::exit(0); });
    };
    EXPECT_EXIT(leave(), ExitedWithCode(seen), "it ended the process") << status;
  }
}

TEST(PluginExit, IsTheApplicationsAffairUnlessRefused) {
  EXPECT_EXIT((void)Returned(kSite, [] { std::exit(6); }), ExitedWithCode(6), "^$");
}

TEST(PluginExit, AChildThatThePluginForkedEndsAsItLikes) {
  const auto fork_and_leave = [] {
    RefuseExit(4);
    (void)Returned(kSite, [] {
      const pid_t child = fork();
      if (child == 0) std::exit(9);
      int status = 0;
      waitpid(child, &status, 0);
      AcceptExit();
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    });
  };
  EXPECT_EXIT(fork_and_leave(), ExitedWithCode(9), "^$");
}

}  // namespace
}  // namespace deputy::host
