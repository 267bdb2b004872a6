// A thread inside a call into a plugin: the name of the call, for reports when the process ends in it, and the state of
// the thread, which is restored when the call returns.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace deputy::host {

// The call. Texts outlive it: they are read by signal handlers.
struct CallSite {
  std::string_view plugin;         // "plugin com.example.npu (npu.so)"
  const char* function = nullptr;  // "execute"
  std::string_view place = {};     // "node 'conv1' (Conv)"; empty where the call is about no node
};

// A warning that the call changed `state`; once per plugin and kind: a plugin that does it does it in every call.
void ReportOnce(const CallSite& site, const char* state, const char* remedy = "restored") noexcept;

// The state that is compared and restored. The signal mask costs a system call.
enum class Watch { kFloat, kFloatAndSignals };

// The control part of the floating-point unit: rounding, flushing of subnormal numbers, traps. Flags of past exceptions
// are no part of it.
struct FloatControl {
#if defined(__x86_64__)
  uint32_t mxcsr = 0;
  uint16_t x87 = 0;
  static FloatControl Read() {
    constexpr uint32_t kFlags = 0x3f;
    FloatControl now;
    now.mxcsr = __builtin_ia32_stmxcsr() & ~kFlags;
    __asm__ volatile("fnstcw %0" : "=m"(now.x87));
    return now;
  }
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  static FloatControl Read() {
    FloatControl now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now.fpcr));
    return now;
  }
#else
  int rounding = 0;
  static FloatControl Read();
#endif
  void Restore() const;
  bool operator==(const FloatControl&) const = default;
};

// Lives around one call into a plugin. Names the call, then compares the thread's state with the one before, restores
// it, and logs the plugin's changes, once per plugin and kind. [any-thread]
class ThreadKeeper {
 public:
  ThreadKeeper(const CallSite& site, Watch watch) noexcept
      : site_(site), outer_(current_), control_(FloatControl::Read()), watch_(watch) {
    current_ = this;
    if (watch_ == Watch::kFloatAndSignals) KeepSignals();
  }
  ~ThreadKeeper() {
    const FloatControl left = FloatControl::Read();
    if (left != control_) control_.Restore();
    const bool signals_changed = watch_ == Watch::kFloatAndSignals && RestoreSignals();
    current_ = outer_;  // the receiver of log lines is not the plugin's code
    if (left != control_ || signals_changed) Report(left, signals_changed);
  }
  ThreadKeeper(const ThreadKeeper&) = delete;
  ThreadKeeper& operator=(const ThreadKeeper&) = delete;

  // The innermost call that this thread is in, or null. Safe in signal handlers.
  static const CallSite* Current() noexcept { return current_ == nullptr ? nullptr : &current_->site_; }

 private:
  void KeepSignals() noexcept;
  bool RestoreSignals() const noexcept;  // false: the mask is as it was
  void Report(const FloatControl& left, bool signals_changed) const noexcept;

  // In static thread storage: the general way may allocate at the first access, which a signal handler must not.
  static constinit thread_local const ThreadKeeper* current_ __attribute__((tls_model("initial-exec")));

  const CallSite site_;
  const ThreadKeeper* const outer_;
  const FloatControl control_;
  const Watch watch_;
  sigset_t signals_;  // set with kFloatAndSignals alone
};

// Runs `call`, a call of `site`, and tells whether it returned: exceptions of the plugin end here. Its changes to the
// thread's state are restored.
template <class Call>
bool Returned(const CallSite& site, Call&& call, Watch watch = Watch::kFloatAndSignals) {
  const ThreadKeeper keeper(site, watch);
  try {
    std::forward<Call>(call)();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace deputy::host
