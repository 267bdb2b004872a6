// A worker process that sends what a script says, whatever the host asks: `serve SCRIPT ...`. Linked to nothing of the
// host, so that it starts quickly.
//
// The script is a list of frames. Before each stands a number of 4 bytes: the size of the frame, in the highest bit
// whether a message of the host is awaited first, in the next one whether the words are put into the slot for the
// answer of a run, and in the third whether the run of the host's last call is said to be submitted before. A frame
// whose function is 0 gets the function of the host's last call, one whose call is 0 its number.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "isolation/channel_page.hpp"

namespace {

using deputy::host::CallPlace;
using deputy::host::ChannelPage;

constexpr int kControl = 3;
constexpr uint32_t kCall = 1;
constexpr size_t kKindAt = 4, kFunctionAt = 8, kWordsAt = 16, kCallAt = 24, kHeadSize = 32;
constexpr uint32_t kAwaits = 0x80000000u, kInSlot = 0x40000000u, kSubmits = 0x20000000u;
using Head = std::array<uint8_t, kHeadSize>;

// Where script and host wait for each other, the worker ends soon.
int most_milliseconds = 8;
bool Arrives(int from, int milliseconds = most_milliseconds) {
  pollfd wanted = {from, POLLIN, 0};
  return poll(&wanted, 1, milliseconds) == 1;
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

// The channel that the host has opened, and its last call.
struct Channel {
  int socket = -1;
  ChannelPage* page = nullptr;
  uint32_t seen = 0;  // of the bell
  uint32_t function = 0;
  uint64_t call = 0;
};

// From the first message that opens one.
bool TakeChannel(Channel& channel) {
  Head head;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> beside{};
  iovec part = {head.data(), head.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  if (!Arrives(kControl)) return false;
  if (recvmsg(kControl, &message, MSG_WAITALL) != static_cast<ssize_t>(head.size())) return false;
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  if (first == nullptr || first->cmsg_type != SCM_RIGHTS || first->cmsg_len < CMSG_LEN(2 * sizeof(int))) return false;
  std::array<int, 2> descriptors;
  std::memcpy(descriptors.data(), CMSG_DATA(first), sizeof descriptors);
  void* const page = mmap(nullptr, sizeof(ChannelPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[1], 0);
  if (page == MAP_FAILED) return false;
  channel.socket = descriptors[0];
  channel.page = static_cast<ChannelPage*>(page);
  return true;
}

// A frame of the host, of which only the function and the number of a call are kept.
bool TakeFrame(Channel& channel) {
  Head head;
  if (!Read(channel.socket, head.data(), head.size())) return false;
  uint32_t kind = 0;
  std::memcpy(&kind, head.data() + kKindAt, sizeof kind);
  if (kind == kCall) std::memcpy(&channel.function, head.data() + kFunctionAt, sizeof channel.function);
  if (kind == kCall) std::memcpy(&channel.call, head.data() + kCallAt, sizeof channel.call);
  uint64_t words = 0;
  std::memcpy(&words, head.data() + kWordsAt, sizeof words);
  std::array<uint64_t, 512> dropped;
  for (uint64_t left = words; left != 0;) {
    const uint64_t part = left < dropped.size() ? left : dropped.size();
    if (!Read(channel.socket, dropped.data(), part * sizeof(uint64_t))) return false;
    left -= part;
  }
  return true;
}

// The next frame, or a run in the slot.
bool TakeMessage(Channel& channel) {
  for (int i = 0; i < most_milliseconds; ++i) {
    const uint32_t now = channel.page->calls.count();
    if (now != channel.seen && channel.page->place.load() == CallPlace::kSlot) {
      channel.seen = now;
      channel.function = static_cast<uint32_t>(channel.page->function.load());
      channel.call = deputy::host::CallNumber(channel.page->channel.load(), channel.page->number.load());
      return true;
    }
    if (Arrives(channel.socket, 1)) {
      channel.seen = now;
      return TakeFrame(channel);
    }
  }
  return false;
}

void AnswerInSlot(const Channel& channel, const std::vector<uint8_t>& frame) {
  if (channel.page == nullptr || frame.size() < kHeadSize) return;
  ChannelPage& page = *channel.page;
  uint64_t words = 0;
  std::memcpy(&words, frame.data() + kWordsAt, sizeof words);
  const size_t size = frame.size() - kHeadSize;
  std::memcpy(page.answer, frame.data() + kHeadSize, size < sizeof page.answer ? size : sizeof page.answer);
  page.answer_words.store(static_cast<uint32_t>(words));
  page.answered.store(page.number.load());
}

void Play(int script) {
  Channel channel;
  uint32_t size = 0;
  while (Read(script, &size, sizeof size)) {
    if ((size & kAwaits) != 0) {
      if (channel.page == nullptr && !TakeChannel(channel)) return;
      if (!TakeMessage(channel)) return;
    }
    std::vector<uint8_t> frame(size & 0xffffu);
    if (!Read(script, frame.data(), frame.size())) return;
    uint32_t function = 1;
    uint64_t call = 1;
    if (frame.size() >= kHeadSize) std::memcpy(&function, frame.data() + kFunctionAt, sizeof function);
    if (frame.size() >= kHeadSize) std::memcpy(&call, frame.data() + kCallAt, sizeof call);
    if (function == 0) std::memcpy(frame.data() + kFunctionAt, &channel.function, sizeof function);
    if (call == 0) std::memcpy(frame.data() + kCallAt, &channel.call, sizeof call);
    if ((size & kSubmits) != 0 && channel.page != nullptr) channel.page->submitted.store(channel.page->number.load());
    if ((size & kInSlot) != 0)
      AnswerInSlot(channel, frame);
    else if (write(channel.socket < 0 ? kControl : channel.socket, frame.data(), frame.size()) !=
             static_cast<ssize_t>(frame.size()))
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  alarm(20);
  if (const char* most = std::getenv("SCRIPT_WAIT_MS")) most_milliseconds = std::atoi(most);
  const int script = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (script < 0) return 2;
  Play(script);
  return 0;
}
