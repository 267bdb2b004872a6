#include "isolation/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace deputy::host {
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

RemoteCall::~RemoteCall() {
  if (channel_ == nullptr) return;
  if (in_progress_) link_.Abandon();
  link_.Release(std::move(channel_), sound_ && !in_progress_);
}

CallResult RemoteCall::ResultOf(const Outcome& outcome) {
  if (!outcome.failed) return {};
  const deputy_str& text = outcome.message;
  return {true, outcome.code, outcome.node, text.data == nullptr ? std::string() : std::string(text.data, text.size)};
}

CallResult RemoteCall::Invalid(std::string_view what) {
  sound_ = in_progress_ = false;
  return CallResult::Failure(DEPUTY_INTERNAL, link_.Condemn(fmt::format("sent {}", what)));
}

CallResult RemoteCall::Lost(Transfer transfer) {
  sound_ = in_progress_ = false;
  switch (transfer) {
    case Transfer::kOverdue:
      return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.Condemn(limit_.Fault(), limit_.name()));
    case Transfer::kStalled:
      return CallResult::Failure(DEPUTY_DEVICE_LOST,
                                 link_.Condemn(fmt::format("neither read nor ended a message within {} s",
                                                           std::chrono::seconds(kMostFrameTime).count())));
    case Transfer::kClosed: return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost(limit_));
    default: return Invalid("an invalid frame");
  }
}

CallResult RemoteCall::SendWords(const std::vector<uint64_t>& words) {
  if (channel_ == nullptr && link_.has_ended()) return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost(limit_));
  if (channel_ == nullptr && limit_.is_over()) return Lost(Transfer::kOverdue);
  if (channel_ == nullptr)
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "there is no descriptor or memory for a call to a worker process");
  const Transfer sent = channel_->Call(function_, words, descriptors_, limit_);
  if (sent == Transfer::kTooLarge) {
    sound_ = false;
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "the arguments are too large for a worker process");
  }
  if (sent == Transfer::kInvalid) return Invalid("a message outside of a call");
  if (sent != Transfer::kDone) return Lost(sent);
  in_progress_ = true;
  return {};
}

CallResult RemoteCall::Transact(const std::vector<uint64_t>& words, WireFrame& frame) {
  const auto look = [this] {
    if (scope_.control->cancelled(scope_.control->self) != 0) channel_->cancelled().store(1, std::memory_order_relaxed);
  };
  const FunctionRef<void()> looking(look);
  if (scope_.control != nullptr && DEPUTY_HAS_FN(scope_.control, deputy_control, cancelled)) limit_.LookWith(looking);
  if (CallResult failure = SendWords(words); failure.failed) return failure;
  bool returned = false;
  return Serve(frame, {}, returned);
}

CallResult RemoteCall::Serve(WireFrame& frame, const CallPause& pause, bool& returned) {
  while (true) {
    limit_.Look();  // also where there is always another message
    const Transfer got = channel_->Receive(frame, limit_, pause);
    returned = got != Transfer::kPending;
    if (!returned) return {};
    if (got != Transfer::kDone) return Lost(got);
    if (frame.kind == FrameKind::kReturn && frame.function == function_) {
      in_progress_ = false;
      return {};
    }
    const bool known = frame.kind == FrameKind::kNotice     ? TakeNotice(std::move(frame))
                       : frame.kind == FrameKind::kCallback ? AnswerCallback(std::move(frame))
                                                            : false;
    if (!known) return Invalid("a message that does not belong to the call");
    if (answered_ != Transfer::kDone) return Lost(answered_);
  }
}

}  // namespace deputy::host
