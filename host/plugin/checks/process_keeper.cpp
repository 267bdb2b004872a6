#include "plugin/checks/process_keeper.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace deputy::host {
namespace {

// Of /proc, without a change of the mask, which another thread could see. -1 where it is not there.
int FileMask() noexcept {
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 512> text;
  const ssize_t got = read(file, text.data(), text.size() - 1);
  close(file);
  if (got <= 0) return -1;
  text[static_cast<size_t>(got)] = '\0';
  const char* line = std::strstr(text.data(), "Umask:");
  return line == nullptr ? -1 : static_cast<int>(std::strtol(line + 6, nullptr, 8));
}

}  // namespace

ProcessKeeper::State ProcessKeeper::Read() const noexcept {
  State state;
  std::memset(&state, 0, sizeof state);
  (void)sched_getaffinity(0, sizeof state.processors, &state.processors);
  errno = 0;
  state.nice = getpriority(PRIO_PROCESS, 0);
  state.policy = sched_getscheduler(0);
  const std::string_view function = site_.function == nullptr ? "" : site_.function;
  if (function != "load" && function != "init" && function != "open") return state;
  // Of the whole process, which other threads of the application change as well: compared only where plugins set
  // themselves up, which takes a moment, and not over the minutes of a compilation.
  state.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  for (size_t i = 0; i < kLimits.size(); ++i) (void)getrlimit(kLimits[i], &state.limits[i]);
  for (int stream = 0; stream < 3; ++stream) state.flags[static_cast<size_t>(stream)] = fcntl(stream, F_GETFL);
  state.mask = static_cast<mode_t>(FileMask());
  return state;
}

ProcessKeeper::ProcessKeeper(const CallSite& site) noexcept : site_(site), before_(Read()) {}

ProcessKeeper::~ProcessKeeper() {
  const State now = Read();
  if (std::memcmp(&now, &before_, sizeof now) == 0) return;
  const auto report = [&](const char* state, bool undone) {
    ReportOnce(site_, state, undone ? "restored" : "which cannot be undone");
  };
  if (!CPU_EQUAL(&now.processors, &before_.processors))
    report("the processors on which its thread may run",
           sched_setaffinity(0, sizeof before_.processors, &before_.processors) == 0);
  if (now.nice != before_.nice) report("the priority (nice)", setpriority(PRIO_PROCESS, 0, before_.nice) == 0);
  if (now.policy != before_.policy && before_.policy >= 0) {
    const sched_param parameters{};
    const bool is_plain = before_.policy == SCHED_OTHER || before_.policy == SCHED_BATCH;
    report("the scheduling policy", is_plain && sched_setscheduler(0, before_.policy, &parameters) == 0);
  }
  if (now.dumpable != before_.dumpable && before_.dumpable >= 0)
    report("whether the process can be traced and dumped (PR_SET_DUMPABLE)",
           before_.dumpable < 2 && prctl(PR_SET_DUMPABLE, before_.dumpable, 0, 0, 0) == 0);
  bool limits_changed = false, limits_restored = true;
  for (size_t i = 0; i < kLimits.size(); ++i) {
    if (std::memcmp(&now.limits[i], &before_.limits[i], sizeof(rlimit)) == 0) continue;
    limits_changed = true;
    limits_restored = setrlimit(kLimits[i], &before_.limits[i]) == 0 && limits_restored;
  }
  if (limits_changed) report("limits of the process (setrlimit)", limits_restored);
  bool flags_changed = false, flags_restored = true;
  for (int stream = 0; stream < 3; ++stream) {
    const auto i = static_cast<size_t>(stream);
    if (now.flags[i] == before_.flags[i] || before_.flags[i] < 0 || now.flags[i] < 0) continue;
    flags_changed = true;
    flags_restored = fcntl(stream, F_SETFL, before_.flags[i]) == 0 && flags_restored;
  }
  if (flags_changed) report("flags of a standard stream (O_NONBLOCK)", flags_restored);
  if (now.mask != before_.mask && before_.mask != static_cast<mode_t>(-1)) {
    umask(before_.mask);
    report("the mask of new files (umask)", true);
  }
}

}  // namespace deputy::host
