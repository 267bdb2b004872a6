#include "cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "deputy/bundle.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

// Empty also in a program with more rights than its caller.
std::string VariableOf(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

// The path of a model in the bundle; `model` itself if the bundle does not have it, or cannot be found, which is
// reported when it is opened.
std::string ModelInBundle(const std::string& bundle, const std::string& model) {
  const Result<InstalledBundle> found = FindBundle(bundle);
  if (!found.ok() || model.find('/') != std::string::npos) return model;
  const std::filesystem::path folder = std::filesystem::path(found->folder) / "models";
  std::error_code error;
  if (!model.empty())
    return std::filesystem::is_regular_file(folder / model, error) ? (folder / model).string() : model;
  std::vector<std::string> models;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() != ".yaml") models.push_back(it->path().string());  // a placement file of one
  return models.size() == 1 ? models.front() : model;
}

}  // namespace

CLI::Option* AddRepeated(CLI::App& syntax, const std::string& flag, std::vector<std::string>& values,
                         const std::string& form, const std::string& help) {
  return syntax.add_option(flag, values, help + "; repeatable")
      ->type_name(form)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void ContextOptions::AddTo(CLI::App& syntax) {
  CLI::Option* files =
      AddRepeated(syntax, "--config", configs, "FILE",
                  "Configuration file or name of a shipped one, such as npu-first: a layer over the earlier ones "
                  "[default: the shipped one named default]");
  syntax.add_option("--bundle", bundle, "Installed bundle in place of all configurations [default: $DEPUTY_BUNDLE]")
      ->type_name("NAME")
      ->excludes(files);
  AddSettings(syntax, settings);
}

std::optional<Context> ContextOptions::Read(int& exit_status) const {
  std::vector<std::string> all = settings;
  if (TheVerbosity() == Verbosity::kVerbose) all.emplace_back("log.level=debug");
  const std::string used = BundleInUse(!configs.empty(), bundle);
  Result<Context> context = used.empty() ? Context::FromLayers({configs, all}) : Context::FromBundle(used, all);
  const Status status = context.ok() ? context->Check() : context.status();
  if (status.ok()) {
    context->SetProgress(ReportProgress);
    return std::move(context).value();
  }
  exit_status = Fail(Stage::kSetup, status);
  return std::nullopt;
}

std::optional<Context> ContextOptions::Open(int& exit_status) const {
  std::optional<Context> context = Read(exit_status);
  if (!context) return std::nullopt;
  const Status loaded = context->Load();
  if (loaded.ok()) return context;
  exit_status = Fail(Stage::kDelegates, loaded);
  return std::nullopt;
}

std::string BundleInUse(bool has_config, const std::string& bundle) {
  return !has_config && bundle.empty() ? VariableOf("DEPUTY_BUNDLE") : bundle;
}

std::string IgnoredVariable(bool has_config, const std::string& bundle) {
  const std::string of_bundle = VariableOf("DEPUTY_BUNDLE"), of_config = VariableOf("DEPUTY_CONFIG");
  if (of_bundle.empty() || !bundle.empty()) return {};
  if (has_config)
    return fmt::format("DEPUTY_BUNDLE={} is not used: a configuration is given in its place", Printable(of_bundle));
  if (of_config.empty()) return {};
  return fmt::format("DEPUTY_CONFIG={} is not used: DEPUTY_BUNDLE={} takes the place of all configurations",
                     Printable(of_config), Printable(of_bundle));
}

void AddModel(CLI::App& syntax, std::string& model, bool required) {
  CLI::Option* option =
      syntax.add_option("model", model, "Model file (.onnx, .tflite or .dpm)")->required(required)->type_name("MODEL");
  syntax.preparse_callback([&syntax, option](size_t) {
    if (syntax.get_option_no_throw("--bundle") != nullptr) option->required(false);
  });
  syntax.parse_complete_callback([&syntax, &model, required] {
    const auto value = [&](const char* name) {
      const CLI::Option* given = syntax.get_option_no_throw(name);
      return given == nullptr || given->empty() ? std::string() : given->results().front();
    };
    const bool uses = syntax.get_option_no_throw("--bundle") != nullptr;
    const std::string bundle = uses ? BundleInUse(!value("--config").empty(), value("--bundle")) : "";
    if (!bundle.empty()) model = ModelInBundle(bundle, model);
    // A bundle that is not found is reported when it is opened.
    if (required && model.empty() && (bundle.empty() || FindBundle(bundle).ok())) throw CLI::RequiredError("model");
  });
}

void AddInputs(CLI::App& syntax, InputArguments& inputs, uint64_t& seed) {
  inputs.AddTo(syntax);
  syntax.add_option("--seed", seed, "Random seed")->capture_default_str()->type_name("N");
}

void AddShapes(CLI::App& syntax, std::vector<std::string>& shapes) {
  AddRepeated(syntax, "--shape", shapes, "NAME=1x3x224x224",
              "Input shape, also another one than the model's file fixes [default: 1 for a dynamic leading dimension]");
}

void AddSettings(CLI::App& syntax, std::vector<std::string>& settings) {
  AddRepeated(syntax, "--set", settings, "PATH=VALUE",
              "Override a value of the configuration, e.g. delegates.npu0.options.frequency=low");
}

void AddRuns(CLI::App& syntax, uint32_t& runs) {
  syntax.add_option("--runs", runs, "Timed runs")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1000000U))
      ->type_name("N");
}

void AddTimeout(CLI::App& syntax, std::string& timeout) {
  syntax
      .add_option("--timeout", timeout,
                  "Time limit of a run; exit status 5 when it is exceeded [default: limits.timeout of the "
                  "configuration]")
      ->type_name("500ms");
}

void AddTop(CLI::App& syntax, size_t& top) {
  syntax.add_option("--top", top, "Number of rows that a sorted table shows; 0: all")
      ->capture_default_str()
      ->type_name("N");
}

void AddJson(CLI::App& syntax, bool& json) { syntax.add_flag("--json", json, "Print JSON"); }

void SetExample(CLI::App& syntax, const std::string& example) { syntax.footer("Example:\n  " + example); }

std::filesystem::path ShareFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path().parent_path() / "share" / "deputy";
}

}  // namespace deputy::cli
