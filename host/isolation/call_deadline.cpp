#include "isolation/call_deadline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/fault_limits.hpp"

namespace deputy::host {
namespace {

// A run that is late may still end by itself, because its delegate sees the deadline too.
constexpr std::chrono::milliseconds kAfterDeadline{1000};
constexpr uint32_t kWhole = 1000;  // of progress

}  // namespace

CallDeadline::CallDeadline(const RemotePluginOptions& options, const CallDeadline* outer)
    : kind_(Kind::kCall), timeout_(options.call_timeout), total_(std::max(options.call_timeout_total, timeout_)) {
  const Clock::time_point begin = Clock::now();
  end_ = begin + timeout_;
  last_end_ = begin + total_;
  if (outer != nullptr && outer->end_ < end_) *this = *outer;
}

CallDeadline::CallDeadline(const RemotePluginOptions& options, std::chrono::milliseconds most)
    : kind_(Kind::kCall), timeout_(std::min(options.call_timeout, most)), total_(timeout_) {
  last_end_ = end_ = Clock::now() + timeout_;
}

CallDeadline::CallDeadline(std::chrono::milliseconds timeout, const deputy_run_args& run)
    : kind_(Kind::kRun), timeout_(timeout), run_deadline_ns_(run.deadline_ns) {
  if (timeout_.count() != 0) begin_ = Clock::now();
  AllowFor(1);
}

void CallDeadline::AllowFor(uint32_t runs) {
  kind_ = Kind::kRun;
  if (timeout_.count() != 0) end_ = begin_ + runs * timeout_;
  if (run_deadline_ns_ == 0) return;
  const Clock::time_point deadline{std::chrono::nanoseconds(run_deadline_ns_) + kAfterDeadline};
  if (deadline >= end_) return;
  end_ = deadline;
  kind_ = Kind::kDeadline;
}

void CallDeadline::Advance(uint32_t permille) {
  const uint32_t reached = std::min(permille, kWhole);
  if (kind_ != Kind::kCall || reached <= furthest_) return;
  furthest_ = reached;
  end_ = std::min(Clock::now() + timeout_, last_end_);
}

std::string_view CallDeadline::name() const {
  if (kind_ == Kind::kDeadline) return FaultLimits::kDeadline;
  if (kind_ == Kind::kRun) return FaultLimits::kTimeout;
  return end_ == last_end_ && total_ != timeout_ ? FaultLimits::kCallTimeoutTotal : FaultLimits::kCallTimeout;
}

std::string CallDeadline::Fault() const {
  if (kind_ == Kind::kDeadline)
    return fmt::format("did not end a run {} ms after its deadline", kAfterDeadline.count());
  if (kind_ == Kind::kRun) return fmt::format("did not end a run within {} ms", timeout_.count());
  if (end_ == last_end_ && total_ != timeout_)
    return fmt::format("did not answer a call within {} ms, with all of its progress", total_.count());
  return fmt::format("did not answer a call within {} ms", timeout_.count());
}

}  // namespace deputy::host
