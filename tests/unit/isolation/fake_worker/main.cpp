// A worker that does not keep to the protocol: `serve FILE RIGHTS MEMORY PARENT`, where the name of the file tells how.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/worker_process.hpp"
#include "isolation/frame.hpp"

namespace deputy::host {
namespace {

deputy_str Str(const char* text) { return {text, std::string_view(text).size()}; }

uint64_t called = 0;  // the number of the call

// The call on the first channel.
int TakeCall() {
  WireFrame frame;
  if (ReceiveFrame(kWorkerReplyFd, frame) != Transfer::kDone || frame.descriptors.size() != 2) _exit(2);
  const int socket = frame.descriptors[0].Release();
  if (ReceiveFrame(socket, frame) != Transfer::kDone) _exit(2);
  called = frame.call;
  return socket;
}

void Write(int socket, const void* data, size_t size) {
  if (write(socket, data, size) != static_cast<ssize_t>(size)) _exit(2);
}

void Head(int socket, FrameHead head, size_t words = 0) {
  const std::vector<uint64_t> zeros(words);
  Write(socket, &head, sizeof head);
  Write(socket, zeros.data(), words * sizeof(uint64_t));
}

void Wait() {
  while (true) pause();
}

FrameHead Return() {
  FrameHead head;
  head.call = called;
  head.kind = FrameKind::kReturn;
  head.function = Function::kDescribe;
  return head;
}

void Serve(const std::string& way) {
  if (way == "silent") Wait();
  if (way == "exits") _exit(3);
  if (way == "crashes") abort();
  if (way == "garbage") {
    const std::array<char, 4096> garbage{"certainly not a frame"};
    Write(kWorkerReplyFd, garbage.data(), garbage.size());
    Wait();
  }
  Hello hello;
  hello.abi_version = hello.min_host_abi = DEPUTY_ABI_VERSION;
  hello.id = Str("fake");
  if (way == "other_version") hello.version = 99;
  if (way == "refuses") hello.refusal = Str("cannot be loaded: no such symbol");
  SendFrame(kWorkerReplyFd, {FrameKind::kNotice, Function::kHello}, Encode(hello));
  const int socket = TakeCall();
  FrameHead head = Return();
  if (way == "wrong_magic") head.magic = 1;
  if (way == "endless") head.words = UINT64_MAX;
  if (way == "wrong_function") head.function = Function::kInit;
  if (way == "wrong_kind") head.kind = FrameKind::kCall;
  if (way == "unknown_callback") head.kind = FrameKind::kCallback, head.function = static_cast<Function>(9999);
  if (way == "callback_without_graph") head.kind = FrameKind::kCallback, head.function = Function::kNodeInfo;
  if (way == "notice_of_nothing") head.kind = FrameKind::kNotice, head.function = Function::kSupportAnswer;
  if (way == "missing_descriptors") head.descriptors = 2;
  if (way == "half_frame" || way == "half_frame_and_end") {
    head.words = 1000;
    Head(socket, head, 10);
    if (way == "half_frame") close(socket);
    if (way == "half_frame_and_end") _exit(0);
    Wait();
  }
  if (way == "descriptors") SendFrame(socket, {FrameKind::kCallback, Function::kNodeInfo, called}, {1}, {0, 1});
  if (way == "closes") close(socket), Wait();
  if (way == "closes_control") close(kWorkerReplyFd), Wait();
  if (way == "dies") abort();
  if (way == "many_delegates") {
    // A list with a count that nothing follows.
    SendFrame(socket, {FrameKind::kReturn, Function::kDescribe, called},
              {0, 0, 0, 0, 0, 3, uint64_t{1} << 60, 1, 2, 3});
    Wait();
  }
  if (way == "words_left") {
    const Reply<PluginForm> reply{};
    std::vector<uint64_t> words = Encode(reply);
    words.push_back(0);
    SendFrame(socket, {FrameKind::kReturn, Function::kDescribe, called}, words);
    Wait();
  }
  if (way == "floods_log") {
    const LogForm line{77, 12345, Str("\x1b[31m \xff flood")};
    for (int i = 0; i < 1000; ++i) SendFrame(socket, {FrameKind::kNotice, Function::kLog, called}, Encode(line));
    SendFrame(socket, {FrameKind::kReturn, Function::kDescribe, called}, Encode(Reply<PluginForm>{}));
    Wait();
  }
  Head(socket, head, 0);
  Wait();
}

}  // namespace
}  // namespace deputy::host

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  alarm(60);  // also when the host does not end it
  deputy::host::Serve(std::filesystem::path(argv[2]).filename());
}
