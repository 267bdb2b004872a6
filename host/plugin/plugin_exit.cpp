#include "plugin/plugin_exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "plugin/last_line.hpp"
#include "plugin/plugin_code.hpp"

namespace deputy::host {
namespace {

std::atomic<bool> refused{false}, accepted{false};
std::atomic<int> refused_with{EXIT_FAILURE};
std::atomic<pid_t> process{0};

void AtExit() { CheckExit(nullptr); }

}  // namespace

void RefuseExit(int status) {
  process.store(getpid());
  accepted.store(false);
  // A parent sees the low byte alone: 256 would be success as well.
  refused_with.store((status & 0xff) != 0 ? status : EXIT_FAILURE);
  if (!refused.exchange(true)) RenewExitHook();
}

void AcceptExit() { accepted.store(true); }

void RenewExitHook() {
  if (!refused.load()) return;
  std::atexit(AtExit);
  std::at_quick_exit(AtExit);
}

void CheckExit(const void* caller) noexcept {
  // Children that a plugin forked are not checked.
  if (!refused.load() || process.load() != getpid()) return;
  const bool done = accepted.load();
  LastLine line;
  line.Add("deputy: error: ");
  if (const CallSite* call = ThreadKeeper::Current()) {
    line.Add(call->plugin).Add(": ").Add(call->function);
    if (!call->place.empty()) line.Add(": ").Add(call->place);
  } else {
    // After AcceptExit this can be a plugin's exit handler, destructor or thread.
    std::string_view label = PluginAt(caller);
    if (label.empty()) label = PluginOnStack();
    if (label.empty() && done) return;
    if (label.empty()) label = "a library of this process";
    line.Add(label).Add(": outside of all calls");
  }
  line.Add(done ? ": it ended the process" : ": it ended the process before its work was complete").Write();
  // Not through _exit, which a program may have replaced to get here.
  for (;;) syscall(SYS_exit_group, refused_with.load());
}

}  // namespace deputy::host
