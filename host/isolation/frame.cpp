#include "isolation/frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace deputy::host {
namespace {

constexpr int kWaitMilliseconds = 5;
constexpr size_t kPieceWords = (1u << 20) / sizeof(uint64_t);

union ControlSpace {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int) * kMaxFrameDescriptors)> bytes;
};

// Takes ownership of every descriptor beside the bytes, also too many. False for anything else.
bool TakeDescriptors(msghdr& message, std::vector<Descriptor>& into) {
  bool sound = (message.msg_flags & MSG_CTRUNC) == 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
      sound = false;
      continue;
    }
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    // Owned before memory may be lacking. The space is rounded up, so that there may be more than a frame may have.
    std::array<Descriptor, sizeof(ControlSpace) / sizeof(int)> taken;
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      taken[i] = Descriptor(descriptor);
    }
    std::move(taken.begin(), taken.begin() + count, std::back_inserter(into));
  }
  return sound;
}

// Whether the socket is ready for more of a frame in time.
bool AwaitMore(int socket, short events) {
  pollfd watched{socket, events, 0};
  int ready = 0;
  do ready = poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(kMostStall).count()));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Receives exactly `size` bytes; waits for the first of them as long as it takes if they begin a frame.
Transfer ReceiveBytes(int socket, void* to, size_t size, std::vector<Descriptor>& descriptors, bool begins) {
  size_t done = 0;
  while (done < size) {
    iovec part{static_cast<char*>(to) + done, size - done};
    ControlSpace control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const bool blocks = begins && done == 0;
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (blocks ? 0 : MSG_DONTWAIT));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pollfd watched{socket, POLLIN, 0};
      if (blocks)
        poll(&watched, 1, -1);
      else if (!AwaitMore(socket, POLLIN))
        return Transfer::kInvalid;
      continue;
    }
    if (got <= 0) return done == 0 || got < 0 ? Transfer::kClosed : Transfer::kInvalid;
    if (!TakeDescriptors(message, descriptors)) return Transfer::kInvalid;
    done += static_cast<size_t>(got);
  }
  return Transfer::kDone;
}

}  // namespace

Transfer SendFrame(int socket, FrameKind kind, Function function, const std::vector<uint64_t>& words,
                   const std::vector<int>& descriptors) {
  if (words.size() > kMaxFrameWords || descriptors.size() > kMaxFrameDescriptors) return Transfer::kTooLarge;
  FrameHead head;
  head.kind = kind;
  head.function = function;
  head.descriptors = static_cast<uint32_t>(descriptors.size());
  head.words = words.size();
  std::array<iovec, 2> parts{iovec{&head, sizeof head},
                             iovec{const_cast<uint64_t*>(words.data()), words.size() * sizeof(uint64_t)}};
  ControlSpace control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof(int) * descriptors.size());
  }
  while (message.msg_iovlen != 0) {
    const ssize_t put = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN && AwaitMore(socket, POLLOUT)) continue;
    if (put < 0) return Transfer::kClosed;
    message.msg_control = nullptr;  // they went with the first byte
    message.msg_controllen = 0;
    auto done = static_cast<size_t>(put);
    while (message.msg_iovlen != 0 && done >= message.msg_iov->iov_len) {
      done -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen != 0) {
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + done;
      message.msg_iov->iov_len -= done;
    }
  }
  return Transfer::kDone;
}

Transfer ReceiveFrame(int socket, WireFrame& frame, const FunctionRef<bool()>* waiting) {
  frame = {};
  while (waiting != nullptr) {
    pollfd watched{socket, POLLIN, 0};
    if (poll(&watched, 1, kWaitMilliseconds) != 0) break;
    if (!(*waiting)()) return Transfer::kGivenUp;
  }
  FrameHead head;
  const Transfer begun = ReceiveBytes(socket, &head, sizeof head, frame.descriptors, true);
  if (begun != Transfer::kDone) return begun;
  if (head.magic != kFrameMagic || head.words > kMaxFrameWords || head.descriptors != frame.descriptors.size())
    return Transfer::kInvalid;
  frame.kind = head.kind;
  frame.function = head.function;
  while (frame.words.size() < head.words) {
    const size_t at = frame.words.size();
    const size_t piece = std::min<size_t>(head.words - at, std::max(kPieceWords, at));
    frame.words.resize(at + piece);
    const Transfer got =
        ReceiveBytes(socket, frame.words.data() + at, piece * sizeof(uint64_t), frame.descriptors, false);
    if (got == Transfer::kClosed) return Transfer::kInvalid;  // in the middle of a frame
    if (got != Transfer::kDone) return got;
  }
  return head.descriptors == frame.descriptors.size() ? Transfer::kDone : Transfer::kInvalid;
}

}  // namespace deputy::host
