// The worker's end of a channel: takes calls of the host, and while one is in progress asks the host back. When the
// host is gone, the process ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/spin.hpp"
#include "isolation/channel_page.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "isolation/shared_memory.hpp"
#include "plugin/checks/handles.hpp"

namespace deputy::host {

// Ends the process: there is no host left to serve.
[[noreturn]] void EndWorker();

// A status of the worker for a failure of the host; NULL for success.
deputy_status* StatusOf(const Outcome& outcome);

class HostChannel {
 public:
  HostChannel(Descriptor socket, std::unique_ptr<Mapping> page)
      : socket_(std::move(socket)),
        page_(std::move(page)),
        spin_(std::chrono::nanoseconds(this->page().spin_ns.load(std::memory_order_relaxed))),
        run_spin_(spin_) {}
  HostChannel(const HostChannel&) = delete;
  HostChannel& operator=(const HostChannel&) = delete;

  // The channel of the call that this thread serves; null on other threads.
  static HostChannel* Current();
  // Waits for one. False when the host has closed the channel.
  bool TakeCall(WireFrame& frame);
  void Return(Function function, const std::vector<uint64_t>& words);

  // The delegate has begun the run of the call in progress, and ends it by itself.
  void NoteSubmitted();

  // Asks the host, for the call in progress, from any of its threads.
  template <class Payload, class Args>
  std::unique_ptr<Received<Reply<Payload>>> Ask(Function function, const Args& args) {
    auto reply = std::make_unique<Received<Reply<Payload>>>(Exchange(function, Encode(args)));
    if (!reply->valid()) EndWorker();
    return reply;
  }
  // The same where only the outcome matters.
  template <class Args>
  deputy_status* Ask(Function function, const Args& args) {
    return StatusOf((*Ask<Nothing>(function, args))->outcome);
  }
  template <class Message>
  void Notify(Function function, const Message& message) {
    Send(FrameKind::kNotice, function, Encode(message));
  }

  bool cancelled() const { return page().cancelled.load(std::memory_order_relaxed) != 0; }

  // For the ends of submitted runs.
  SpinTime& run_spin() { return run_spin_; }

  // Memory of the tensors of a run, and of outputs that a run sizes.
  std::unique_ptr<Mapping> tensors;
  std::map<uint32_t, std::unique_ptr<Mapping>> outputs;

 private:
  ChannelPage& page() const { return *reinterpret_cast<ChannelPage*>(page_->data()); }
  bool TakeFromSlot(WireFrame& frame);
  WireFrame Exchange(Function function, const std::vector<uint64_t>& words);
  void Send(FrameKind kind, Function function, const std::vector<uint64_t>& words);

  Descriptor socket_;
  std::unique_ptr<Mapping> page_;
  SpinTime spin_, run_spin_;
  uint32_t seen_ = 0;                  // of the calls that were announced
  std::atomic<uint64_t> call_{0};      // the number of the last one
  std::mutex mutex_;                   // of one exchange, or one notice
  std::atomic<bool> has_sent_{false};  // on the socket, since the last call
};

}  // namespace deputy::host
