// deputy-worker: the program in which a plugin runs first, or altogether. `deputy-worker probe FILE NONCE PARENT` loads
// one plugin, reads its description, and answers on descriptor 3; `deputy-worker serve FILE PARENT` loads one and
// serves it there. Started by libdeputy, not by users.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "worker/probe_mode.hpp"
#include "worker/serve_mode.hpp"

namespace {

// The parent may end at any moment, and the plugin may crash: neither may leave a process or a core file behind.
bool PrepareToDie(int parent) {
  constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (const int fatal : kFatal) std::signal(fatal, SIG_DFL);  // sanitizers would turn a crash into an exit
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;  // it may have ended before prctl
}

template <class T>
bool Parse(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool probes = mode == "probe" && argc == 5, serves = mode == "serve" && argc == 4;
  uint64_t nonce = 0;
  int parent = 0;
  constexpr int kUsageError = 2;
  if ((!probes && !serves) || !Parse(argv[argc - 1], parent, 10) || (probes && !Parse(argv[3], nonce, 16))) {
    std::fputs("deputy-worker is started by libdeputy: deputy-worker probe FILE NONCE PARENT | serve FILE PARENT\n",
               stderr);
    return kUsageError;
  }
  if (!PrepareToDie(parent)) return 1;
  if (serves) deputy::host::RunServe(argv[2]);
  // Not through exit(), which would run the plugin's destructors and handlers.
  _exit(deputy::host::RunProbe(argv[2], nonce) ? 0 : 1);
}
