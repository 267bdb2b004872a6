#include "worker/host_channel.hpp"

#include <unistd.h>

#include <string_view>

namespace deputy::host {
namespace {

thread_local HostChannel* current_channel = nullptr;

}  // namespace

// Not through exit(), which would run the plugin's destructors and handlers.
void EndWorker() { _exit(0); }

deputy_status* StatusOf(const Outcome& outcome) {
  if (!outcome.failed) return nullptr;
  const deputy_str& text = outcome.message;
  return NewStatus(outcome.code, outcome.node,
                   text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size));
}

HostChannel* HostChannel::Current() { return current_channel; }

bool HostChannel::TakeCall(WireFrame& frame) {
  current_channel = this;
  return ReceiveFrame(socket_->get(), frame) == Transfer::kDone && frame.kind == FrameKind::kCall;
}

void HostChannel::Return(Function function, const std::vector<uint64_t>& words) {
  Send(FrameKind::kReturn, function, words);
}

WireFrame HostChannel::Exchange(Function function, const std::vector<uint64_t>& words) {
  const std::lock_guard lock(mutex_);
  WireFrame frame;
  const Transfer sent = SendFrame(socket_->get(), FrameKind::kCallback, function, words);
  if (sent != Transfer::kDone || ReceiveFrame(socket_->get(), frame) != Transfer::kDone ||
      frame.kind != FrameKind::kCallbackReturn || frame.function != function)
    EndWorker();
  return frame;
}

void HostChannel::Send(FrameKind kind, Function function, const std::vector<uint64_t>& words) {
  const std::lock_guard lock(mutex_);
  // The host has closed the channel: the result is of no use any more.
  if (SendFrame(socket_->get(), kind, function, words) == Transfer::kTooLarge) EndWorker();
}

}  // namespace deputy::host
