#include "plugin/checks/thread_keeper.hpp"

#include <cfenv>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "plugin/checks/process_end.hpp"

namespace deputy::host {

void ReportOnce(const CallSite& site, const char* state, const char* remedy) noexcept {
  try {
    static std::mutex mutex;
    static auto* const reported = new std::set<std::pair<std::string, std::string>>;
    {
      const std::lock_guard lock(mutex);
      if (!reported->emplace(site.plugin, state).second) return;
    }
    Log(LogLevel::kWarning, "{}: {} changed {}; {}, and not reported again", site.plugin, site.function, state, remedy);
  } catch (...) {  // no memory for the line
  }
}

namespace {

constexpr const char* kRounding = "the rounding mode of the thread that called it";
constexpr const char* kFlush = "the flushing of subnormal numbers of the thread that called it";
constexpr const char* kTraps = "the floating-point exceptions of the thread that called it";

void ReportFloat(const CallSite& site, const FloatControl& before, const FloatControl& after) noexcept {
#if defined(__x86_64__)
  const uint32_t sse = before.mxcsr ^ after.mxcsr;
  const uint32_t x87 = before.x87 ^ after.x87;
  if ((sse & 0x6000) != 0 || (x87 & 0x0c00) != 0) ReportOnce(site, kRounding);
  if ((sse & 0x8040) != 0) ReportOnce(site, kFlush);
  if ((sse & 0x1f80) != 0 || (x87 & 0x3f) != 0) ReportOnce(site, kTraps);
  if ((x87 & 0x0300) != 0) ReportOnce(site, "the precision of the x87 unit of the thread that called it");
#elif defined(__aarch64__)
  const uint64_t changed = before.fpcr ^ after.fpcr;
  if ((changed & 0x00c00000) != 0) ReportOnce(site, kRounding);
  if ((changed & 0x01080000) != 0) ReportOnce(site, kFlush);
  if ((changed & 0x00009f00) != 0) ReportOnce(site, kTraps);
  if ((changed & 0x02000000) != 0) ReportOnce(site, "the default NaN mode of the thread that called it");
#else
  if (before != after) ReportOnce(site, kRounding);
#endif
}

}  // namespace

constinit thread_local const ThreadKeeper* ThreadKeeper::current_ = nullptr;

#if defined(__x86_64__)
void FloatControl::Restore() const {
  __builtin_ia32_ldmxcsr(mxcsr | (__builtin_ia32_stmxcsr() & 0x3f));
  __asm__ volatile("fldcw %0" : : "m"(x87));
}
#elif defined(__aarch64__)
void FloatControl::Restore() const { __asm__ volatile("msr fpcr, %0" : : "r"(fpcr)); }
#else
FloatControl FloatControl::Read() {
  FloatControl now;
  now.rounding = std::fegetround();
  return now;
}
void FloatControl::Restore() const { std::fesetround(rounding); }
#endif

void ThreadKeeper::KeepSignals() noexcept {
  std::memset(&signals_, 0, sizeof signals_);  // the kernel fills a part of it
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
  ProvideSignalStack();
}

bool ThreadKeeper::RestoreSignals() const noexcept {
  sigset_t now;
  std::memset(&now, 0, sizeof now);
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  if (std::memcmp(&now, &signals_, sizeof now) == 0) return false;
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  return true;
}

void ThreadKeeper::Report(const FloatControl& left, bool signals_changed) const noexcept {
  if (left != control_) ReportFloat(site_, control_, left);
  if (signals_changed) ReportOnce(site_, "the signal mask of the thread that called it");
}

}  // namespace deputy::host
