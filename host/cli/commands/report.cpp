// deputy report: one file with all that a bug report needs: the machine, the installation, the configuration, the
// plugins, and of a model its placement, its graph and the messages of a run.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/doctor.hpp"
#include "cli/config/config_problems.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/messages.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/message_log.hpp"
#include "cli/report/run_json.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/inspect.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"

extern char** environ;

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 1;

struct ReportOptions {
  ContextOptions context;
  std::string model, output = "deputy-report.json";
  std::vector<std::string> shapes;
};

std::string TextOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Of the first line that begins with `key`, what follows `separator`.
std::string ValueIn(const fs::path& file, std::string_view key, char separator) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t at = line.find(separator);
    if (line.rfind(key, 0) != 0 || at == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1), end = line.find_last_not_of("\" ");
    return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
  }
  return {};
}

std::string TimeText(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

Json SystemJson() {
  utsname name{};
  uname(&name);
  Json environment = Json::object();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view beginning : {"DEPUTY", "OMP_", "KMP_", "LD_", "DNNL_", "ONEDNN_"})
      if (text.substr(0, beginning.size()) == beginning)
        environment[std::string(text.substr(0, text.find('=')))] =
            text.substr(std::min(text.find('='), text.size() - 1) + 1);
  }
  return {{"system", ValueIn("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", fmt::format("{} {} {}", name.sysname, name.release, name.machine)},
          {"cpu", ValueIn("/proc/cpuinfo", "model name", ':')},
          {"cpus", DescribeInstallation().cpus},
          {"memory", ValueIn("/proc/meminfo", "MemTotal", ':')},
          {"environment", std::move(environment)}};
}

Json ConfigurationJson(const ContextOptions& options, const std::optional<Context>& context) {
  Json json = {{"bundle", BundleInUse(!options.configs.empty(), options.bundle)},
               {"files", Json::array()},
               {"problems", Json::array()},
               {"values", context ? context->ShowConfig() : std::string()}};
  if (json["bundle"] != "") return json;
  const Result<ConfigCheck> check = CheckConfig({options.configs, options.settings});
  if (!check.ok()) return json;
  json["files"] = check->files;
  for (const ConfigProblem& problem : check->problems) json["problems"].push_back(ToJson(problem));
  return json;
}

// What is known of a file that may not be readable as a model.
Json FileJson(const std::string& model) {
  std::error_code error;
  const auto bytes = fs::file_size(model, error);
  Json operators = Json::object(), metadata = Json::object();
  Json json = {{"file", fs::path(model).filename().string()}, {"bytes", error ? Json() : Json(bytes)}};
  const Result<ModelContents> contents = InspectModel(model);
  json["format"] = contents.ok() ? contents->format : "";
  json["problem"] = contents.ok() ? contents->problem : contents.status().ToString();
  if (contents.ok()) {
    for (const auto& [key, value] : contents->metadata) metadata[key] = value;
    for (const InspectedNode& node : contents->nodes) {
      Json& count = operators[fmt::format("{}{}{}-{}", node.domain, node.domain.empty() ? "" : ".", node.op_type,
                                          node.since_version)];
      count = count.is_null() ? 1 : count.get<uint64_t>() + 1;
    }
  }
  json["metadata"] = std::move(metadata);
  json["operators"] = std::move(operators);
  return json;
}

// Loads the model, and runs it once with random inputs. What there is of `json` when it fails stays.
Status RunOnce(const ReportOptions& options, const Context& context, Json& json) {
  Model model;
  DEPUTY_RETURN_IF_ERROR(BuildModel(model, options.model, context, options.shapes));
  DEPUTY_RETURN_IF_ERROR(RequireTensors(model));
  DEPUTY_ASSIGN_OR_RETURN(const BoundInputs bound, BindInputs(model.inputs(), {}, options.shapes, kSeed));
  std::vector<Shape> shapes;
  std::vector<Tensor> inputs, outputs;
  for (const BoundInput& input : bound.inputs) {
    shapes.push_back(input.tensor.shape());
    inputs.push_back(input.tensor);
  }
  json["shapes"] = shapes;
  const Result<PlacementReport> before = model.Placement(shapes);
  DEPUTY_RETURN_IF_ERROR(before.status());
  json["placement"] = ToJson(*before);
  DEPUTY_ASSIGN_OR_RETURN(Session session, model.CreateSession());
  Status ran = session.Predict(inputs, &outputs);
  json["run_ns"] = session.statistics().total_ns;
  if (const Result<PlacementReport> after = session.Placement(); after.ok()) json["placement"] = ToJson(*after);
  for (const Incident& incident : context.Health().incidents) json["incidents"].push_back(ToJson(incident));
  json["degraded"] = context.Health().degraded;
  return ran;
}

// Without a configuration, whose errors are parts of the report, the model is not loaded.
Json ModelJson(const ReportOptions& options, bool has_configuration, MessageLog& log) {
  Json json = FileJson(options.model);
  json["shapes"] = json["placement"] = json["run_ns"] = json["degraded"] = nullptr;
  json["incidents"] = Json::array();
  json["dump"] = Json::object();
  if (!has_configuration) return json;
  const TemporaryFolder scratch("deputy-report");
  ContextOptions with_dump = options.context;
  if (scratch.path().empty()) {
    constexpr std::string_view kNoDump = "no temporary folder can be made: the report has no dump of the model";
    log.Add(LogLevel::kWarning, "host", kNoDump);
    PrintMessage(LogLevel::kWarning, "host", kNoDump);
  } else {
    with_dump.settings.emplace_back("debug.dump=[graph, plan]");
    with_dump.settings.push_back("debug.dump_dir=" + scratch.path().string());
  }
  int exit_status = kDone;
  std::optional<Context> context = with_dump.Read(exit_status);
  if (!context) return json;
  Status status = context->Load();
  if (status.ok()) status = RunOnce(options, *context, json);
  if (!status.ok()) json["problem"] = fmt::format("{}: {}", StatusCodeName(status.code()), status.ToString());
  std::error_code error;
  for (fs::recursive_directory_iterator it(scratch.path(), error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".txt")
      json["dump"][it->path().lexically_relative(scratch.path()).string()] = TextOf(it->path());
  return json;
}

int RunReport(const ReportOptions& options) {
  const auto log = std::make_shared<MessageLog>();
  SetLogSink(
      [log](LogLevel level, std::string_view source, std::string_view message) { log->Add(level, source, message); });
  const InstallationReport installation = DescribeInstallation();
  Json report = {{"version", installation.version},
                 {"plugin_abi", installation.plugin_abi},
                 {"written", TimeText(std::chrono::system_clock::now())}};
  // After each part: one that ends the process leaves the parts before it.
  Status written;
  const auto add = [&](const char* part, Json json) {
    report[part] = std::move(json);
    report["log"] = log->ToJson();
    if (written.ok()) written = WriteOutputFile(options.output, JsonText(report));
  };
  add("machine", SystemJson());
  int ignored = kDone;
  const std::optional<Context> context = options.context.Read(ignored);
  add("configuration", ConfigurationJson(options.context, context));
  if (context) {
    if (const Result<PluginListing> plugins = context->ListPlugins(); plugins.ok()) add("plugins", ToJson(*plugins));
    if (const Result<std::vector<QuarantinedPlugin>> quarantined = context->ListQuarantine(); quarantined.ok())
      add("quarantine", ToJson(*quarantined));
    if (const Result<CacheListing> cache = context->ListCache(false); cache.ok()) add("cache", ToJson(*cache));
  }
  add("checks", ToJson(CheckAll(options.context, context)));
  if (!options.model.empty()) add("model", ModelJson(options, context.has_value(), *log));
  ClearProgress();
  if (!written.ok()) return Fail(Stage::kRun, written);
  Print("{}: written; it has paths, the configuration, and names and shapes of the model, but no weights\n",
        options.output);
  return kDone;
}

}  // namespace

Command MakeReportCommand(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* syntax = app.add_subcommand(
      "report", "Write a file for a bug report: machine, configuration, plugins, and a run of a model");
  AddModel(*syntax, options->model, /*required=*/false);
  options->context.AddTo(*syntax);
  AddShapes(*syntax, options->shapes);
  syntax->add_option("-o,--output", options->output, "File to write")->capture_default_str()->type_name("FILE");
  SetExample(*syntax, "deputy report model.onnx --config npu-first -o report.json");
  return {syntax, [options] { return RunReport(*options); }};
}

}  // namespace deputy::cli
