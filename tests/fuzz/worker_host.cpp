// The host beside a hostile worker process: it loads the plugin there and makes every call of its tables. The input is
// the script of scripted_worker.cpp, made of every message that a worker sends. Regardless of what the worker sends,
// each call ends, with a message where it fails.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"
#include "fuzz/wire_maker.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "isolation/serve.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/table_check.hpp"
#include "support/every_call.hpp"
#include "support/sent_messages.hpp"

namespace deputy::fuzz {
namespace {

using host::FrameHead;
using host::FrameKind;
using host::Function;

constexpr size_t kMostBytes = 16 * 1024, kMostFrame = 0xffff;
constexpr uint32_t kAwaits = 0x80000000u, kInSlot = 0x40000000u, kSubmits = 0x20000000u;

struct Record {
  bool awaits = false, in_slot = false, submits = false;
  Bytes frame;
};

std::vector<Record> RecordsOf(std::span<const uint8_t> script) {
  std::vector<Record> records;
  while (script.size() >= sizeof(uint32_t)) {
    const auto size = Load<uint32_t>(script, 0);
    script = script.subspan(sizeof size);
    const auto frame = script.first(std::min<size_t>(size & kMostFrame, script.size()));
    records.push_back(
        {(size & kAwaits) != 0, (size & kInSlot) != 0, (size & kSubmits) != 0, Bytes(frame.begin(), frame.end())});
    script = script.subspan(frame.size());
  }
  return records;
}

Bytes ScriptOf(const std::vector<Record>& records) {
  Bytes script;
  for (const Record& record : records) {
    const size_t at = script.size();
    script.resize(at + sizeof(uint32_t));
    Store(script, at,
          static_cast<uint32_t>(record.frame.size() & kMostFrame) | (record.awaits ? kAwaits : 0) |
              (record.in_slot ? kInSlot : 0) | (record.submits ? kSubmits : 0));
    script.insert(script.end(), record.frame.begin(), record.frame.end());
  }
  return script;
}

template <class Message>
Record Make(FrameKind kind, Function function, bool awaits, Random& random) {
  host::WireMaker maker(random);
  Message message{};
  Pass(maker, message);
  FrameHead head;
  head.kind = kind;
  head.function = function;
  head.words = maker.words().size();
  Record record{awaits, false, false, Bytes(sizeof head + maker.words().size() * sizeof(uint64_t))};
  Store(record.frame, 0, head);
  if (!maker.words().empty())
    std::memcpy(record.frame.data() + sizeof head, maker.words().data(), record.frame.size() - sizeof head);
  return record;
}

// Any message of a worker, in the kind of frame in which it sends it. Most results are those of the call that the host
// has made: of function 0, with the message of any call.
Record MakeRecord(Random& random) {
  static const std::vector<Function> functions = host::AllFunctions();
  const Function function = random.Of(functions);
  const FrameKind kind = host::SentAs(function);
  Record record;
  WithSentMessage(function, [&]<class Message>(Message*) {
    const bool is_result = kind == FrameKind::kReturn;
    const bool is_of_the_call = is_result && !random.OneIn(8);
    record = Make<Message>(kind, is_of_the_call ? Function{} : function, is_result, random);
  });
  record.in_slot = kind == FrameKind::kReturn && random.OneIn(8);
  record.submits = kind == FrameKind::kReturn && random.OneIn(8);
  return record;
}

// Another kind, function, number of words, descriptors or call.
void ChangeHead(Bytes& frame, Random& random) {
  auto head = Load<FrameHead>(frame, 0);
  static const std::vector<Function> functions = host::AllFunctions();
  switch (random.Below(5)) {
    case 0: head.kind = static_cast<FrameKind>(1 + random.Below(5)); break;
    case 1: head.function = random.Of(functions); break;
    case 2: head.words = ChangedNumber(head.words, random); break;
    case 3: head.descriptors = static_cast<uint32_t>(random.Below(4)); break;
    default: head.call = ChangedNumber(head.call, random); break;
  }
  Store(frame, 0, head);
}

// One word of the message, or a field of its head.
void ChangeFrame(Bytes& frame, Random& random) {
  if (frame.size() < sizeof(FrameHead) + sizeof(uint64_t) || random.OneIn(16))
    return ChangeBytes(frame, random, kMostFrame);
  if (random.OneIn(16)) return ChangeAlignedNumber(std::span(frame).first(sizeof(FrameHead)), 4, random);
  if (random.OneIn(8)) return ChangeHead(frame, random);
  const size_t words = (frame.size() - sizeof(FrameHead)) / sizeof(uint64_t);
  const size_t at = sizeof(FrameHead) + sizeof(uint64_t) * random.Below(words);
  Store(frame, at, ChangedNumber(Load<uint64_t>(frame, at), random));
}

// Every call of the host, of each delegate.
void Converse(const deputy_plugin& plugin) {
  const deputy_host* host = nullptr;
  const auto made = [&](std::string_view, const std::function<deputy_status*()>& call) {
    deputy_status* status = call();
    Require(status == nullptr || host->status_message(host->self, status).data != nullptr, "a failure has a message");
    host->status_release(host->self, status);
  };
  if (host::CheckPluginTable(&plugin)) return;
  const std::vector<float> ones(4, 1.0f);
  host::EveryCall every(plugin, made, "1", ones.data());
  host = every.host();
  if (const auto refused = host::Init(plugin, host)) return Require(!refused->text.empty(), "a rejection has a text");
  const auto described = host::Describe(plugin, host);
  if (const host::Rejection* rejection = host::RejectionOf(described))
    Require(!rejection->text.empty(), "a rejection has a text");
  const uint32_t delegates = std::min(plugin.delegate_count(&plugin), 4u);
  for (uint32_t i = 0; i < delegates; ++i)
    if (const deputy_delegate* delegate = plugin.delegate_at(&plugin, i)) every.Use(*delegate);
  every.End();
  Require(ones == std::vector<float>(4, 1.0f), "a worker does not change inputs");
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  std::vector<Record> records = RecordsOf(input);
  const auto place = records.begin() + static_cast<std::ptrdiff_t>(random.Below(records.size()));
  switch (records.empty() ? 0 : random.Below(10)) {
    case 0:
    case 1: records.insert(place, MakeRecord(random)); break;
    case 2: *place = MakeRecord(random); break;
    case 3: records.erase(place); break;
    case 4: {
      Record copy = *place;
      records.insert(place, std::move(copy));
      break;
    }
    case 5: (random.OneIn(3) ? place->in_slot : random.OneIn(3) ? place->submits : place->awaits) ^= true; break;
    default: ChangeFrame(place->frame, random); break;
  }
  Bytes script = ScriptOf(records);
  if (script.size() <= kMostBytes) input = std::move(script);
}

void CheckInput(std::span<const uint8_t> input) {
  host::SetLogLevel(host::LogLevel::kOff);
  host::RemotePluginOptions options;
  options.worker = DEPUTY_SCRIPTED_WORKER;
  options.file = TemporaryFolder() / "script";
  options.call_timeout = options.run_timeout = std::chrono::milliseconds(1000);
  WriteFile(options.file, input);
  const Result<host::RemoteTable> served = host::ServePlugin(options);
  if (!served.ok()) {
    const std::string text = served.status().ToString();
    Require(!served.status().message().empty(), "an error has a message", text);
    return Require(host::Printable(text, text.size()) == text, "a message of a worker is printable", text);
  }
  Converse(*served->table);
}

}  // namespace deputy::fuzz
