// A worker that keeps to the protocol until one call, and attacks the host in it: `serve ATTACK@FUNCTION ...`, where
// FUNCTION is a number, 0 for the first message. The table of attacks is at the end.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/worker_process.hpp"
#include "isolation/channel_page.hpp"
#include "isolation/frame.hpp"
#include "isolation/shared_memory.hpp"
#include "support/sent_messages.hpp"

namespace deputy::host {
namespace {

std::string attack;
Function attacked{};  // in this call

[[noreturn]] void Wait() {
  while (true) pause();
}

// One channel, and the call that came last.
struct Side {
  int socket;
  std::unique_ptr<Mapping> memory;
  uint32_t seen = 0;
  Function function{};
  uint64_t call = 0;

  ChannelPage& page() const { return *reinterpret_cast<ChannelPage*>(memory->data()); }
  bool is_mine(const WireFrame& frame) const { return frame.kind == FrameKind::kCall; }

  bool Take() {
    Bell& bell = page().calls;
    while (bell.count() == seen) bell.Sleep(seen, std::chrono::seconds(1));
    seen = bell.count();
    const CallPlace place = page().place.load();
    if (place == CallPlace::kNowhere) return false;
    if (attack == "stopped" && page().function.load() == attacked) Wait();  // what comes is not read
    WireFrame frame;
    if (place == CallPlace::kSlot) {
      function = page().function.load();
      call = CallNumber(page().channel.load(), page().number.load());
      return true;
    }
    if (ReceiveFrame(socket, frame) != Transfer::kDone || !is_mine(frame)) return false;
    function = frame.function;
    call = frame.call;
    return true;
  }

  void Send(FrameKind kind, Function what, const std::vector<uint64_t>& words) const {
    if (SendFrame(socket, {kind, what, call}, words) != Transfer::kDone) _exit(0);
    page().answers.Ring();
  }
  // The bytes as they are.
  void Put(const void* bytes, size_t size) const {
    for (size_t done = 0; done < size;) {
      const ssize_t put = write(socket, static_cast<const char*>(bytes) + done, size - done);
      if (put <= 0) _exit(0);
      done += static_cast<size_t>(put);
    }
    page().answers.Ring();
  }
  FrameHead Head(FrameKind kind, Function what, uint64_t words) const {
    FrameHead head;
    head.kind = kind;
    head.function = what;
    head.words = words;
    head.call = call;
    return head;
  }
};

deputy_str Str(const char* text) { return {text, std::strlen(text)}; }

Hello Greeting() {
  Hello hello;
  hello.abi_version = hello.min_host_abi = DEPUTY_ABI_VERSION;
  hello.id = Str("attacking");
  hello.has_init = hello.has_shutdown = true;
  return hello;
}

// A delegate with every function.
Reply<PluginForm> Description() {
  Reply<PluginForm> reply;
  reply.payload.counted = 1;
  DelegateForm& form = reply.payload.delegates.emplace_back();
  form.id = Str("attacking");
  form.has_probe = form.has_get_extension = form.has_scratch_size = form.has_cancel = true;
  for (TableForm* table : {&form.async, &form.blob, &form.capabilities, &form.concurrency, &form.device_control,
                           &form.devices, &form.estimate, &form.memory, &form.operators, &form.options, &form.profiling,
                           &form.propose, &form.resize, &form.scheduling})
    *table = {true, 512, 0, 0xffff};
  return reply;
}

void AnswerWell(const Side& side) {
  if (side.function == Function::kDescribe) return side.Send(FrameKind::kReturn, side.function, Encode(Description()));
  WithSentMessage(side.function, [&]<class Message>(Message*) {
    Message message{};
    if constexpr (std::is_same_v<Message, Reply<WireNumber>>)
      message.payload.value = side.function == Function::kResize || side.function == Function::kScratchSize ? 0 : 7;
    side.Send(FrameKind::kReturn, side.function, Encode(message));
  });
}

// A byte every few milliseconds, which is often enough for a limit from byte to byte.
[[noreturn]] void Drip(int socket, const FrameHead& head, Bell* bell) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&head);
  for (size_t i = 0;; ++i) {
    const uint8_t byte = i < sizeof head ? bytes[i] : 0;
    if (write(socket, &byte, 1) != 1) _exit(0);
    if (bell != nullptr) bell->Ring();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

template <class Message>
[[noreturn]] void Flood(const Side& side, FrameKind kind, Function what, const Message& message) {
  const std::vector<uint64_t> words = Encode(message);
  while (true) side.Send(kind, what, words);
}

// The question that the host answers in this call, if there is one: else any, which is then not of the protocol.
Function QuestionIn(Function function) {
  switch (function) {
    case Function::kEnumerate: return Function::kAddDevice;
    case Function::kPropose: return Function::kAddClaim;
    case Function::kGroups: return Function::kAddGroup;
    case Function::kInfer: return Function::kSetOutputType;
    case Function::kDebugMap: return Function::kAddDebugIds;
    case Function::kBlobSerialize: return Function::kWriteBlob;
    case Function::kExecute:
    case Function::kExecuteAgain: return Function::kAllocateOutput;
    default: return Function::kGraphOrder;
  }
}

void Ask(const Side& side, Function question) {
  WithSentMessage(question, [&]<class Message>(Message*) {
    Message message{};
    if constexpr (requires { message.struct_size; }) message.struct_size = sizeof message;
    side.Send(FrameKind::kCallback, question, Encode(message));
  });
}

void SendDescriptors(int socket, const void* bytes, size_t size, size_t count) {
  std::vector<char> space(CMSG_SPACE(count * sizeof(int)));
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  const std::vector<int> copies(count, socket);
  std::memcpy(CMSG_DATA(rights), copies.data(), count * sizeof(int));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) _exit(0);
}

// A word that is a count in one message or another, at every place of a small message in turn.
void SendCount(const Side& side, Function what, size_t at) {
  std::vector<uint64_t> words(8, 1);
  words.resize(std::max(words.size(), at + 1), 1);
  words[at] = uint64_t{1} << 29;
  side.Send(SentAs(what), what, words);
}

struct Attack {
  const char* name;
  void (*run)(const Side& side);
};

const Attack kAttacks[] = {
    {"slow_return",
     [](const Side& side) {
       Drip(side.socket, side.Head(FrameKind::kReturn, side.function, 512), &side.page().answers);
     }},
    {"slow_log",
     [](const Side& side) {
       Drip(side.socket, side.Head(FrameKind::kNotice, Function::kLog, 512), &side.page().answers);
     }},
    {"slow_question",
     [](const Side& side) {
       Drip(side.socket, side.Head(FrameKind::kCallback, QuestionIn(side.function), 512), &side.page().answers);
     }},
    // Claims to have answered a run in the slot, and begins a frame that is taken before.
    {"slow_beside_the_slot",
     [](const Side& side) {
       const char byte = 'D';
       side.Put(&byte, 1);
       side.page().answered.store(side.page().number.load());
       side.page().answers.Ring();
       Wait();
     }},
    {"rings",
     [](const Side& side) {
       while (true) side.page().answers.Ring();
     }},
    {"flood_log",
     [](const Side& side) {
       Flood(side, FrameKind::kNotice, Function::kLog, LogForm{0, 1, Str("flood")});
     }},
    {"flood_progress",
     [](const Side& side) {
       Flood(side, FrameKind::kNotice, Function::kProgress, ProgressStep{5, Str("step")});
     }},
    {"slow_progress",
     [](const Side& side) {
       for (uint32_t i = 1;; ++i) {
         side.Send(FrameKind::kNotice, Function::kProgress, Encode(ProgressStep{i, Str("step")}));
         std::this_thread::sleep_for(std::chrono::milliseconds(20));
       }
     }},
    {"flood_support",
     [](const Side& side) {
       Flood(side, FrameKind::kNotice, Function::kSupportAnswer, SupportAnswer{0, 0, Str("")});
     }},
    {"flood_estimate",
     [](const Side& side) {
       deputy_estimate estimate{};
       estimate.struct_size = sizeof estimate;
       Flood(side, FrameKind::kNotice, Function::kEstimateAnswer, estimate);
     }},
    {"flood_questions",
     [](const Side& side) {  // the answers are read, and nothing else ends
       WireFrame answer;
       while (true) {
         Ask(side, QuestionIn(side.function));
         if (ReceiveFrame(side.socket, answer) != Transfer::kDone) _exit(0);
       }
     }},
    {"unread",
     [](const Side& side) {
       while (true) Ask(side, QuestionIn(side.function));
     }},
    {"descriptor_of_a_return",
     [](const Side& side) {
       FrameHead head = side.Head(FrameKind::kReturn, side.function, 512);
       head.descriptors = 1;
       SendDescriptors(side.socket, &head, sizeof head, 1);
       Wait();
     }},
    {"descriptors_unannounced",
     [](const Side& side) {
       const FrameHead head = side.Head(FrameKind::kNotice, Function::kLog, 512);
       SendDescriptors(side.socket, &head, sizeof head, 2);
       Wait();
     }},
    {"descriptors_of_each_byte",
     [](const Side& side) {
       const FrameHead head = side.Head(FrameKind::kReturn, side.function, 512);
       for (size_t i = 0; i < sizeof head; ++i)
         SendDescriptors(side.socket, reinterpret_cast<const char*>(&head) + i, 1, 100);
       Wait();
     }},
    {"descriptors_within",
     [](const Side& side) {
       const FrameHead head = side.Head(FrameKind::kReturn, side.function, 512);
       side.Put(&head, sizeof head);
       for (uint64_t word = 0; word < 512; ++word) SendDescriptors(side.socket, &word, sizeof word, 4);
       Wait();
     }},
    {"doubled", [](const Side& side) { AnswerWell(side), AnswerWell(side); }},
    {"early",
     [](const Side& side) {  // the number of the next call
       AnswerWell(side);
       Side next{side.socket, nullptr, 0, side.function, side.call + 1};
       if (SendFrame(next.socket, {FrameKind::kReturn, Function::kOpen, next.call}, {}) != Transfer::kDone) _exit(0);
     }},
    {"of_another_call",
     [](const Side& side) {
       SendFrame(side.socket, {FrameKind::kReturn, side.function, side.call - 1}, Encode(Reply<Nothing>()));
       side.page().answers.Ring();
       Wait();
     }},
    {"of_another_function",
     [](const Side& side) {
       const Function other = side.function == Function::kInit ? Function::kOpen : Function::kInit;
       side.Send(FrameKind::kReturn, other, Encode(Reply<Nothing>()));
       Wait();
     }},
    {"of_another_kind",
     [](const Side& side) {
       side.Send(FrameKind::kCall, side.function, Encode(Reply<Nothing>()));
       Wait();
     }},
    {"slot_of_another_call",
     [](const Side& side) {
       side.page().answer_words.store(1);
       side.page().answered.store(side.page().number.load() + 1);
       side.page().answers.Ring();
       Wait();
     }},
    // The first execute is answered; the next call is that of a submitted run, whose end does not come.
    {"submitted_for_ever",
     [](const Side& side) {
       static std::atomic<int> calls{0};
       if (calls++ == 0) return AnswerWell(side);
       side.page().submitted.store(side.page().number.load());
       side.page().answers.Ring();
       Wait();
     }},
    {"submitted_and_doubled",
     [](const Side& side) {
       side.page().submitted.store(side.page().number.load());
       AnswerWell(side), AnswerWell(side);
     }},
    {"submitted_is_another",
     [](const Side& side) {
       side.page().submitted.store(side.page().number.load() + 1);
       side.page().answers.Ring();
       AnswerWell(side);
     }},
    {"large_log",
     [](const Side& side) {
       const FrameHead head = side.Head(FrameKind::kNotice, Function::kLog, kMaxFrameWords);
       side.Put(&head, sizeof head);
       const std::vector<uint64_t> words(1 << 17);
       while (true) side.Put(words.data(), words.size() * sizeof(uint64_t));
     }},
    {"unread_control", [](const Side& side) { AnswerWell(side); }},
    {"drip_control",
     [](const Side& side) {
       std::thread([] {
         FrameHead head;
         head.kind = FrameKind::kNotice;
         head.function = Function::kLog;
         head.words = 512;
         Drip(kWorkerReplyFd, head, nullptr);
       }).detach();
       AnswerWell(side);
     }},
    // Another process, which the end of this one does not end, has all of its sockets.
    {"child_floods_control",
     [](const Side&) {
       if (fork() == 0) {
         setsid();
         alarm(20);
         const LogForm line{0, 1, Str("flood")};
         while (SendFrame(kWorkerReplyFd, {FrameKind::kNotice, Function::kLog}, Encode(line)) == Transfer::kDone) {
         }
         _exit(0);
       }
       _exit(3);
     }},
    // The host cannot reach it any more, and it goes on.
    {"closes_control",
     [](const Side&) {
       shutdown(kWorkerReplyFd, SHUT_WR);
       Wait();
     }},
    {"child_keeps_channel",
     [](const Side&) {
       if (fork() == 0) {
         setsid();
         alarm(5);
         Wait();
       }
       _exit(3);
     }},
};

void Serve(Side& side) {
  while (side.Take()) {
    if (side.function != attacked) {
      AnswerWell(side);
      continue;
    }
    for (const Attack& one : kAttacks)
      if (attack == one.name) one.run(side);
    constexpr std::string_view kCounts = "count_";  // count_FUNCTION_PLACE
    if (attack.rfind(kCounts, 0) == 0) {
      const size_t split = attack.find('_', kCounts.size());
      SendCount(side, static_cast<Function>(std::stoul(attack.substr(kCounts.size(), split - kCounts.size()))),
                std::stoul(attack.substr(split + 1)));
      Wait();
    }
  }
}

void ServeHost() {
  FrameHead first;
  first.kind = FrameKind::kNotice;
  first.function = Function::kHello;
  first.words = 512;
  if (attacked == Function{} && attack == "slow_hello") Drip(kWorkerReplyFd, first, nullptr);
  if (attacked == Function{} && attack == "descriptors_hello") {
    for (size_t i = 0; i < sizeof first; ++i)
      SendDescriptors(kWorkerReplyFd, reinterpret_cast<const char*>(&first) + i, 1, 50);
    Wait();
  }
  if (attacked == Function{} && attack == "count_hello") {
    std::vector<uint64_t> words = Encode(Greeting());
    words[1] = uint64_t{1} << 29;
    words[2] = 1;
    SendFrame(kWorkerReplyFd, {FrameKind::kNotice, Function::kHello}, words);
    Wait();
  }
  SendFrame(kWorkerReplyFd, {FrameKind::kNotice, Function::kHello}, Encode(Greeting()));
  WireFrame frame;
  bool first_channel = true;
  while (ReceiveFrame(kWorkerReplyFd, frame) == Transfer::kDone) {
    if (frame.function != Function::kNewChannel || frame.descriptors.size() != 2) continue;
    Side* const side = new Side{frame.descriptors[0].Release(), nullptr};
    side->memory = Mapping::Of(frame.descriptors[1].get(), 0, sizeof(ChannelPage), true);
    if (side->memory == nullptr) _exit(2);
    std::thread([side] { Serve(*side), _exit(0); }).detach();
    if (first_channel && attack == "unread_control") Wait();
    first_channel = false;
  }
}

}  // namespace
}  // namespace deputy::host

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  alarm(60);  // also when the host does not end it
  const std::string name = std::filesystem::path(argv[2]).filename();
  const size_t at = name.find('@');
  deputy::host::attack = name.substr(0, at);
  deputy::host::attacked = static_cast<deputy::host::Function>(std::stoul(name.substr(at + 1)));
  deputy::host::ServeHost();
  _exit(0);
}
