// An execution provider through ONNX Runtime's own library.
#include "../provider.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "../parts.hpp"
#include "forwarding.hpp"
#include "runtime.hpp"
#include "session.hpp"

namespace ort {
namespace {

constexpr const char* kCpuName = "CPUExecutionProvider";

// OrtCompileApi, by the numbers of its documentation.
enum CompileSlot : size_t {
  kReleaseCompilation = 0,
  kCreateCompilation = 1,
  kInputFromBuffer = 3,
  kOutputToBuffer = 6,
  kEmbedContext = 7,
  kCompileModel = 8
};

class HostedProvider final : public Provider, public std::enable_shared_from_this<HostedProvider> {
 public:
  HostedProvider(const sdk::Host& host, ProviderSettings settings, Runtime& runtime, const EpDevice* device)
      : host_(host),
        settings_(std::move(settings)),
        runtime_(runtime),
        device_(device),
        name_(runtime.functions().EpDevice_EpName(device)) {}

  std::string Description() const override {
    const Functions& functions = runtime_.functions();
    const char* version = functions.GetKeyValue(functions.EpDevice_EpMetadata(device_), "version");
    return name_ + " " + (version == nullptr ? "" : version) + " on ONNX Runtime " + runtime_.version();
  }

  sdk::Result<std::vector<Answer>> Ask(const sdk::PartitionView& nodes) override {
    std::vector<Answer> answers(nodes.nodes().size());
    kept_.reset();
    DEPUTY_SDK_ASSIGN_OR_RETURN(sdk::OnnxModel model, WriteComparable(nodes));
    LogScope log(host_);
    log.SetQuiet(true);
    {
      Question question(runtime_, model.nodes, Question::Aim::kWhole, log);
      sdk::Result<Owned<Session>> session = MakeSession(model.bytes, kEnableAll, log);
      if (session.ok()) {
        for (Answer& answer : answers) answer.is_taken = true;
        kept_ = Kept{std::move(model.bytes), std::move(session).value()};
        return answers;
      }
    }
    log.SetQuiet(true);  // the session may have ended in its compilation
    Question question(runtime_, model.nodes, Question::Aim::kAnswers, log);
    const sdk::Result<Owned<Session>> session = MakeSession(model.bytes, kDisableAll, log);
    if (question.was_asked()) return question.answers();
    return session.ok() ? sdk::Status(sdk::Code::kInternal, "the execution provider was not asked") : session.status();
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(sdk::OnnxModel model, WriteComparable(partition));
    CompiledSession compiled;
    compiled.session = TakeKept(model);
    if (compiled.session != nullptr) return Finish(partition, std::move(model), std::move(compiled));
    LogScope log(host_);
    sdk::Result<Owned<Session>> session = MakeSession(model.bytes, kEnableAll, log);
    // Rewriting may have brought nodes that the EP does not take.
    if (!session.ok() && !IsBuiltIn()) session = MakeSession(model.bytes, kDisableAll, log);
    if (!session.ok()) return sdk::Status(sdk::Code::kNotSupported, WithReason(session.status().message(), log.last()));
    compiled.session = std::move(session).value();
    return Finish(partition, std::move(model), std::move(compiled));
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Restore(const sdk::PartitionView& partition, sdk::Blob blob) override {
    // The session is there already, if the EP was asked about just these nodes and takes all.
    if (kept_) {
      DEPUTY_SDK_ASSIGN_OR_RETURN(sdk::OnnxModel asked, WriteComparable(partition));
      CompiledSession compiled;
      compiled.session = TakeKept(asked);
      if (compiled.session != nullptr) return Finish(partition, std::move(asked), std::move(compiled));
    }
    sdk::BlobReader reader(blob);
    sdk::OnnxModel model;
    for (auto* names : {&model.inputs, &model.outputs}) {
      const auto count = reader.Number<uint64_t>();
      for (uint64_t i = 0; i < count && reader.ok(); ++i) names->push_back(reader.Text());
    }
    model.bytes = reader.Text();
    if (!reader.at_end() || model.inputs.size() != partition.inputs().size() ||
        model.outputs.size() != partition.outputs().size())
      return sdk::Status(sdk::Code::kIncompatible, "the bytes are not of this partition");
    LogScope log(host_);
    CompiledSession compiled;
    DEPUTY_SDK_ASSIGN_OR_RETURN(compiled.session, MakeSession(model.bytes, kEnableAll, log));
    return Finish(partition, std::move(model), std::move(compiled));
  }

 private:
  // A session that was made while the EP was asked, because it takes all nodes of the model.
  struct Kept {
    std::string bytes;  // of the model
    Owned<Session> session;
  };

  // NULL: it was made for another model, and is not needed any more.
  Owned<Session> TakeKept(const sdk::OnnxModel& model) {
    std::optional<Kept> kept = std::exchange(kept_, std::nullopt);
    return kept && kept->bytes == model.bytes ? std::move(kept->session) : Owned<Session>();
  }

  bool IsBuiltIn() const { return settings_.library.empty(); }

  sdk::Result<Owned<SessionOptions>> MakeOptions(OptimizationLevel level) {
    const Functions& functions = runtime_.functions();
    SessionOptions* made = nullptr;
    DEPUTY_SDK_RETURN_IF_ERROR(runtime_.Take(functions.CreateSessionOptions(&made), "session options"));
    Owned<SessionOptions> options = runtime_.Own(made, functions.ReleaseSessionOptions);
    const auto set = [&](Status* status, const std::string& what) { return runtime_.Take(status, what); };
    DEPUTY_SDK_RETURN_IF_ERROR(set(functions.SetSessionGraphOptimizationLevel(made, level), "optimization"));
    // Kernels of a plugin EP do not use ONNX Runtime's pool.
    const int threads = IsBuiltIn() ? static_cast<int>(settings_.threads) : 1;
    DEPUTY_SDK_RETURN_IF_ERROR(set(functions.SetIntraOpNumThreads(made, threads), "threads"));
    DEPUTY_SDK_RETURN_IF_ERROR(set(functions.SetInterOpNumThreads(made, 1), "threads"));
    TextPairs entries{{"session.intra_op.allow_spinning", "0"}};
    if (name_ != kCpuName) entries.emplace_back("session.disable_cpu_ep_fallback", "1");
    entries.insert(entries.end(), settings_.session_config.begin(), settings_.session_config.end());
    for (const auto& [key, value] : entries)
      DEPUTY_SDK_RETURN_IF_ERROR(set(functions.AddSessionConfigEntry(made, key.c_str(), value.c_str()), key));
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : settings_.options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    DEPUTY_SDK_RETURN_IF_ERROR(set(functions.SessionOptionsAppendExecutionProvider_V2(
                                       made, runtime_.env(), &device_, 1, keys.data(), values.data(), keys.size()),
                                   name_));
    return options;
  }

  sdk::Result<Owned<Session>> MakeSession(const std::string& model, OptimizationLevel level, LogScope& log) {
    const Functions& functions = runtime_.functions();
    DEPUTY_SDK_ASSIGN_OR_RETURN(const Owned<SessionOptions> options, MakeOptions(level));
    log.Clear();
    Session* session = nullptr;
    // Compilers of EPs may have one state for the process.
    const std::lock_guard<std::mutex> lock(OneAtATime());
    DEPUTY_SDK_RETURN_IF_ERROR(runtime_.Take(
        functions.CreateSessionFromArray(runtime_.env(), model.data(), model.size(), options.get(), &session), name_));
    return runtime_.Own(session, functions.ReleaseSession);
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Finish(const sdk::PartitionView& partition, sdk::OnnxModel model,
                                                       CompiledSession compiled) {
    compiled.provider = shared_from_this();
    compiled.runtime = &runtime_;
    compiled.host = host_;
    compiled.power_entry = settings_.power_entry;
    if (settings_.is_serial && !IsBuiltIn()) compiled.serial = &OneAtATime();
    DEPUTY_SDK_ASSIGN_OR_RETURN(compiled.inputs, TensorsOf(partition.inputs(), model.inputs));
    DEPUTY_SDK_ASSIGN_OR_RETURN(compiled.outputs, TensorsOf(partition.outputs(), model.outputs));
    if (settings_.keeps_context)
      compiled.context_model = [this, bytes = std::move(model.bytes)] { return ContextModel(bytes); };
    return MakeExecutable(std::move(compiled));
  }

  // The model with what the EP has compiled in it, in memory: the sandbox of a worker process has no files.
  sdk::Result<std::string> ContextModel(const std::string& model) {
    const auto* table = reinterpret_cast<const Function*>(runtime_.functions().GetCompileApi());
    if (table == nullptr) return sdk::Status(sdk::Code::kNotSupported, "this ONNX Runtime compiles no models");
    const auto call = [&](CompileSlot slot, auto... arguments) {
      return runtime_.Take(reinterpret_cast<Status* (*)(decltype(arguments)...)>(table[slot])(arguments...), name_);
    };
    DEPUTY_SDK_ASSIGN_OR_RETURN(const Owned<SessionOptions> options, MakeOptions(kEnableAll));
    ModelCompilationOptions* made = nullptr;
    DEPUTY_SDK_RETURN_IF_ERROR(call(kCreateCompilation, static_cast<const Env*>(runtime_.env()),
                                    static_cast<const SessionOptions*>(options.get()), &made));
    const auto owned =
        runtime_.Own(made, reinterpret_cast<void (*)(ModelCompilationOptions*)>(table[kReleaseCompilation]));
    Allocator* allocator = nullptr;
    DEPUTY_SDK_RETURN_IF_ERROR(
        runtime_.Take(runtime_.functions().GetAllocatorWithDefaultOptions(&allocator), "allocator"));
    void* bytes = nullptr;
    size_t size = 0;
    DEPUTY_SDK_RETURN_IF_ERROR(call(kInputFromBuffer, made, static_cast<const void*>(model.data()), model.size()));
    DEPUTY_SDK_RETURN_IF_ERROR(call(kOutputToBuffer, made, allocator, &bytes, &size));
    DEPUTY_SDK_RETURN_IF_ERROR(call(kEmbedContext, made, true));
    const LogScope log(host_);
    DEPUTY_SDK_RETURN_IF_ERROR(call(kCompileModel, static_cast<const Env*>(runtime_.env()),
                                    static_cast<const ModelCompilationOptions*>(made)));
    std::string copy(static_cast<const char*>(bytes), size);
    DEPUTY_SDK_RETURN_IF_ERROR(runtime_.Take(runtime_.functions().AllocatorFree(allocator, bytes), "allocator"));
    return copy;
  }

  const sdk::Host host_;
  const ProviderSettings settings_;
  Runtime& runtime_;
  const EpDevice* const device_;
  const std::string name_;
  std::optional<Kept> kept_;
};

}  // namespace

sdk::Result<std::shared_ptr<Provider>> OpenHosted(const sdk::Host& host, const ProviderSettings& settings) {
  DEPUTY_SDK_ASSIGN_OR_RETURN(Runtime * runtime, Runtime::Open(settings.runtime));
  const LogScope log(host);
  DEPUTY_SDK_ASSIGN_OR_RETURN(const std::vector<const EpDevice*> devices,
                              runtime->DevicesOf(settings.library, settings.name, settings.registered));
  const Functions& functions = runtime->functions();
  std::vector<HardwareDeviceType> types;
  for (const EpDevice* device : devices)
    types.push_back(functions.HardwareDevice_Type(functions.EpDevice_Device(device)));
  DEPUTY_SDK_ASSIGN_OR_RETURN(const size_t chosen, ChooseDevice(types, settings.device));
  return std::shared_ptr<Provider>(std::make_shared<HostedProvider>(host, settings, *runtime, devices[chosen]));
}

}  // namespace ort
