// The plugin in the real host, through the installed library: found and accepted, its options checked against its
// published schema, and models run with it.
#include <filesystem>

#include "case_run.hpp"
#include "onnx_model.hpp"
#include "plugin_host.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

namespace fs = std::filesystem;

// The scan's report about the plugin; nothing after a failure has been recorded.
std::optional<PluginReport> Scanned(TestRun& run, const PluginFolder& folder) {
  const Result<::deputy::Context> context = ContextFor(folder, "", {});
  if (!context.ok()) {
    run.Failed("", context.status().ToString());
    return std::nullopt;
  }
  const Result<PluginListing> listing = context.value().ListPlugins({{}, true});
  if (!listing.ok()) {
    run.Failed("", listing.status().ToString());
    return std::nullopt;
  }
  const std::string name = fs::path(run.settings().plugin).filename().string();
  for (const PluginReport& plugin : listing.value().plugins) {
    if (fs::path(plugin.file).filename() != name) continue;
    if (plugin.accepted) return plugin;
    run.Failed("", "the host refuses the plugin (" + plugin.rule + "): " + plugin.reason);
    return std::nullopt;
  }
  run.Failed("", "the host does not see the file");
  return std::nullopt;
}

const PluginDelegateReport* Chosen(TestRun& run, const PluginReport& plugin) {
  for (const PluginDelegateReport& delegate : plugin.delegates) {
    if (!run.settings().delegate.empty() && delegate.id != run.settings().delegate) continue;
    if (delegate.available) return &delegate;
    run.Unavailable("the probe says that the delegate cannot run here: " + delegate.unavailable);
    return nullptr;
  }
  run.Failed("", "the host lists no such delegate");
  return nullptr;
}

void CheckScan(TestRun& run) {
  const PluginFolder folder(run.settings().plugin);
  if (const std::optional<PluginReport> plugin = Scanned(run, folder)) (void)Chosen(run, *plugin);
}

void CheckRefusals(TestRun& run) {
  const PluginFolder folder(run.settings().plugin);
  const std::optional<PluginReport> plugin = Scanned(run, folder);
  if (!plugin) return;
  const PluginDelegateReport* delegate = Chosen(run, *plugin);
  if (delegate == nullptr) return;
  std::vector<std::pair<std::string, std::string>> wrong = {{"no_such_option", "1"}};
  for (const OptionReport& option : delegate->options) {
    if (option.type == "bool") wrong.emplace_back(option.name, "maybe");
    if (option.type == "enum") wrong.emplace_back(option.name, "no_such_choice");
    if (option.type == "int" && option.int_minimum < option.int_maximum) {
      if (option.int_maximum < INT64_MAX) wrong.emplace_back(option.name, std::to_string(option.int_maximum + 1));
      if (option.int_minimum > INT64_MIN) wrong.emplace_back(option.name, std::to_string(option.int_minimum - 1));
    }
    if (option.type != "float") continue;
    if (option.maximum < 1e15)
      wrong.emplace_back(option.name, std::to_string(static_cast<int64_t>(option.maximum) + 1));
    if (option.minimum > -1e15)
      wrong.emplace_back(option.name, std::to_string(static_cast<int64_t>(option.minimum) - 1));
  }
  for (const auto& [name, value] : wrong) {
    Result<::deputy::Context> context = ContextFor(folder, delegate->id, {{name, value}});
    const Status status = context.ok() ? context.value().Load() : context.status();
    const std::string subject = name + "=" + value;
    if (status.ok())
      run.Failed(subject, "the host opened the delegate with a value that its schema forbids");
    else
      run.Passed(subject);
  }
}

void CheckModels(TestRun& run, const std::vector<Case>& cases) {
  const PluginFolder folder(run.settings().plugin);
  const std::optional<PluginReport> plugin = Scanned(run, folder);
  if (!plugin) return;
  const PluginDelegateReport* delegate = Chosen(run, *plugin);
  if (delegate == nullptr) return;
  Result<::deputy::Context> context = ContextFor(folder, delegate->id, run.settings().options);
  if (!context.ok()) return run.Failed("", context.status().ToString());
  if (const Status status = context.value().Load(); !status.ok()) return run.Failed("", status.ToString());
  std::string last;
  size_t placed = 0;
  for (const Case& tested : cases) {
    if (tested.node.name() == last || tested.label != "plain") continue;
    last = tested.node.name();
    const CaseGraph shown(tested);
    if (shown.expected.empty()) continue;
    const std::vector<uint8_t> bytes = OnnxModel(tested, shown.expected);
    Model model;
    if (!model.Build(bytes.data(), bytes.size(), ModelType::kOnnx, context.value()).ok()) continue;  // not the plugin's
    Result<Session> session = model.CreateSession();
    if (!session.ok()) {
      run.Failed(tested.name(), session.status().ToString());
      continue;
    }
    std::vector<::deputy::Tensor> inputs, outputs;
    std::vector<std::vector<uint8_t>> kept;
    for (const Tensor& input : shown.inputs) {
      kept.push_back(reference::Encode(input));
      Result<::deputy::Tensor> wrapped =
          ::deputy::Tensor::Wrap(static_cast<DType>(input.dtype), input.dims, kept.back().data(), kept.back().size());
      if (wrapped.ok()) inputs.push_back(wrapped.value());
    }
    const Status status = session.value().Predict(inputs, &outputs);
    if (!status.ok() || outputs.size() != shown.expected.size()) {
      run.Failed(tested.name(), "the model does not run: " + status.ToString());
      continue;
    }
    const Result<PlacementReport> placement = session.value().Placement();
    const bool taken =
        placement.ok() && !placement.value().delegates.empty() && placement.value().delegates[0].nodes != 0;
    if (!taken) continue;
    ++placed;
    const ::deputy::Tensor& output = outputs[0];
    const Tensor got =
        reference::Decode(shown.expected[0].dtype, shown.expected[0].dims, static_cast<const uint8_t*>(output.data()));
    const std::string wrong =
        Difference(got, shown.expected[0], ToleranceOf(tested, shown.expected[0].dtype, run.settings().computes_in));
    if (wrong.empty())
      run.Passed(tested.name());
    else
      run.Failed(tested.name(), "in a model: " + wrong);
  }
  if (placed == 0) run.Skipped("it takes no node of a model of one node");
}

}  // namespace

std::vector<Test> HostTests(const std::vector<Case>& cases) {
  return {{"host.scan", CheckScan}, {"host.options", CheckRefusals}, {"host.models", With(CheckModels, cases)}};
}

}  // namespace deputy::conformance
