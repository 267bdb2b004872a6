// What a call into a plugin must leave as it was besides the floating-point unit and the signals: the processors, the
// priority and the scheduling of its thread; and calls that load, initialize or open: limits, flags and properties of
// the process.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>

#include "plugin/checks/thread_keeper.hpp"

namespace deputy::host {

// Lives around a call that loads, and around the first run of a session: it costs some system calls. Afterwards it
// compares, undoes what it may, and logs the plugin's changes, once per plugin and kind. [any-thread]
class ProcessKeeper {
 public:
  explicit ProcessKeeper(const CallSite& site) noexcept;
  ~ProcessKeeper();
  ProcessKeeper(const ProcessKeeper&) = delete;
  ProcessKeeper& operator=(const ProcessKeeper&) = delete;

 private:
  static constexpr std::array kLimits = {RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_DATA, RLIMIT_AS,     RLIMIT_CORE,
                                         RLIMIT_FSIZE,  RLIMIT_NPROC, RLIMIT_CPU,  RLIMIT_MEMLOCK};
  // Zeros where a part cannot be read: then it is not compared.
  struct State {
    cpu_set_t processors;
    int nice, policy, dumpable;
    std::array<rlimit, kLimits.size()> limits;
    std::array<int, 3> flags;  // of the standard streams
    mode_t mask;               // of new files
  };
  State Read() const noexcept;

  const CallSite site_;
  const State before_;
};

}  // namespace deputy::host
