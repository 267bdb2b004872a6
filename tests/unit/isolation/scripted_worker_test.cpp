// The inputs with which fuzzing of the protocol begins (tests/fuzz/corpus_worker.py) are those of today's protocol: if
// they were not, the host would refuse each at its first message, and fuzzing would see nothing else.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "plugin/discovery/description.hpp"
#include "support/every_call.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {
namespace {

const std::filesystem::path kCorpus = FUZZ_CORPUS;

TEST(ScriptedWorker, ConversationsOfTheCorpusAreWhole) {
  SetLogLevel(LogLevel::kOff);
  setenv("SCRIPT_WAIT_MS", "30000", 1);
  for (const std::string& name : FilesIn(kCorpus / "worker_host")) {
    if (name == "refuses" || name == "silent") continue;
    SCOPED_TRACE(name);
    RemotePluginOptions options;
    options.sandbox = false;  // which keeps the environment
    options.worker = SCRIPTED_WORKER;
    options.file = kCorpus / "worker_host" / name;
    const Result<RemoteTable> served = ServePlugin(options);
    ASSERT_TRUE(served.ok()) << served.status().ToString();
    const deputy_host* host = nullptr;
    std::string last;
    bool waited = false;
    const auto made = [&](std::string_view call, const std::function<deputy_status*()>& make) {
      deputy_status* status = make();
      EXPECT_EQ(status, nullptr) << call << ": " << host->status_message(host->self, status).data;
      host->status_release(host->self, status);
      last = call;
      waited |= call == "wait";
    };
    EveryCall every(*served->table, made);
    host = every.host();
    ASSERT_EQ(host::Init(*served->table, host), std::nullopt);
    const auto described = Describe(*served->table, host);
    ASSERT_EQ(RejectionOf(described), nullptr) << RejectionOf(described)->text;
    every.Use(*served->table->delegate_at(served->table, 0));
    every.End();
    EXPECT_EQ(last, "shutdown");
    EXPECT_EQ(waited, name == "all" || name == "queues");
  }
  SetLogLevel(LogLevel::kInfo);
}

template <class Message>
bool IsMessage(const std::string& name) {
  std::ifstream file(kCorpus / "worker_messages" / name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  WireFrame frame;
  frame.words.resize(bytes.size() / sizeof(uint64_t));
  std::memcpy(frame.words.data(), bytes.data() + sizeof(uint32_t), frame.words.size() * sizeof(uint64_t));
  return !frame.words.empty() && Received<Message>(std::move(frame)).valid();
}

TEST(ScriptedWorker, MessagesOfTheCorpusAreValid) {
  EXPECT_TRUE(IsMessage<Hello>("hello"));
  EXPECT_TRUE(IsMessage<LogForm>("log"));
  EXPECT_TRUE(IsMessage<WireNumber>("number"));
  EXPECT_TRUE(IsMessage<Ids>("ids"));
  EXPECT_TRUE(IsMessage<Reply<PluginForm>>("plugin"));
}

}  // namespace
}  // namespace deputy::host::testing
