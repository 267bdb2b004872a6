// The delegate `onnxruntime`: partitions run by an execution provider (EP) of ONNX Runtime, unmodified.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "known_providers.hpp"
#include "parts.hpp"
#include "provider.hpp"
#include "trial.hpp"

namespace ort {
namespace {

constexpr const char* kOwnTables = "own";

// "key=value; key=value".
sdk::Result<TextPairs> ReadPairs(const std::string& option, const std::string& text) {
  TextPairs pairs;
  const auto trimmed = [](std::string part) {
    part.erase(0, part.find_first_not_of(" \t\n"));
    part.erase(part.find_last_not_of(" \t\n") + 1);
    return part;
  };
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string entry = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return sdk::Status(sdk::Code::kInvalidArgument, "option '" + option + "': '" + entry +
                                                          "' is not of the form key=value; entries are separated "
                                                          "by ';'");
    pairs.emplace_back(trimmed(entry.substr(0, equals)), trimmed(entry.substr(equals + 1)));
  }
  return pairs;
}

// "qnn" for libonnxruntime_providers_qnn.so and libonnxruntime_qnn.so.
std::string NameOf(const std::string& library) {
  std::string name = library.substr(library.rfind('/') + 1);
  name = name.substr(0, name.find(".so"));
  for (const std::string prefix : {"lib", "onnxruntime_", "providers_"})
    if (name.compare(0, prefix.size(), prefix) == 0) name.erase(0, prefix.size());
  return name;
}

// A reason of a verdict or an estimate has at most 512 bytes; providers say more.
std::string Shortened(std::string reason) {
  constexpr size_t kMost = 400;
  if (reason.size() <= kMost) return reason;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(reason[end]) & 0xc0) == 0x80) --end;
  return reason.substr(0, end) + "...";
}

class OnnxRuntime final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = sdk::kBlobs;
  static constexpr bool kReadsPrecision = true;

  static sdk::OptionSchema Options() {
    sdk::OptionSchema schema =
        sdk::OptionSchema()
            .String("runtime", "libonnxruntime.so.1",
                    "file of ONNX Runtime's library (capi/libonnxruntime.so.* of the Python package), or 'own' for "
                    "this plugin's tables, which need none")
            .String("library", "", "file of the execution provider's library; empty: one built into ONNX Runtime")
            .String("provider", "",
                    "name of the execution provider; empty: the library's first, or "
                    "CPUExecutionProvider")
            .String("device", "", "cpu, gpu, npu, or a number among the provider's devices; empty: its first")
            .Enum("trial", "auto", {"auto", "always", "never"},
                  "whether a compiled partition runs once before it is used; auto: unless the provider is known to "
                  "build everything before")
            .Int("threads", 0, 0, 1024, "threads of ONNX Runtime's pool, 0 for as many as the host's")
            .Frequency("frequency", 3, "power and clock of the device, for QNN: its performance mode")
            .String("provider_options", "", "further options of the provider: key=value; key=value")
            .String("session_config", "", "entries of the session's configuration: key=value; key=value");
    for (const KnownProvider& provider : KnownProviders())
      for (const KnownOption& option : provider.options) {
        const std::string name = provider.group + "." + option.name;
        const std::string help = provider.name + ": " + option.help;
        if (option.choices.empty())
          std::move(schema).Int(name, std::stoll(option.fallback), 0, INT32_MAX, help);
        else
          std::move(schema).Enum(name, option.fallback, option.choices, help);
      }
    return schema;
  }

  sdk::Status Init() override {
    ProviderSettings settings;
    settings.runtime = options().String("runtime");
    settings.library = options().String("library");
    settings.name = options().String("provider");
    settings.device = options().String("device");
    settings.threads =
        options().Int("threads") == 0 ? host().thread_count() : static_cast<uint32_t>(options().Int("threads"));
    const bool is_own = settings.runtime == kOwnTables;
    if (is_own && settings.library.empty())
      return sdk::Status(sdk::Code::kInvalidArgument, "option 'runtime: own' needs option 'library'");
    if (settings.library.empty() && settings.name.empty()) settings.name = "CPUExecutionProvider";
    // Not any name: an EP that states it as its own would hide a mistake.
    settings.registered = FindKnown(settings.name) != nullptr ? settings.name : NameOf(settings.library);
    DEPUTY_SDK_ASSIGN_OR_RETURN(settings.session_config,
                                ReadPairs("session_config", options().String("session_config")));
    DEPUTY_SDK_ASSIGN_OR_RETURN(TextPairs more, ReadPairs("provider_options", options().String("provider_options")));
    const KnownProvider* known = GroupOf(settings);
    const KnownProvider* given = nullptr;
    for (const KnownProvider& provider : KnownProviders())
      for (const KnownOption& option : provider.options) {
        const std::string value = options().Text(provider.group + "." + option.name);
        if (value != option.fallback) given = &provider;
        if (&provider == known && (value != option.fallback || option.is_always_set))
          settings.options.emplace_back(option.name, value);
      }
    if (given != nullptr && given != known)
      return sdk::Status(sdk::Code::kInvalidArgument, "options of '" + given->group + "' are for " + given->name);
    const uint32_t level = options().Frequency("frequency").level;
    if (known != nullptr && !known->clock_option.empty())
      settings.options.emplace_back(known->clock_option, kClockModes[level - 1]);
    else if (level != 3)
      return sdk::Status(sdk::Code::kInvalidArgument, "option 'frequency' has no effect: this provider has no clock");
    if (known != nullptr && !known->threads_option.empty())
      settings.options.emplace_back(known->threads_option, std::to_string(settings.threads));
    settings.options.insert(settings.options.end(), more.begin(), more.end());
    if (known != nullptr) {
      settings.power_entry = known->power_entry;
      fatal_operator_ = known->fatal_operator;
    }
    settings.is_serial = known == nullptr || known->is_serial;
    settings.keeps_context = known != nullptr && known->keeps_context && !is_own;
    keeps_context_ = settings.keeps_context;
    computes_half_ = known != nullptr && known->group == "qnn" && options().Text("qnn.backend_type") == "htp" &&
                     options().Text("qnn.enable_htp_fp16_precision") == "1";
    tries_ = options().Enum("trial") == "always" ||
             (options().Enum("trial") == "auto" &&
              (known == nullptr ? !settings.library.empty() : known->builds_in_first_run));
    is_built_in_ = settings.library.empty();
    auto opened = is_own ? OpenOwn(host(), settings) : OpenHosted(host(), settings);
    // It may fail before it registers one, and its own reason is then not the cause.
    const bool needs_runtime = is_own && known != nullptr && known->registers_kernels;
    if (!opened.ok() && needs_runtime && opened.status().code() != sdk::Code::kNotFound)
      return sdk::Status(sdk::Code::kNotSupported, known->name +
                                                       " registers kernels, which needs ONNX Runtime's library, not "
                                                       "'runtime: own' (" +
                                                       opened.status().message() + ")");
    DEPUTY_SDK_ASSIGN_OR_RETURN(provider_, std::move(opened));
    return {};
  }

  // Its own state is not known to be safe between runs; ONNX Runtime's is.
  sdk::Concurrency concurrency() const override {
    return {/*contexts=*/is_built_in_, /*executables=*/true, /*instances=*/true};
  }

  std::string OptionInForce(const std::string& name) const override {
    if (name == "provider" && provider_ != nullptr) return provider_->Description();
    return PartitionDelegate::OptionInForce(name);
  }

  std::string BlobCompatibility() const override { return provider_->Description(); }
  bool has_blobs() const override { return keeps_context_; }

  void Look(const sdk::GraphView& graph) override {
    verdicts_.clear();
    std::vector<sdk::NodeView> nodes;
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const sdk::NodeView node = graph.NodeAt(i);
      if (!node.offered() || !IsWritable(node)) continue;
      if (!fatal_operator_.empty() && node.Is(fatal_operator_))
        verdicts_[node.id()] = sdk::Verdict::No(sdk::Reason::kOther, "the provider ends its process in a run of it");
      else
        nodes.push_back(node);
    }
    if (is_built_in_) {
      // It has kernels for nearly everything, and says for which node it has none when a session is made.
      for (const sdk::NodeView& node : nodes) verdicts_[node.id()] = sdk::Verdict::Yes();
      return;
    }
    if (nodes.empty()) return;
    const Part all = Part::Of(graph, nodes, Part::ReadOutside(graph, nodes));
    if (Keep(nodes, provider_->Ask(all.View())).ok()) return;
    // The whole is not a model that it reads.
    for (const sdk::NodeView& node : nodes) {
      const sdk::Status status = Keep({node}, provider_->Ask(Part::Of(graph, {node}, OutputsOf(node)).View()));
      if (!status.ok()) verdicts_[node.id()] = sdk::Verdict::No(sdk::Reason::kOther, Shortened(status.message()));
    }
  }

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    const auto found = verdicts_.find(node.id());
    if (found == verdicts_.end())
      return sdk::Verdict::No(sdk::Reason::kOther, "it has graphs, texts or tensors without elements");
    if (!found->second.supported()) return found->second;
    if (std::string reason = failed_.ReasonFor(node); !reason.empty())
      return sdk::Verdict::No(sdk::Reason::kOther, Shortened(std::move(reason)));
    return found->second;
  }

  sdk::Result<sdk::PartitionEstimate> Estimate(const sdk::PartitionView& partition) override {
    sdk::PartitionEstimate estimate;
    for (const sdk::NodeView& node : partition.nodes())
      if (std::string reason = failed_.ReasonFor(node); !reason.empty()) {
        estimate.give_back.push_back(node.id());
        estimate.reason = Shortened(std::move(reason));
      }
    if (estimate.give_back.size() == partition.nodes().size())
      return sdk::PartitionEstimate::Infeasible(estimate.reason);
    return estimate;
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    for (const sdk::NodeView& node : partition.nodes()) {
      const sdk::DType asked = partition.PrecisionOf(node.id());
      if (asked == sdk::DType::kUndefined) continue;
      if (asked != (computes_half_ ? sdk::DType::kFloat16 : sdk::DType::kFloat32))
        return sdk::Status(sdk::Code::kNotSupported,
                           std::string("the provider computes floats in ") + (computes_half_ ? "float16" : "float32"),
                           node.id());
    }
    return CompileAndTry(*provider_, partition, host(), tries_, failed_);
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Restore(const sdk::PartitionView& partition, sdk::Blob blob) override {
    return provider_->Restore(partition, std::move(blob));
  }

 private:
  // By the option `provider`, or by the name of the library's file.
  static const KnownProvider* GroupOf(const ProviderSettings& settings) {
    if (const KnownProvider* known = FindKnown(settings.name); known != nullptr) return known;
    std::string file = settings.library.substr(settings.library.rfind('/') + 1);
    for (const KnownProvider& provider : KnownProviders())
      if (file.find(provider.group) != std::string::npos) return &provider;
    return nullptr;
  }

  static std::set<deputy_value_id> OutputsOf(const sdk::NodeView& node) {
    std::set<deputy_value_id> outputs;
    for (size_t i = 0; i < node.output_count(); ++i)
      if (const sdk::ValueView value = node.output(i); value.exists()) outputs.insert(value.id());
    return outputs;
  }

  // Providers end their process on tensors without elements, but for those that Resize has in place of operands that
  // are left out.
  static bool IsWritable(const sdk::NodeView& node) {
    const auto is_writable = [&node](const sdk::ValueView& value) {
      if (!value.exists() || (node.Is("Resize") && value.is_constant())) return true;
      return value.dtype() != sdk::DType::kString && !(value.shape_known() && value.element_count() == 0);
    };
    for (size_t i = 0; i < node.input_count(); ++i)
      if (!is_writable(node.input(i))) return false;
    for (size_t i = 0; i < node.output_count(); ++i)
      if (!is_writable(node.output(i))) return false;
    return !node.has_regions();
  }

  sdk::Status Keep(const std::vector<sdk::NodeView>& nodes, const sdk::Result<std::vector<Answer>>& answers) {
    if (!answers.ok()) return answers.status();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Answer& answer = (*answers)[i];
      verdicts_[nodes[i].id()] =
          answer.is_taken ? sdk::Verdict::Yes() : sdk::Verdict::No(sdk::Reason::kOther, Shortened(answer.reason));
    }
    return {};
  }

  std::shared_ptr<Provider> provider_;
  std::map<deputy_node_id, sdk::Verdict> verdicts_;
  FailedNodes failed_;
  std::string fatal_operator_;
  bool tries_ = false, computes_half_ = false, is_built_in_ = false, keeps_context_ = false;
};

}  // namespace
}  // namespace ort

DEPUTY_EXPORT_DELEGATE(ort::OnnxRuntime, "onnxruntime", "an execution provider of ONNX Runtime, unmodified")
