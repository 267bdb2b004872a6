// deputy doctor: checks the installation, the configuration and the machine, with advice.
#include "cli/commands/doctor.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct DoctorOptions {
  ContextOptions context;
  bool json = false;
};

const char* NameOf(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kWarning: return "warning";
    case Health::kFailed: return "failed";
  }
  return "";
}

void PrintChecks(const HealthChecks& checks, const Terminal& terminal) {
  Table table({{""}, {"", Align::kLeft, Fit::kWrap}});
  for (const HealthCheck& check : checks) {
    const Paint paint = check.health == Health::kOk       ? Paint::kGood
                        : check.health == Health::kFailed ? Paint::kBad
                                                          : Paint::kBold;
    table.AddRow({terminal.Paint(paint, NameOf(check.health)), Show("{}: {}", check.subject, check.detail)});
    if (!check.advice.empty()) table.AddRow({"", check.advice});
  }
  Print("{}", table.Text(terminal, ""));
}

// Checks of the delegates need a configuration without errors.
void CheckConfigured(const ContextOptions& options, const std::optional<Context>& context, HealthChecks& checks) {
  const bool has_config = !options.configs.empty();
  const std::string bundle = BundleInUse(has_config, options.bundle);
  if (!context) {
    const std::string lists = bundle.empty() ? "config check" : "bundle verify " + bundle;
    checks.push_back({"configuration", Health::kFailed, fmt::format("has errors; 'deputy {}' lists them", lists),
                      "correct them; the other checks need it"});
    return;
  }
  std::string files = bundle.empty() ? "" : "the bundle " + bundle;
  if (bundle.empty()) {
    const Result<ConfigCheck> read = CheckConfig({options.configs, options.settings}, {true, ""});
    if (read.ok()) files = Joined(read->files);
  }
  checks.push_back({"configuration", Health::kOk, files.empty() ? "the built-in defaults" : files, ""});
  const Result<PluginListing> plugins = context->ListPlugins();
  if (!plugins.ok()) {
    checks.push_back({"plugins", Health::kFailed, plugins.status().ToString(), ""});
    return;
  }
  CheckPlugins(*plugins, checks);
  if (const Result<std::vector<QuarantinedPlugin>> quarantined = context->ListQuarantine(); quarantined.ok())
    CheckQuarantine(*quarantined, checks);
  CheckRuntimes(*plugins, checks);
  CheckEnvironment(*plugins, IgnoredVariable(has_config, options.bundle), checks);
  CheckDelegates(*context, *plugins, checks);
  CheckCache(*context, checks);
}

int RunDoctor(const DoctorOptions& options) {
  // What the host logs is among the checks.
  SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  const InstallationReport installation = DescribeInstallation();
  int ignored = kDone;
  const HealthChecks checks = CheckAll(options.context, options.context.Read(ignored));
  const auto count = [&](Health health) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const HealthCheck& check) { return check.health == health; });
  };
  if (options.json) {
    PrintJson({{"version", installation.version},
               {"plugin_abi", installation.plugin_abi},
               {"checks", ToJson(checks)},
               {"warnings", count(Health::kWarning)},
               {"failed", count(Health::kFailed)}});
  } else {
    PrintChecks(checks, TerminalOf(stdout));
    Print("\n{} ok, {} with a warning, {} failed\n", count(Health::kOk), count(Health::kWarning),
          count(Health::kFailed));
  }
  return count(Health::kFailed) == 0 ? kDone : kNo;
}

}  // namespace

HealthChecks CheckAll(const ContextOptions& options, const std::optional<Context>& context) {
  HealthChecks checks;
  const InstallationReport installation = DescribeInstallation();
  CheckInstallation(installation, checks);
  CheckMachine(installation, checks);
  CheckConfigured(options, context, checks);
  return checks;
}

Json ToJson(const HealthChecks& checks) {
  Json rows = Json::array();
  for (const HealthCheck& check : checks)
    rows.push_back({{"subject", check.subject},
                    {"state", NameOf(check.health)},
                    {"detail", check.detail},
                    {"advice", check.advice}});
  return rows;
}

Command MakeDoctorCommand(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* syntax = app.add_subcommand("doctor", "Check the installation, the configuration and this machine");
  options->context.AddTo(*syntax);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy doctor --config npu-first");
  return {syntax, [options] { return RunDoctor(*options); }};
}

}  // namespace deputy::cli
