#include "isolation/call.hpp"

#include <fmt/format.h>

#include <algorithm>

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

CallResult RemoteCall::ResultOf(const Outcome& outcome) {
  if (!outcome.failed) return {};
  const deputy_str& text = outcome.message;
  return {true, outcome.code, outcome.node, text.data == nullptr ? std::string() : std::string(text.data, text.size)};
}

CallResult RemoteCall::Invalid(std::string_view what) {
  sound_ = false;
  return CallResult::Failure(DEPUTY_INTERNAL, link_.Condemn(what));
}

CallResult RemoteCall::Transact(const std::vector<uint64_t>& words, WireFrame& frame) {
  if (channel_ == nullptr && link_.has_ended()) return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost());
  if (channel_ == nullptr)
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "there is no descriptor or memory for a call to a worker process");
  auto& cancelled = reinterpret_cast<ChannelPage*>(channel_->page->data())->cancelled;
  cancelled.store(0, std::memory_order_relaxed);
  const int socket = channel_->socket.get();
  const Transfer sent = SendFrame(socket, FrameKind::kCall, function_, words, descriptors_);
  sound_ = sent == Transfer::kDone;
  if (sent == Transfer::kTooLarge)
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, "the arguments are too large for a worker process");
  if (!sound_) return CallResult::Failure(DEPUTY_DEVICE_LOST, link_.HowLost());
  const auto look = [&] {
    if (scope_.control->cancelled(scope_.control->self) != 0) cancelled.store(1, std::memory_order_relaxed);
  };
  const FunctionRef<void()> waiting(look);
  const bool looks = scope_.control != nullptr && DEPUTY_HAS_FN(scope_.control, deputy_control, cancelled);
  while (true) {
    const Transfer got = ReceiveFrame(socket, frame, looks ? &waiting : nullptr);
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
