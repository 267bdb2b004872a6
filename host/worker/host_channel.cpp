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

// The end of the host is seen on the control socket.
bool HostChannel::TakeCall(WireFrame& frame) {
  current_channel = this;
  Bell& bell = page().calls;
  while (bell.count() == seen_)
    if (!spin_.Poll([&] { return bell.count() != seen_; })) bell.Sleep(seen_, std::chrono::nanoseconds(-1));
  seen_ = bell.count();
  has_sent_ = false;
  const CallPlace place = page().place.load(std::memory_order_relaxed);
  if (place == CallPlace::kNowhere) return false;
  if (place == CallPlace::kSlot) return TakeFromSlot(frame);
  if (ReceiveFrame(socket_.get(), frame) != Transfer::kDone || frame.kind != FrameKind::kCall) return false;
  call_.store(frame.call, std::memory_order_relaxed);
  return true;
}

bool HostChannel::TakeFromSlot(WireFrame& frame) {
  frame.kind = FrameKind::kCall;
  frame.function = page().function.load(std::memory_order_relaxed);
  frame.descriptors.clear();
  call_.store(CallNumber(page().channel.load(std::memory_order_relaxed), page().number.load(std::memory_order_relaxed)),
              std::memory_order_relaxed);
  return TakeWords(page().call, page().call_words, frame.words);
}

// In the slot only where no message waits on the socket, so that the host takes them in order.
void HostChannel::Return(Function function, const std::vector<uint64_t>& words) {
  if (has_sent_ || !IsRun(function) || !PutWords(page().answer, page().answer_words, words))
    return Send(FrameKind::kReturn, function, words);
  page().answered.store(page().number.load(std::memory_order_relaxed), std::memory_order_release);
  page().answers.Ring();
}

void HostChannel::NoteSubmitted() {
  page().sent_first.store(has_sent_ ? 1 : 0, std::memory_order_relaxed);
  page().submitted.store(page().number.load(std::memory_order_relaxed), std::memory_order_release);
  page().answers.Ring();
}

WireFrame HostChannel::Exchange(Function function, const std::vector<uint64_t>& words) {
  const std::lock_guard lock(mutex_);
  WireFrame frame;
  has_sent_ = true;
  const FrameTag tag{FrameKind::kCallback, function, call_.load(std::memory_order_relaxed)};
  const Transfer sent = SendFrame(socket_.get(), tag, words);
  page().answers.Ring();
  if (sent != Transfer::kDone || ReceiveFrame(socket_.get(), frame) != Transfer::kDone ||
      frame.kind != FrameKind::kCallbackReturn || frame.function != function || frame.call != tag.call)
    EndWorker();
  return frame;
}

void HostChannel::Send(FrameKind kind, Function function, const std::vector<uint64_t>& words) {
  const std::lock_guard lock(mutex_);
  has_sent_ = true;
  // The host has closed the channel: the result is of no use any more.
  const FrameTag tag{kind, function, call_.load(std::memory_order_relaxed)};
  if (SendFrame(socket_.get(), tag, words) == Transfer::kTooLarge) EndWorker();
  page().answers.Ring();
}

}  // namespace deputy::host
