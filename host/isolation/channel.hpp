// The host's end of a channel: a socket on which one call at a time is in progress, the page beside it, and the memory
// of its runs. Runs go through the page as far as they fit there, everything else through the socket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/file.hpp"
#include "base/spin.hpp"
#include "isolation/channel_page.hpp"
#include "isolation/frame.hpp"
#include "isolation/shared_memory.hpp"
#include "isolation/time_limit.hpp"

namespace deputy::host {

// Where a wait for a message of the worker stops without one.
struct CallPause {
  bool when_submitted = false;  // Channel::HasSubmitted
  TimeLimit::Clock::time_point at = TimeLimit::Clock::time_point::max();
};

class Channel {
 public:
  // Null where there is no descriptor or no memory. `number`: no other channel of the worker has it. `theirs` are the
  // descriptors for the worker: its end of the socket, and the page.
  static std::unique_ptr<Channel> Make(uint32_t number, std::chrono::nanoseconds spin, Descriptor (&theirs)[2]);
  // The worker's thread for it ends.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_.get(); }
  std::atomic<uint32_t>& cancelled() { return page().cancelled; }

  // kInvalid: the worker has sent something before it was called.
  Transfer Call(Function function, const std::vector<uint64_t>& words, const std::vector<int>& descriptors,
                const TimeLimit& limit);
  // The next message of the worker for that call; kInvalid for one of another call, too. kPending: the pause was
  // before it.
  Transfer Receive(WireFrame& frame, const TimeLimit& limit, const CallPause& pause = {});
  // Whether the delegate has begun the run of that call, and ends it by itself.
  bool HasSubmitted() const { return page().submitted.load(std::memory_order_acquire) == number_; }
  // Answers a callback of the call.
  Transfer Answer(Function function, const std::vector<uint64_t>& words, const std::vector<int>& descriptors,
                  const TimeLimit& limit);
  // A wait ends, because the worker has. [any-thread]
  void End();

  SharedRegion tensors;
  std::map<uint32_t, SharedRegion> outputs;  // of runs that size their outputs, by output

 private:
  Channel(int socket, std::unique_ptr<Mapping> page, uint32_t channel, std::chrono::nanoseconds spin)
      : socket_(socket), page_(std::move(page)), channel_(channel), spin_(spin), end_spin_(spin) {}
  ChannelPage& page() const { return *reinterpret_cast<ChannelPage*>(page_->data()); }
  void Ring(CallPlace place, Function function);
  bool HasAnswer() const { return page().answered.load(std::memory_order_acquire) == number_; }
  Transfer TakeAnswer(WireFrame& frame, const TimeLimit& limit);
  Transfer Send(FrameKind kind, Function function, const std::vector<uint64_t>& words,
                const std::vector<int>& descriptors, const TimeLimit& limit);
  Transfer TakeFrame(WireFrame& frame, const TimeLimit& limit);

  const Descriptor socket_;
  const std::unique_ptr<Mapping> page_;
  const uint32_t channel_;    // its number
  SpinTime spin_, end_spin_;  // for the ends of submitted runs
  uint32_t number_ = 0;       // of the last call; 0 is none's
  Function function_{};
  std::atomic<bool> ended_{false};
};

}  // namespace deputy::host
