// Frames on a socket between the host and a worker process: a head with the kind, the function, the call that it
// belongs to and the length, then the words of one message, with descriptors beside them. Nothing of a frame is
// believed: it carries no more than its type may (message_types.hpp), memory is taken only for bytes that have arrived,
// and the time for it is limited as a whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "isolation/messages.hpp"
#include "isolation/time_limit.hpp"
#include "isolation/wire.hpp"

namespace deputy::host {

inline constexpr uint32_t kFrameMagic = 0x46505044u;  // "DPPF"
// Beside a frame of any type.
inline constexpr uint32_t kMaxFrameDescriptors = 2;
// The host waits no longer for the rest of a frame that has begun, nor for the other side to take one.
inline constexpr std::chrono::seconds kMostFrameTime{10};

// What a frame is.
struct FrameTag {
  FrameKind kind{};
  Function function{};
  uint64_t call = 0;  // its number, which no other call of the worker has; 0 on the control socket
};

struct FrameHead {
  uint32_t magic = kFrameMagic;
  FrameKind kind{};
  Function function{};
  uint32_t descriptors = 0;
  uint64_t words = 0;
  uint64_t call = 0;
};

struct WireFrame {
  FrameKind kind{};
  Function function{};
  uint64_t call = 0;
  std::vector<uint64_t> words;
  std::vector<Descriptor> descriptors;
};

enum class Transfer {
  kDone,
  kClosed,    // the other side has closed the socket, or ended
  kInvalid,   // it does not keep to the protocol
  kTooLarge,  // nothing was sent
  kStalled,   // it neither ends a frame nor reads one
  kOverdue,   // the limit is over
  kPending    // of a FrameReader: the rest has not arrived yet
};

// Sends a frame with copies of the descriptors, within the limit; after a part of a frame the socket is of no more use.
// Frames of two threads must not overlap.
Transfer SendFrame(int socket, const FrameTag& tag, const std::vector<uint64_t>& words,
                   const std::vector<int>& descriptors = {}, const TimeLimit& limit = {});

// Takes one frame as it arrives.
class FrameReader {
 public:
  // Reads what there is, without waiting for more, and no longer than the limit lets it.
  Transfer Take(int socket, const TimeLimit& limit);
  bool has_begun() const { return read_ != 0; }
  WireFrame& frame() { return frame_; }

 private:
  Transfer TakeHead();

  FrameHead head_;
  WireFrame frame_;
  size_t read_ = 0;  // bytes, of the head and then of the words
};

// The next frame within the limit; the rest of one that has begun within `most` of its begin.
Transfer ReceiveFrame(int socket, WireFrame& frame, const TimeLimit& limit = {},
                      std::chrono::nanoseconds most = std::chrono::nanoseconds::max());

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
  const Message& message() const { return message_; }
  Message* operator->() { return &message_; }
  Message& operator*() { return message_; }
  std::vector<Descriptor>& descriptors() { return frame_.descriptors; }

 private:
  WireFrame frame_;
  WireReader reader_;
  Message message_{};
};

}  // namespace deputy::host
