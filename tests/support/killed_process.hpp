// A process that is killed at one of its system calls.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>

namespace deputy::host {

// Runs `work` in a process of its own that is killed at its `stop`th stop, from 1. Each system call has two, before it
// and after it; the odd ones are before. False when the process ended earlier, with success.
inline bool KillAtStop(size_t stop, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSTOPPED(status)) << "processes cannot be traced here";
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool killed = false;
  for (size_t stops = 0; WIFSTOPPED(status);) {
    if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == stop) {
      killed = true;
      kill(child, SIGKILL);
    } else {
      ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    }
    if (waitpid(child, &status, 0) != child) break;
  }
  EXPECT_TRUE(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return killed;
}

}  // namespace deputy::host
