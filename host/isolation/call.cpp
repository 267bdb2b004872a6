#include "isolation/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace deputy::host {
namespace {

// A run that is late may still end by itself, because its delegate sees the deadline too.
constexpr std::chrono::milliseconds kAfterDeadline{1000};
// Between two questions whether a run was cancelled.
constexpr std::chrono::milliseconds kBetweenLooks{5};

// How long a worker may take for a call: a run as a whole, any other call from one message to the next.
class TimeLimit {
 public:
  TimeLimit(const RemotePluginOptions& options, Function function, const CallScope& scope)
      : is_run_(IsRun(function)), timeout_(is_run_ ? options.run_timeout : options.call_timeout) {
    Set();
    if (scope.run == nullptr || scope.run->deadline_ns == 0) return;
    const Clock::time_point deadline{std::chrono::nanoseconds(scope.run->deadline_ns) + kAfterDeadline};
    by_deadline_ = !exists() || deadline < end_;
    if (by_deadline_) end_ = deadline;
  }

  bool exists() const { return end_ != Clock::time_point::max(); }
  bool is_over() const { return exists() && Clock::now() >= end_; }
  std::chrono::nanoseconds left() const {
    if (!exists()) return std::chrono::nanoseconds::max();
    return std::max<std::chrono::nanoseconds>(end_ - Clock::now(), std::chrono::nanoseconds(0));
  }
  void Renew() {
    if (!is_run_) Set();
  }
  std::string Fault() const {
    if (by_deadline_) return fmt::format("did not end a run {} ms after its deadline", kAfterDeadline.count());
    return fmt::format("did not {} within {} ms", is_run_ ? "end a run" : "answer a call", timeout_.count());
  }

 private:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  void Set() { end_ = timeout_.count() == 0 ? Clock::time_point::max() : Clock::now() + timeout_; }

  const bool is_run_;
  const std::chrono::milliseconds timeout_;
  Clock::time_point end_;
  bool by_deadline_ = false;
};

}  // namespace

deputy_status* CallResult::ToStatus(const deputy_host* host) const {
  if (!failed || host == nullptr) return nullptr;
  return host->status_new(host->self, code, node, message.data(), message.size());
}

HostForm FormOf(const deputy_host* host) {
  if (host == nullptr) return {};
  HostForm form;
  form.key = reinterpret_cast<uintptr_t>(host);
  form.thread_count = std::clamp(host->thread_count(host->self), 1u, 4096u);
  form.has_helpers = host->get_extension(host->self, DEPUTY_EXT_PARTITION_HELPERS) != nullptr;
  return form;
}

CallResult RemoteCall::ResultOf(const Outcome& outcome) {
  if (!outcome.failed) return {};
  const deputy_str& text = outcome.message;
  return {true, outcome.code, outcome.node, text.data == nullptr ? std::string() : std::string(text.data, text.size)};
}

CallResult RemoteCall::Invalid(std::string_view what) {
  sound_ = false;
  return CallResult::Failure(DEPUTY_INTERNAL, link_.Condemn(fmt::format("sent {}", what)));
}

CallResult RemoteCall::Transact(const std::vector<uint64_t>& words, WireFrame& frame) {
  if (channel_ == nullptr && link_.has_ended()) return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost());
  if (channel_ == nullptr)
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "there is no descriptor or memory for a call to a worker process");
  const Transfer sent = channel_->Call(function_, words, descriptors_);
  sound_ = sent == Transfer::kDone;
  if (sent == Transfer::kTooLarge)
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "the arguments are too large for a worker process");
  if (!sound_) return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost());
  const bool looks = scope_.control != nullptr && DEPUTY_HAS_FN(scope_.control, deputy_control, cancelled);
  TimeLimit limit(link_.options(), function_, scope_);
  const auto look = [&] {
    if (looks && scope_.control->cancelled(scope_.control->self) != 0)
      channel_->cancelled().store(1, std::memory_order_relaxed);
    return !limit.is_over();
  };
  const FunctionRef<bool()> waiting(look);
  const auto most = [&] {
    return looks ? std::min<std::chrono::nanoseconds>(limit.left(), kBetweenLooks) : limit.left();
  };
  while (true) {
    const Transfer got = channel_->Receive(frame, looks || limit.exists() ? &waiting : nullptr, most);
    if (got == Transfer::kGivenUp) {
      sound_ = false;
      return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.Condemn(limit.Fault()));
    }
    limit.Renew();
    if (got == Transfer::kClosed) {
      sound_ = false;
      return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost());
    }
    if (got != Transfer::kDone) return Invalid("an invalid frame");
    if (frame.kind == FrameKind::kReturn && frame.function == function_) return {};
    const bool known = frame.kind == FrameKind::kNotice     ? TakeNotice(std::move(frame))
                       : frame.kind == FrameKind::kCallback ? AnswerCallback(std::move(frame))
                                                            : false;
    if (!known) return Invalid("a message that does not belong to the call");
  }
}

}  // namespace deputy::host
