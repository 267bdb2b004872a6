#include "isolation/frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace deputy::host {
namespace {

constexpr size_t kPieceWords = (1u << 20) / sizeof(uint64_t);

union ControlSpace {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int) * kMaxFrameDescriptors)> bytes;
};

// Takes ownership of every descriptor beside the bytes, and keeps `most` in all; the kernel has closed those for which
// there is no space. False for more, and for anything else than descriptors.
bool TakeDescriptors(msghdr& message, std::vector<Descriptor>& into, size_t most) {
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
    sound = sound && count <= most && into.size() <= most - count;
    for (size_t i = 0; sound && i < count; ++i) into.push_back(std::move(taken[i]));
  }
  return sound;
}

// Waits until the socket is ready, and looks meanwhile. False: the limit is over.
bool Await(int socket, short events, const TimeLimit& limit) {
  while (true) {
    pollfd watched{socket, events, 0};
    const std::chrono::nanoseconds nap = limit.nap();
    constexpr std::chrono::hours kLong{1};
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(nap, kLong));
    if (poll(&watched, 1, static_cast<int>(rounded.count())) > 0) return true;
    limit.Look();
    if (limit.is_over()) return false;
  }
}

}  // namespace

Transfer SendFrame(int socket, const FrameTag& tag, const std::vector<uint64_t>& words,
                   const std::vector<int>& descriptors, const TimeLimit& limit) {
  if (words.size() > kMaxFrameWords || descriptors.size() > kMaxFrameDescriptors) return Transfer::kTooLarge;
  FrameHead head;
  head.kind = tag.kind;
  head.function = tag.function;
  head.call = tag.call;
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
    if (limit.is_over()) return Transfer::kOverdue;  // also where it is read a little at a time
    const ssize_t put = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      if (!Await(socket, POLLOUT, limit)) return Transfer::kOverdue;
      continue;
    }
    if (put < 0) return Transfer::kClosed;
    message.msg_control = nullptr;  // they went with the first byte
    message.msg_controllen = 0;
    auto done = static_cast<size_t>(put);
    while (message.msg_iovlen != 0 && done >= message.msg_iov->iov_len) {
      done -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + done;
    message.msg_iov->iov_len -= done;
  }
  return Transfer::kDone;
}

// The descriptors arrive with the first byte, so that all of them are here.
Transfer FrameReader::TakeHead() {
  const FrameLimits limits = LimitsOf(head_.kind, head_.function);
  if (head_.magic != kFrameMagic || head_.words > limits.words || head_.descriptors > limits.descriptors ||
      head_.descriptors != frame_.descriptors.size())
    return Transfer::kInvalid;
  frame_.kind = head_.kind;
  frame_.function = head_.function;
  frame_.call = head_.call;
  return head_.words == 0 ? Transfer::kDone : Transfer::kPending;
}

Transfer FrameReader::Take(int socket, const TimeLimit& limit) {
  while (true) {
    if (limit.is_over()) return Transfer::kOverdue;
    const bool in_head = read_ < sizeof head_;
    iovec part{reinterpret_cast<char*>(&head_) + read_, sizeof head_ - read_};
    if (!in_head) {
      const size_t done = read_ - sizeof head_, whole = frame_.words.size() * sizeof(uint64_t);
      if (done == whole)
        frame_.words.resize(
            std::min<size_t>(head_.words, frame_.words.size() + std::max(kPieceWords, frame_.words.size())));
      part = {reinterpret_cast<char*>(frame_.words.data()) + done, frame_.words.size() * sizeof(uint64_t) - done};
    }
    ControlSpace control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Transfer::kPending;
    if (got <= 0) return (got < 0 && in_head) || read_ == 0 ? Transfer::kClosed : Transfer::kInvalid;
    if (!TakeDescriptors(message, frame_.descriptors, in_head ? kMaxFrameDescriptors : frame_.descriptors.size()))
      return Transfer::kInvalid;
    read_ += static_cast<size_t>(got);
    if (read_ == sizeof head_)
      if (const Transfer head = TakeHead(); head != Transfer::kPending) return head;
    if (read_ == sizeof head_ + head_.words * sizeof(uint64_t) && read_ > sizeof head_) return Transfer::kDone;
  }
}

Transfer ReceiveFrame(int socket, WireFrame& frame, const TimeLimit& limit, std::chrono::nanoseconds most) {
  FrameReader reader;
  TimeLimit whole = limit;
  bool has_begun = false;
  while (true) {
    Transfer got = reader.Take(socket, whole);
    if (got != Transfer::kPending && got != Transfer::kOverdue) {
      frame = std::move(reader.frame());
      return got;
    }
    if (!has_begun && reader.has_begun() && most != std::chrono::nanoseconds::max()) {
      has_begun = true;
      whole = limit.AtMost(most);
    }
    if (got == Transfer::kOverdue || !Await(socket, POLLIN, whole))
      return limit.is_over() ? Transfer::kOverdue : Transfer::kStalled;
  }
}

}  // namespace deputy::host
