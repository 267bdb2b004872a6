// deputy-worker: the program in which a plugin runs first. `deputy-worker probe FILE NONCE PARENT` loads one plugin,
// reads its description, and answers on descriptor 3. Started by libdeputy, not by users.
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
  uint64_t nonce = 0;
  int parent = 0;
  constexpr int kUsageError = 2;
  if (argc != 5 || std::string_view(argv[1]) != "probe" || !Parse(argv[3], nonce, 16) || !Parse(argv[4], parent, 10)) {
    std::fputs("deputy-worker is started by libdeputy: deputy-worker probe FILE NONCE PARENT\n", stderr);
    return kUsageError;
  }
  if (!PrepareToDie(parent)) return 1;
  // Not through exit(), which would run the plugin's destructors and handlers.
  _exit(deputy::host::RunProbe(argv[2], nonce) ? 0 : 1);
}
