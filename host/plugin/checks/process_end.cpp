#include "plugin/checks/process_end.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "plugin/checks/plugin_code.hpp"

namespace deputy::host {
namespace {

// A line for stderr that works in a signal handler and while the process is torn down. Async-signal-safe. Longer lines
// are truncated.
class LastLine {
 public:
  LastLine& Add(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ == text_.size() - 1) break;
      text_[size_++] = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return *this;
  }
  // "deputy: error: " with the call that this thread is in, or else the plugin of `code`, of the stack, or `otherwise`.
  // False if there is none of them.
  bool AddPlugin(const void* code, std::string_view otherwise) noexcept {
    Add("deputy: error: ");
    if (const CallSite* call = ThreadKeeper::Current()) {
      Add(call->plugin).Add(": ").Add(call->function);
      if (!call->place.empty()) Add(": ").Add(call->place);
      return true;
    }
    std::string_view label = PluginAt(code);  // of its thread, exit handler or destructor
    if (label.empty()) label = PluginOnStack();
    if (label.empty()) label = otherwise;
    Add(label).Add(": outside of all calls");
    return !label.empty();
  }
  void Write() noexcept {
    text_[size_++] = '\n';
    // One call, so that lines of several threads do not mix. A line that cannot be written has no other way out.
    (void)!write(STDERR_FILENO, text_.data(), size_);
    size_ = 0;
  }

 private:
  std::array<char, 1024> text_;
  size_t size_ = 0;
};

struct AddressRange {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<size_t> size{0};
  std::atomic<const char*> text{nullptr};
};

struct Signal {
  int number;
  const char* name;
  struct sigaction before {};  // complete before the handler can run
  std::atomic<bool> installed{false};
};

// Read by a signal handler, so their size is fixed.
std::array<AddressRange, 4096> regions;
std::array<Signal, 5> fatal = {
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};
std::atomic<bool> any_installed{false};

std::atomic<bool> exit_refused{false}, accepted{false};
std::atomic<int> refused_with{EXIT_FAILURE};
std::atomic<pid_t> process{0};

const void* ProgramCounter(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  (void)machine;
  return nullptr;
#endif
}

void SayRegion(const siginfo_t& info) {
  const auto at = reinterpret_cast<uintptr_t>(info.si_addr);
  for (const AddressRange& region : regions) {
    const uintptr_t begin = region.begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at - begin >= region.size.load(std::memory_order_relaxed)) continue;
    LastLine().Add("deputy: check: ").Add(region.text.load(std::memory_order_relaxed)).Write();
    return;
  }
}

// As the kernel would call it. The previous mask is restored when the signal's own handler returns.
void CallAsInstalled(const Signal& signal, siginfo_t* info, void* context) {
  const struct sigaction& before = signal.before;
  if ((before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) ::signal(signal.number, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &before.sa_mask, nullptr);
  if ((before.sa_flags & SA_NODEFER) != 0 && sigismember(&before.sa_mask, signal.number) == 0) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal.number);
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  }
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(signal.number, info, context);
  else
    before.sa_handler(signal.number);
}

// Calls the previous handler, or takes the system's default action.
void PassOn(const Signal& signal, siginfo_t* info, void* context) {
  const struct sigaction& before = signal.before;
  const bool sent = info->si_code <= 0;  // by raise, abort or kill; otherwise the instruction runs again
  if (before.sa_handler == SIG_IGN && sent) return;
  if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) return CallAsInstalled(signal, info, context);
  ::signal(signal.number, SIG_DFL);
  if (sent) raise(signal.number);
}

void Handle(int number, siginfo_t* info, void* context) {
  const int error = errno;
  for (const Signal& signal : fatal) {
    if (signal.number != number) continue;
    if (number == SIGSEGV || number == SIGBUS) SayRegion(*info);
    LastLine line;
    if (line.AddPlugin(ProgramCounter(context), "")) line.Add(": received ").Add(signal.name).Write();
    errno = error;
    PassOn(signal, info, context);
  }
}

void Install(Signal& signal) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (signal.installed.load()) return;
  struct sigaction action {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal.number, nullptr, &signal.before);
  sigaction(signal.number, &action, nullptr);
  signal.installed.store(true);
  any_installed.store(true);
}

// A thread's own; gone with the thread.
class SignalStack {
 public:
  SignalStack() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    void* mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED) return;
    memory_ = mapped;
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = kSize;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t present{}, none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(nullptr, &present);
    if (present.ss_sp == memory_) sigaltstack(&none, nullptr);
    munmap(memory_, kSize);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr size_t kSize = 128 * 1024;  // the unwinder's frames, and those of vector units
  void* memory_ = nullptr;
};

void AtExit() { CheckExit(nullptr); }

}  // namespace

void ReportFatalSignals() {
  for (Signal& signal : fatal) Install(signal);
  ProvideSignalStack();
}

void ProvideSignalStack() noexcept {
  if (any_installed.load(std::memory_order_relaxed)) static thread_local const SignalStack stack;
}

void WatchRegion(const void* begin, size_t size, const char* text) {
  for (Signal& signal : fatal)
    if (signal.number == SIGSEGV || signal.number == SIGBUS) Install(signal);
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (AddressRange& region : regions) {
    if (region.begin.load(std::memory_order_relaxed) != 0) continue;
    region.size.store(size, std::memory_order_relaxed);
    region.text.store(text, std::memory_order_relaxed);
    region.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
    return;
  }
}

void UnwatchRegion(const void* begin) {
  for (AddressRange& region : regions) {
    uintptr_t wanted = reinterpret_cast<uintptr_t>(begin);
    if (region.begin.compare_exchange_strong(wanted, 0)) return;
  }
}

void RefuseExit(int status) {
  process.store(getpid());
  accepted.store(false);
  // A parent sees the low byte alone: 256 would be success as well.
  refused_with.store((status & 0xff) != 0 ? status : EXIT_FAILURE);
  if (!exit_refused.exchange(true)) RenewExitHook();
}

void AcceptExit() { accepted.store(true); }

void RenewExitHook() {
  if (!exit_refused.load()) return;
  std::atexit(AtExit);
  std::at_quick_exit(AtExit);
}

void CheckExit(const void* caller) noexcept {
  // Children that a plugin forked are not checked.
  if (!exit_refused.load() || process.load() != getpid()) return;
  const bool done = accepted.load();
  LastLine line;
  if (!line.AddPlugin(caller, done ? "" : "a library of this process")) return;
  line.Add(done ? ": it ended the process" : ": it ended the process before its work was complete").Write();
  // Not through _exit, which a program may have replaced to get here.
  for (;;) syscall(SYS_exit_group, refused_with.load());
}

}  // namespace deputy::host
