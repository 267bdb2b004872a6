#include "isolation/channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace deputy::host {
namespace {

// The socket is looked at after each sleep, the next of which is twice as long: a worker that closes it may have no
// thread left to ring.
constexpr std::chrono::nanoseconds kFirstSleep = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::milliseconds(100);
// A worker gets this long even where the limit is over before.
constexpr std::chrono::nanoseconds kShortestWait = std::chrono::milliseconds(5);

// Data, or the end.
bool HasInput(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EINTR);
}
bool HasData(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace

std::unique_ptr<Channel> Channel::Make(uint32_t number, std::chrono::nanoseconds spin, Descriptor (&theirs)[2]) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  Descriptor ours(ends[0]);
  theirs[0] = Descriptor(ends[1]);
  Result<Descriptor> memory = SealedMemory(sizeof(ChannelPage));
  if (!memory.ok()) return nullptr;
  theirs[1] = *std::move(memory);
  std::unique_ptr<Mapping> page = Mapping::Of(theirs[1].get(), 0, sizeof(ChannelPage), true);
  if (page == nullptr) return nullptr;
  std::unique_ptr<Channel> channel(new Channel(ours.Release(), std::move(page), number, spin));
  channel->page().channel.store(number, std::memory_order_relaxed);
  channel->page().spin_ns.store(static_cast<uint32_t>(spin.count()), std::memory_order_relaxed);
  return channel;
}

Channel::~Channel() { Ring(CallPlace::kNowhere, {}); }

void Channel::Ring(CallPlace place, Function function) {
  page().number.store(number_, std::memory_order_relaxed);
  page().place.store(place, std::memory_order_relaxed);
  page().function.store(function, std::memory_order_relaxed);
  page().calls.Ring();
}

Transfer Channel::Send(FrameKind kind, Function function, const std::vector<uint64_t>& words,
                       const std::vector<int>& descriptors, const TimeLimit& limit) {
  const Transfer sent = SendFrame(socket(), {kind, function, CallNumber(channel_, number_)}, words, descriptors,
                                  limit.AtMost(kMostFrameTime));
  return sent == Transfer::kOverdue && !limit.is_over() ? Transfer::kStalled : sent;
}

Transfer Channel::Call(Function function, const std::vector<uint64_t>& words, const std::vector<int>& descriptors,
                       const TimeLimit& limit) {
  cancelled().store(0, std::memory_order_relaxed);
  number_ = std::max(number_ + 1, 1u);
  function_ = function;
  if (IsRun(function) && descriptors.empty() && PutWords(page().call, page().call_words, words)) {
    Ring(CallPlace::kSlot, function);
    return Transfer::kDone;
  }
  // Runs in the slot find it when they look at the socket, by the number of the call.
  if (HasData(socket())) return Transfer::kInvalid;
  // First, since the worker waits at the bell: a message that is larger than the socket's memory is read meanwhile.
  Ring(CallPlace::kSocket, function);
  return Send(FrameKind::kCall, function, words, descriptors, limit);
}

Transfer Channel::Answer(Function function, const std::vector<uint64_t>& words, const std::vector<int>& descriptors,
                         const TimeLimit& limit) {
  return Send(FrameKind::kCallbackReturn, function, words, descriptors, limit);
}

Transfer Channel::TakeFrame(WireFrame& frame, const TimeLimit& limit) {
  const Transfer got = ReceiveFrame(socket(), frame, limit, kMostFrameTime);
  return got == Transfer::kDone && frame.call != CallNumber(channel_, number_) ? Transfer::kInvalid : got;
}

// What is on the socket was sent before; a worker whose plugin has closed it cannot go on.
Transfer Channel::TakeAnswer(WireFrame& frame, const TimeLimit& limit) {
  if (HasInput(socket())) return TakeFrame(frame, limit);
  frame.kind = FrameKind::kReturn;
  frame.function = function_;
  frame.descriptors.clear();
  return TakeWords(page().answer, page().answer_words, frame.words) ? Transfer::kDone : Transfer::kInvalid;
}

Transfer Channel::Receive(WireFrame& frame, const TimeLimit& limit, const CallPause& pause) {
  if (!IsRun(function_)) return TakeFrame(frame, limit);
  Bell& bell = page().answers;
  using Clock = TimeLimit::Clock;
  std::optional<Clock::time_point> first_look;
  std::chrono::nanoseconds longest = kFirstSleep;
  SpinTime& spin = HasSubmitted() ? end_spin_ : spin_;
  const bool pauses = pause.at != Clock::time_point::max();
  while (true) {
    // Before the looks at what a ring announces.
    const uint32_t seen = bell.count();
    if (HasAnswer()) return TakeAnswer(frame, limit);
    if (pauses && Clock::now() >= pause.at) return Transfer::kPending;
    const bool rung = spin.Poll([&] { return bell.count() != seen; });
    if (HasAnswer()) return TakeAnswer(frame, limit);
    // After what the submission has sent.
    if (pause.when_submitted && HasSubmitted() && (page().sent_first.load() == 0 || !HasInput(socket())))
      return Transfer::kPending;
    if (HasInput(socket())) return TakeFrame(frame, limit);
    if (ended_.load(std::memory_order_acquire)) return Transfer::kClosed;
    if (limit.exists() || limit.looks()) {
      if (!first_look) first_look = Clock::now() + kShortestWait;
      if (Clock::now() >= *first_look) {
        limit.Look();
        if (limit.is_over()) return Transfer::kOverdue;
      }
    }
    if (rung) continue;
    std::chrono::nanoseconds nap = std::clamp(limit.nap(), kFirstSleep, longest);
    if (pauses) nap = std::clamp<std::chrono::nanoseconds>(pause.at - Clock::now(), std::chrono::nanoseconds(0), nap);
    bell.Sleep(seen, nap);
    longest = std::min(2 * longest, kLongestSleep);
  }
}

void Channel::End() {
  ended_.store(true, std::memory_order_release);
  page().answers.Ring();
  // Another process may hold the other end, and would keep a thread that waits at the socket.
  shutdown(socket(), SHUT_RDWR);
}

}  // namespace deputy::host
