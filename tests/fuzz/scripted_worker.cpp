// A worker process that sends what a script says, whatever the host asks: `serve SCRIPT ...`. Linked to nothing of the
// host, so that it starts quickly.
//
// The script is a list of frames. Before each stands a number of 4 bytes: the size of the frame, and in the highest bit
// whether a frame of the host is awaited first. A frame whose function is 0 gets the function of
// the host's last call.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int kControl = 3;
constexpr uint32_t kCall = 1;
constexpr size_t kKindAt = 4, kFunctionAt = 8, kWordsAt = 16, kHeadSize = 24;
constexpr uint32_t kAwaits = 0x80000000u;
using Head = std::array<uint8_t, kHeadSize>;

// Where script and host wait for each other, the worker ends soon.
constexpr int kMostMilliseconds = 8;
bool Arrives(int from) {
  pollfd wanted = {from, POLLIN, 0};
  return poll(&wanted, 1, kMostMilliseconds) == 1;
}

bool Read(int from, void* to, size_t size) {
  auto* at = static_cast<uint8_t*>(to);
  while (size != 0) {
    if (!Arrives(from)) return false;
    const ssize_t got = read(from, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// The first descriptor of the message with which the host opens a channel.
int TakeChannel() {
  Head head;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> beside{};
  iovec part = {head.data(), head.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  if (!Arrives(kControl)) return -1;
  if (recvmsg(kControl, &message, MSG_WAITALL) != static_cast<ssize_t>(head.size())) return -1;
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return -1;
  int channel = -1;
  std::memcpy(&channel, CMSG_DATA(first), sizeof channel);
  return channel;
}

// A frame of the host, of which only the function of a call is kept.
bool TakeFrame(int channel, uint32_t& function) {
  Head head;
  if (!Read(channel, head.data(), head.size())) return false;
  uint32_t kind = 0;
  std::memcpy(&kind, head.data() + kKindAt, sizeof kind);
  if (kind == kCall) std::memcpy(&function, head.data() + kFunctionAt, sizeof function);
  uint64_t words = 0;
  std::memcpy(&words, head.data() + kWordsAt, sizeof words);
  std::array<uint64_t, 512> dropped;
  for (uint64_t left = words; left != 0;) {
    const uint64_t part = left < dropped.size() ? left : dropped.size();
    if (!Read(channel, dropped.data(), part * sizeof(uint64_t))) return false;
    left -= part;
  }
  return true;
}

void Play(int script) {
  int channel = -1;
  uint32_t function = 0, size = 0;
  while (Read(script, &size, sizeof size)) {
    if ((size & kAwaits) != 0) {
      if (channel < 0) channel = TakeChannel();
      if (channel < 0 || !TakeFrame(channel, function)) return;
    }
    std::vector<uint8_t> frame(size & 0xffffu);
    if (!Read(script, frame.data(), frame.size())) return;
    uint32_t own = 1;
    if (frame.size() >= kHeadSize) std::memcpy(&own, frame.data() + kFunctionAt, sizeof own);
    if (own == 0) std::memcpy(frame.data() + kFunctionAt, &function, sizeof function);
    if (write(channel < 0 ? kControl : channel, frame.data(), frame.size()) != static_cast<ssize_t>(frame.size()))
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  alarm(20);
  const int script = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (script < 0) return 2;
  Play(script);
  return 0;
}
