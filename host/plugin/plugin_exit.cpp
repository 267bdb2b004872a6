#include "plugin/plugin_exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "plugin/last_line.hpp"
#include "plugin/plugin_code.hpp"

namespace deputy::host {
namespace {

constexpr int kNotRefused = -1;
std::atomic<int> refused_with{kNotRefused};
std::atomic<bool> accepted{false};
std::atomic<pid_t> process{0};

void AtExit() { CheckExit(nullptr); }

}  // namespace

void RefuseExit(int status) {
  process.store(getpid());
  accepted.store(false);
  if (refused_with.exchange(status) == kNotRefused) RenewExitHook();
}

void AcceptExit() { accepted.store(true); }

void RenewExitHook() {
  if (refused_with.load() == kNotRefused) return;
  std::atexit(AtExit);
  std::at_quick_exit(AtExit);
}

void CheckExit(const void* caller) noexcept {
  const int status = refused_with.load();
  // A child that a plugin forked ends as it likes.
  if (status == kNotRefused || process.load() != getpid()) return;
  LastLine line;
  line.Add("deputy: error: ");
  if (const CallSite* call = ThreadKeeper::Current()) {
    line.Add(call->plugin).Add(": ").Add(call->function);
    if (!call->place.empty()) line.Add(": ").Add(call->place);
  } else if (accepted.load()) {
    return;
  } else {
    std::string_view label = PluginAt(caller);
    if (label.empty()) label = PluginOnStack();
    if (label.empty()) label = "a library of this process";
    line.Add(label).Add(": outside of all calls");
  }
  line.Add(": it ended the process, which was not done").Write();
  // Not through _exit, which a program may have replaced to get here.
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace deputy::host
