// deputy config: checks configurations, shows the effective values with their origins, explains keys, writes a first
// file, and prints the schema and the reference.
#include "deputy/config.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/config/config_keys.hpp"
#include "cli/config/config_problems.hpp"
#include "cli/config/config_schema.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/output_file.hpp"
#include "deputy/plugins.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

struct ConfigOptions {
  ContextOptions context;
  std::vector<std::string> files;
  std::string model, key, file = "deputy.yaml", from = "default";
  bool offline = false, strict = false, probe = false, json = false, sarif = false;
};

size_t CountErrors(const ConfigCheck& check) {
  const auto errors = std::count_if(check.problems.begin(), check.problems.end(),
                                    [](const ConfigProblem& problem) { return problem.error; });
  return static_cast<size_t>(errors) + check.unlisted;
}

size_t CountWarnings(const ConfigCheck& check) { return check.problems.size() + check.unlisted - CountErrors(check); }

Json JsonOf(const std::string& name, const ConfigCheck& check) {
  Json problems = Json::array();
  for (const ConfigProblem& problem : check.problems) problems.push_back(ToJson(problem));
  return {{"name", name},
          {"files", check.files},
          {"errors", CountErrors(check)},
          {"warnings", CountWarnings(check)},
          {"problems", std::move(problems)}};
}

void PrintCheck(const std::string& name, const ConfigCheck& check) {
  const Terminal terminal = TerminalOf(stderr);
  for (const ConfigProblem& problem : check.problems) PrintOnStderr(ProblemText(problem, terminal).text());
  std::vector<std::string> counts;
  if (const size_t errors = CountErrors(check); errors > 0) counts.push_back(Plural(errors, "error"));
  if (counts.empty()) counts.emplace_back("ok");
  if (const size_t warnings = CountWarnings(check); warnings > 0) counts.push_back(Plural(warnings, "warning"));
  Print("{}: {}\n", name, Joined(counts));
}

// Each file by itself, over the layers that --config names; without files these layers.
int Check(const ConfigOptions& options) {
  if (const std::string bundle = BundleInUse(!options.context.configs.empty(), options.context.bundle);
      !bundle.empty() && (options.files.empty() || !options.context.bundle.empty()))
    return FailUsage(
        fmt::format("config check reads no bundle: 'deputy bundle verify {0}' checks '{0}'", Printable(bundle)));
  size_t errors = 0, warnings = 0;
  Json checks = Json::array();
  std::vector<ConfigProblem> problems;
  std::vector<std::string> files = options.files;
  if (files.empty()) files.emplace_back();
  for (const std::string& file : files) {
    ConfigSources sources{options.context.configs, options.context.settings};
    if (!file.empty()) sources.files.push_back(file);
    const Result<ConfigCheck> check = CheckConfig(sources, {options.offline, options.model});
    if (!check.ok()) return Fail(Stage::kModel, check.status());
    errors += CountErrors(*check);
    warnings += CountWarnings(*check);
    const std::string name = !file.empty()           ? file
                             : !check->files.empty() ? Joined(check->files)
                                                     : "the built-in defaults";
    if (options.sarif) {
      problems.insert(problems.end(), check->problems.begin(), check->problems.end());
    } else if (options.json) {
      checks.push_back(JsonOf(name, *check));
    } else {
      PrintCheck(name, *check);
    }
  }
  if (options.json) PrintJson({{"configurations", std::move(checks)}, {"errors", errors}, {"warnings", warnings}});
  if (options.sarif) PrintJson(SarifOf(problems));
  if (errors > 0) return kUsage;
  return options.strict && warnings > 0 ? kNo : kDone;
}

int ShowValues(const ConfigOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  Print("{}", Shown::Lines(context->ShowConfig(!options.offline)));
  return kDone;
}

int Explain(const ConfigOptions& options) {
  int exit_status = kDone;
  // A key needs no configuration, which may be the one that is being repaired.
  const std::optional<Context> context = IsOptionPath(options.key) ? options.context.Read(exit_status) : Context();
  if (!context) return exit_status;
  const Result<ExplainedKey> found = ExplainKey(options.key, *context);
  if (!found.ok()) return Fail(Stage::kSetup, found.status());
  const ConfigKey& key = found->key;
  if (options.json) {
    Json keys = Json::array();
    for (const ConfigKey& inner : found->subordinate) keys.push_back(inner.path);
    PrintJson({{"path", key.path},
               {"type", key.type},
               {"unit", found->unit},
               {"default", key.default_value.empty() ? Json() : Json(key.default_value)},
               {"meaning", key.meaning},
               {"example", key.example},
               {"available", key.available},
               {"delegate", found->delegate},
               {"keys", std::move(keys)}});
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  Print("{}\n{}\n", terminal.Paint(Paint::kBold, key.path), Paragraph(terminal, "  ", key.meaning));
  KeyTable details;
  const auto row = [&](const char* title, const std::string& text) {
    if (!text.empty()) details.Add(terminal.Paint(Paint::kDim, title), text);
  };
  row("type", key.type);
  row("unit", found->unit);
  row("default", key.default_value);
  if (!key.example.empty()) row("example", LastPartOf(key.path) + ": " + key.example);
  row("delegate", found->delegate);
  Print("{}", details.Text(terminal, "  "));
  if (found->subordinate.empty()) return kDone;
  Table table({{"key"}, {"meaning", Align::kLeft, Fit::kWrap}});
  for (const ConfigKey& inner : found->subordinate)
    table.AddRow({LastPartOf(inner.path), inner.available ? inner.meaning : inner.meaning + " (" + inner.type + ")"});
  Print("\n{}", table.Text(terminal, "  "));
  return kDone;
}

// A copy of an installed configuration, with its comments. Never replaces a file.
int Init(const ConfigOptions& options) {
  const std::string source = ShippedConfigFile(options.from);
  if (source.empty())
    return FailUsage(fmt::format("--from: the installation has no configuration '{}'{} (installed: {})", options.from,
                                 DidYouMean(options.from, ShippedConfigs()), Joined(ShippedConfigs())));
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(options.file, ignored)))
    return FailUsage(fmt::format("{}: already exists; name another file", options.file));
  std::ifstream stream(source, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream || text.empty()) return FailUsage(fmt::format("{}: cannot be read", source));
  const Status written = WriteOutputFile(options.file, text);
  if (!written.ok()) return Fail(Stage::kRun, written);
  Print("{}: written, a copy of {}\n", options.file, source);
  Print("check it after changes with: deputy config check {}\n", options.file);
  return kDone;
}

int Schema(const ConfigOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  PluginQuery query;
  query.probe_all = options.probe;
  const Result<PluginListing> listing = context->ListPlugins(query);
  if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
  PrintJson(SchemaWithOptions(*listing));
  return kDone;
}

int Reference() {
  Print("{}", Shown::Lines(KeysAsMarkdown()));
  return kDone;
}

}  // namespace

Command MakeConfigCommand(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* syntax = app.add_subcommand("config", "Check, show, explain or begin a configuration; print its schema");
  syntax->require_subcommand(1);
  CLI::App* check = syntax->add_subcommand("check", "Report all problems of configurations at once");
  check
      ->add_option("files", options->files,
                   "Configuration files or names of installed ones, each checked by itself over the layers of --config "
                   "[default: these layers]")
      ->type_name("FILE");
  options->context.AddTo(*check);
  check->add_option("--model", options->model, "Compare the rules with the nodes of this model")->type_name("MODEL");
  check->add_flag("--offline", options->offline, "Check the files only, without running plugins");
  check->add_flag("--strict", options->strict, "Exit status 1 if there are warnings");
  AddJson(*check, options->json);
  check->add_flag("--sarif", options->sarif, "Print the problems as SARIF 2.1.0, for code review services")
      ->excludes(check->get_option("--json"));
  SetExample(*check, "deputy config check npu.yaml --model model.onnx");
  CLI::App* show = syntax->add_subcommand("show", "Print the effective configuration with the origin of every value");
  options->context.AddTo(*show);
  show->add_flag("--offline", options->offline, "Leave out the defaults of plugins, and run none");
  SetExample(*show, "deputy config show --config npu-first --set delegates.npu0.options.frequency=low");
  CLI::App* explain = syntax->add_subcommand("explain", "Explain a key of the configuration or an option of a plugin");
  explain->add_option("key", options->key, "Key, as written for --set")->required()->type_name("KEY");
  options->context.AddTo(*explain);
  AddJson(*explain, options->json);
  SetExample(*explain, "deputy config explain delegates.npu0.options.frequency --config npu-first");
  CLI::App* init = syntax->add_subcommand("init", "Write a first configuration file, with comments");
  init->add_option("file", options->file, "File to write; must not exist")->capture_default_str()->type_name("FILE");
  init->add_option("--from", options->from, "Installed configuration to copy")
      ->capture_default_str()
      ->type_name("NAME");
  SetExample(*init, "deputy config init device.yaml --from npu-first");
  CLI::App* schema = syntax->add_subcommand(
      "schema", "Print the JSON Schema of configuration files, with the options of the configured delegates");
  options->context.AddTo(*schema);
  schema->add_flag("--probe", options->probe, "Include the options of all plugins; runs each in a helper process");
  SetExample(*schema, "deputy config schema --probe > deputy.schema.json");
  CLI::App* reference = syntax->add_subcommand("reference", "Print the reference of all keys in Markdown");
  SetExample(*reference, "deputy config reference > keys.md");
  SetExample(*syntax, "deputy config check npu.yaml");
  return {syntax, [options, check, show, explain, init, schema] {
            return check->parsed()     ? Check(*options)
                   : show->parsed()    ? ShowValues(*options)
                   : explain->parsed() ? Explain(*options)
                   : init->parsed()    ? Init(*options)
                   : schema->parsed()  ? Schema(*options)
                                       : Reference();
          }};
}

}  // namespace deputy::cli
