// Frames on a socket between the host and a worker process: a head with the kind, the function and the length, then the
// words of one message, with descriptors beside them. Nothing of a frame is believed: its length is limited, and memory
// is taken only for bytes that have arrived.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/function_ref.hpp"
#include "isolation/messages.hpp"
#include "isolation/wire.hpp"

namespace deputy::host {

inline constexpr uint32_t kFrameMagic = 0x46505044u;  // "DPPF"
// The most words of a frame: what is larger is cut into several, or lies in shared memory.
inline constexpr uint64_t kMaxFrameWords = (256u << 20) / sizeof(uint64_t);
// Beside one frame.
inline constexpr uint32_t kMaxFrameDescriptors = 4;

struct FrameHead {
  uint32_t magic = kFrameMagic;
  FrameKind kind{};
  Function function{};
  uint32_t descriptors = 0;
  uint64_t words = 0;
};

struct WireFrame {
  FrameKind kind{};
  Function function{};
  std::vector<uint64_t> words;
  std::vector<Descriptor> descriptors;
};

enum class Transfer {
  kDone,
  kClosed,    // the other side has closed the socket, or ended
  kInvalid,   // it does not keep to the protocol
  kTooLarge,  // nothing was sent
  kGivenUp    // `waiting` has ended the wait
};

// A frame that has begun to arrive, or to be taken, goes on within this time.
inline constexpr std::chrono::seconds kMostStall{10};

// Sends a frame with copies of the descriptors; blocks while the socket is full, but not for longer than kMostStall: a
// socket that is not read counts as closed. Frames of two threads must not overlap.
Transfer SendFrame(int socket, FrameKind kind, Function function, const std::vector<uint64_t>& words,
                   const std::vector<int>& descriptors = {});

// The next frame. `waiting` is called every few milliseconds until its first byte is there, if it is not null; false
// ends the wait.
Transfer ReceiveFrame(int socket, WireFrame& frame, const FunctionRef<bool()>* waiting = nullptr);

template <class Message>
std::vector<uint64_t> Encode(const Message& message) {
  WireWriter writer;
  Pass(writer, const_cast<Message&>(message));  // a WireWriter changes nothing
  return writer.words();
}

// A message with all that it points to.
template <class Message>
class Received {
 public:
  explicit Received(WireFrame frame) : frame_(std::move(frame)), reader_(frame_.words) { Pass(reader_, message_); }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;

  // False: the frame is no such message.
  bool valid() const { return reader_.done(); }
  Message* operator->() { return &message_; }
  Message& operator*() { return message_; }
  std::vector<Descriptor>& descriptors() { return frame_.descriptors; }

 private:
  WireFrame frame_;
  WireReader reader_;
  Message message_{};
};

}  // namespace deputy::host
