// The host beside a hostile worker process: it loads the plugin there, asks for its description, opens a delegate,
// compiles a partition and runs it. The input is the script of scripted_worker.cpp. Whatever the worker sends, each
// call ends, with a message where it fails.
#include <algorithm>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "deputy/abi/delegate.h"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"
#include "fuzz/wire_maker.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "isolation/serve.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "plugin/proxy/host_services.hpp"
#include "support/plain_calls.hpp"
#include "support/test_graph.hpp"

namespace deputy::fuzz {
namespace {

using host::FrameHead;
using host::FrameKind;
using host::Function;
using host::Reply;

constexpr size_t kMostBytes = 16 * 1024, kMostFrame = 0xffff;
constexpr uint32_t kAwaits = 0x80000000u;

struct Record {
  bool awaits = false;
  Bytes frame;
};

std::vector<Record> RecordsOf(std::span<const uint8_t> script) {
  std::vector<Record> records;
  while (script.size() >= sizeof(uint32_t)) {
    const auto size = Load<uint32_t>(script, 0);
    script = script.subspan(sizeof size);
    const auto frame = script.first(std::min<size_t>(size & kMostFrame, script.size()));
    records.push_back({(size & kAwaits) != 0, Bytes(frame.begin(), frame.end())});
    script = script.subspan(frame.size());
  }
  return records;
}

Bytes ScriptOf(const std::vector<Record>& records) {
  Bytes script;
  for (const Record& record : records) {
    const size_t at = script.size();
    script.resize(at + sizeof(uint32_t));
    Store(script, at, static_cast<uint32_t>(record.frame.size() & kMostFrame) | (record.awaits ? kAwaits : 0));
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
  Record record{awaits, Bytes(sizeof head + maker.words().size() * sizeof(uint64_t))};
  Store(record.frame, 0, head);
  if (!maker.words().empty())
    std::memcpy(record.frame.data() + sizeof head, maker.words().data(), record.frame.size() - sizeof head);
  return record;
}

// A message that the host may get at any time, or a result.
Record MakeRecord(Random& random) {
  constexpr auto kBack = FrameKind::kCallback, kNews = FrameKind::kNotice, kEnd = FrameKind::kReturn;
  constexpr auto kSame = Function{};
  switch (random.Below(26)) {
    case 0: return Make<host::WireNumber>(kBack, Function::kGraphOrder, false, random);
    case 1: return Make<host::WireNumber>(kBack, Function::kNodeInfo, false, random);
    case 2: return Make<host::WireNumber>(kBack, Function::kValueInfo, false, random);
    case 3: return Make<host::WireNumber>(kBack, Function::kGraphInputs, false, random);
    case 4: return Make<host::AttributeName>(kBack, Function::kNodeAttribute, false, random);
    case 5: return Make<host::WireNumber>(kBack, Function::kConstantBytes, false, random);
    case 6: return Make<host::ConstantRange>(kBack, Function::kConstantRead, false, random);
    case 7: return Make<host::WireNumber>(kBack, Function::kConstantFile, false, random);
    case 8: return Make<host::Ids>(kBack, Function::kCluster, false, random);
    case 9: return Make<host::WireNumber>(kBack, Function::kQuantizedGroups, false, random);
    case 10: return Make<host::WireText>(kBack, Function::kNamedData, false, random);
    case 11: return Make<deputy_claim>(kBack, Function::kAddClaim, false, random);
    case 12: return Make<deputy_device_info>(kBack, Function::kAddDevice, false, random);
    case 13: return Make<host::OutputShape>(kBack, Function::kAllocateOutput, false, random);
    case 14: return Make<host::SupportAnswer>(kNews, Function::kSupportAnswer, false, random);
    case 15: return Make<host::ProgressStep>(kNews, Function::kProgress, false, random);
    case 16: return Make<host::LogForm>(kNews, Function::kLog, false, random);
    case 17: return Make<Reply<host::PluginForm>>(kEnd, Function::kDescribe, true, random);
    case 18: return Make<Reply<host::Events>>(kEnd, kSame, true, random);
    case 19: return Make<Reply<host::WrittenText>>(kEnd, kSame, true, random);
    case 20: return Make<Reply<host::TwoNumbers>>(kEnd, kSame, true, random);
    case 21: return Make<Reply<host::Nothing>>(kEnd, kSame, true, random);
    case 22: return Make<host::Hello>(kNews, Function::kHello, false, random);
    default: return Make<Reply<host::WireNumber>>(kEnd, kSame, true, random);
  }
}

// One word of the message, or a field of its head.
void ChangeFrame(Bytes& frame, Random& random) {
  if (frame.size() < sizeof(FrameHead) + sizeof(uint64_t) || random.OneIn(16))
    return ChangeBytes(frame, random, kMostFrame);
  if (random.OneIn(16)) return ChangeAlignedNumber(std::span(frame).first(sizeof(FrameHead)), 4, random);
  const size_t words = (frame.size() - sizeof(FrameHead)) / sizeof(uint64_t);
  const size_t at = sizeof(FrameHead) + sizeof(uint64_t) * random.Below(words);
  Store(frame, at, ChangedNumber(Load<uint64_t>(frame, at), random));
}

// The host's side of the conversation.
class Caller {
 public:
  explicit Caller(const deputy_plugin& plugin)
      : plugin_(plugin),
        services_("fuzz", nullptr),
        graph_(host::TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph),
        handle_(host::OfferAll(graph_)) {}

  void Converse() {
    if (host::CheckPluginTable(&plugin_)) return;
    if (const auto refused = host::Init(plugin_, services_.table())) {
      Require(!refused->text.empty(), "a rejection has a text");
      return;
    }
    const auto described = host::Describe(plugin_, services_.table());
    if (const host::Rejection* rejection = host::RejectionOf(described))
      Require(!rejection->text.empty(), "a rejection has a text");
    const uint32_t delegates = std::min(plugin_.delegate_count(&plugin_), 4u);
    for (uint32_t i = 0; i < delegates; ++i)
      if (const deputy_delegate* delegate = plugin_.delegate_at(&plugin_, i)) Use(*delegate);
    if (plugin_.shutdown != nullptr) plugin_.shutdown(&plugin_);
  }

 private:
  // Whether the call has succeeded.
  bool Took(deputy_status* status) const {
    const deputy_host* host = services_.table();
    const deputy_code code = host->status_code(host->self, status);
    Require(status == nullptr || host->status_message(host->self, status).data != nullptr, "a failure has a message");
    host->status_release(host->self, status);
    return code == DEPUTY_OK;
  }

  void Use(const deputy_delegate& delegate) {
    deputy_open_args args{};
    args.struct_size = sizeof args;
    args.host = services_.table();
    args.name = {"fuzz", 4};
    args.domain = 1;
    deputy_instance* instance = nullptr;
    if (!Took(delegate.open(&delegate, &args, &instance)) || instance == nullptr) return;
    const deputy_support_sink sink{sizeof sink, 0, this, [](void*, deputy_node_id, deputy_reason, deputy_str) {}};
    static_cast<void>(Took(delegate.query_support(instance, &handle_, &sink)));
    CompileAndRun(delegate, instance);
    delegate.close(instance);
  }

  void CompileAndRun(const deputy_delegate& delegate, deputy_instance* instance) {
    static constexpr deputy_node_id kNode = 0;
    static constexpr deputy_value_id kInput = 0, kOutput = 1;
    const deputy_partition partition{sizeof partition, 1, &handle_, &kNode, &kInput, &kOutput, 1, 1, nullptr, {"p", 1}};
    deputy_compile_args args{};
    args.struct_size = sizeof args;
    args.partition = &partition;
    deputy_executable* executable = nullptr;
    if (!Took(delegate.compile(instance, &args, &executable)) || executable == nullptr) return;
    const deputy_context_args context_args{sizeof context_args, 0, 0, 0};
    deputy_context* context = nullptr;
    if (Took(delegate.context_create(executable, &context_args, &context)) && context != nullptr) {
      Run(delegate, context);
      delegate.context_destroy(context);
    }
    delegate.executable_destroy(executable);
  }

  void Run(const deputy_delegate& delegate, deputy_context* context) {
    std::vector<float> in(4, 1.0f), out(4, -1.0f);
    const plain::PlainRun run(in.data(), out.data(), in.size());
    static_cast<void>(Took(delegate.execute(context, &run.args)));
    Require(in == std::vector<float>(4, 1.0f), "a worker does not change inputs");
  }

  const deputy_plugin& plugin_;
  host::HostServices services_;
  host::Graph graph_;
  deputy_graph handle_;
};

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
    case 5: place->awaits = !place->awaits; break;
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
  Caller(*served->table).Converse();
}

}  // namespace deputy::fuzz
