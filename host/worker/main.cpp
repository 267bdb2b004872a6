// deputy-worker: the program in which a plugin runs first, or altogether. `deputy-worker probe FILE RIGHTS NONCE
// PARENT` loads one plugin, reads its description, and answers on descriptor 3; `deputy-worker serve FILE RIGHTS MEMORY
// PARENT` loads one and serves it there. RIGHTS are those that the plugin has: of the user, or of the sandbox
// (sandbox.hpp); MEMORY is the most that the process may hold, in bytes, or 0.
// Started by libdeputy, not by users.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/spin.hpp"
#include "base/worker_process.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "worker/probe_mode.hpp"
#include "worker/serve_mode.hpp"

namespace {

// Frames for the host, one for each signal that a fault of the process ends with: where the application takes the
// status of the process before the host can, they are all that tells a fault from an end by another process.
struct FaultNotice {
  int signal = 0;
  std::array<unsigned char, sizeof(deputy::host::FrameHead) + 4 * sizeof(uint64_t)> bytes{};
  size_t size = 0;
};
constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
std::array<FaultNotice, kFatal.size()> notices;

void NoticeFault(int signal) {
  for (const FaultNotice& notice : notices)
    if (notice.signal == signal)
      (void)send(deputy::host::kWorkerReplyFd, notice.bytes.data(), notice.size, MSG_DONTWAIT | MSG_NOSIGNAL);
  raise(signal);  // its default action, at once
}

void NoticeFaults() {
  for (size_t i = 0; i < kFatal.size(); ++i) {
    FaultNotice& notice = notices[i];
    const std::vector<uint64_t> words =
        deputy::host::Encode(deputy::host::TwoNumbers{static_cast<uint64_t>(kFatal[i]), 0});
    deputy::host::FrameHead head;
    head.kind = deputy::host::FrameKind::kNotice;
    head.function = deputy::host::Function::kEnding;
    head.words = words.size();
    notice.size = sizeof head + words.size() * sizeof(uint64_t);
    if (notice.size > notice.bytes.size()) continue;
    std::memcpy(notice.bytes.data(), &head, sizeof head);
    std::memcpy(notice.bytes.data() + sizeof head, words.data(), words.size() * sizeof(uint64_t));
    notice.signal = kFatal[i];
    struct sigaction action {};
    action.sa_handler = NoticeFault;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK | SA_NODEFER;
    sigaction(kFatal[i], &action, nullptr);
  }
}

// The parent may end at any moment, and the plugin may crash: neither may leave a process or a core file behind.
bool PrepareToDie(int parent) {
  for (const int fatal : kFatal) std::signal(fatal, SIG_DFL);  // sanitizers would turn a crash into an exit
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;  // it may have ended before prctl
}

// Allocations beyond it fail; the code of libraries does not count. The host lowers it by what it shares, and looks for
// what it does not count (WorkerMemory).
void LimitMemory(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

template <class T>
bool Parse(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool probes = mode == "probe" && argc == 6, serves = mode == "serve" && argc == 6;
  const std::string_view rights = argc > 3 ? argv[3] : "";
  uint64_t nonce = 0, memory = 0;
  int parent = 0;
  constexpr int kUsageError = 2;
  if ((!probes && !serves) || (rights != "sandbox" && rights != "user") || !Parse(argv[argc - 1], parent, 10) ||
      !(probes ? Parse(argv[4], nonce, 16) : Parse(argv[4], memory, 10))) {
    std::fputs(
        "deputy-worker is started by libdeputy: deputy-worker probe FILE sandbox|user NONCE PARENT | "
        "serve FILE sandbox|user MEMORY PARENT\n",
        stderr);
    return kUsageError;
  }
  if (!PrepareToDie(parent)) return 1;
  if (memory != 0) LimitMemory(memory);
  (void)deputy::host::AvailableCpus();  // while /proc can be read
  const bool sandbox = rights == "sandbox";
  if (serves) NoticeFaults();
  if (serves) deputy::host::RunServe(argv[2], sandbox);
  // Not through exit(), which would run the plugin's destructors and handlers.
  _exit(deputy::host::RunProbe(argv[2], sandbox, nonce) ? 0 : 1);
}
