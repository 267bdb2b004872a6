#include "base/cancellation.hpp"

#include <ctime>

namespace deputy::host {
namespace {

// A delegate that returns this soon after the deadline is not reported as late.
constexpr uint64_t kMomentNs = 10'000'000;

thread_local CancellationScope* current_scope = nullptr;

thread_local const CancellationToken* current_compilation = nullptr;

std::string Seconds(uint64_t ns) {
  return ns < 1'000'000'000 ? fmt::format("{} ms", ns / 1'000'000)
                            : fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

}  // namespace

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

Status CancellationToken::Reason() const {
  if (cancelled_ns != nullptr && *cancelled_ns != 0) return Error(StatusCode::kCancelled, "the run was cancelled");
  return Error(StatusCode::kDeadlineExceeded, "the run did not end in time");
}

Status CancellationToken::ReasonAfter(const std::string& delegate) const {
  const uint64_t cancelled = cancelled_ns == nullptr ? 0 : cancelled_ns->load();
  const uint64_t since = cancelled != 0 ? cancelled : deadline_ns, now = NowNs();
  const Status reason = Reason();
  if (now < since + kMomentNs) return reason;
  return Error(reason.code(), "{}; delegate '{}' did not stop: {} {}", reason.message(), delegate,
               cancelled != 0 ? "it ended after another" : "deadline exceeded by", Seconds(now - since));
}

CompilationScope::CompilationScope(const CancellationToken& token) : before_(current_compilation) {
  current_compilation = &token;
}

CompilationScope::~CompilationScope() { current_compilation = before_; }

const CancellationToken* CompilationScope::Current() { return current_compilation; }

CancellationScope::CancellationScope(const CancellationToken* stop) : stop_(stop), before_(current_scope) {
  if (stop != nullptr) current_scope = this;
}

CancellationScope::~CancellationScope() { current_scope = before_; }

CancellationScope* CancellationScope::Current() { return current_scope; }

CancellationScope::Share::Share(CancellationScope* scope) : before_(current_scope) { current_scope = scope; }

CancellationScope::Share::~Share() { current_scope = before_; }

}  // namespace deputy::host
