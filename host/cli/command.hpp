// The commands of the program, the options that they share, and the files installed with the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deputy/context.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace deputy::cli {

struct InputArguments;

// --config or --bundle, and --set: layers over the configuration of this machine and user (deputy/config.hpp), or an
// installed bundle in place of them.
struct ContextOptions {
  std::vector<std::string> configs;  // files, or names of installed configurations
  std::vector<std::string> settings;
  std::string bundle;  // empty: $DEPUTY_BUNDLE

  void AddTo(CLI::App& syntax);
  // Reads and checks the configuration. On an error: prints it, sets the exit status, and returns nothing.
  std::optional<Context> Read(int& exit_status) const;
  // Reads the configuration and opens its delegates.
  std::optional<Context> Open(int& exit_status) const;
};

// An option that may be repeated and takes one value each time.
CLI::Option* AddRepeated(CLI::App& syntax, const std::string& flag, std::vector<std::string>& values,
                         const std::string& form, const std::string& help);

struct Command {
  CLI::App* syntax = nullptr;
  std::function<int()> run;  // returns the exit status
};

// One per file command_<name>.cpp. Each adds its subcommand to `app`.
Command MakeRunCommand(CLI::App& app);
Command MakeTestCaseCommand(CLI::App& app);
Command MakePartitionCommand(CLI::App& app);
Command MakePluginsCommand(CLI::App& app);
Command MakeConfigCommand(CLI::App& app);
Command MakeCacheCommand(CLI::App& app);
Command MakeQuarantineCommand(CLI::App& app);
Command MakeConvertCommand(CLI::App& app);
Command MakeDigitsCommand(CLI::App& app);
Command MakeBenchCommand(CLI::App& app);
Command MakeProfileCommand(CLI::App& app);
Command MakeTuneCommand(CLI::App& app);
Command MakeVerifyCommand(CLI::App& app);
Command MakeCompareCommand(CLI::App& app);
Command MakeInspectCommand(CLI::App& app);
Command MakeNewPluginCommand(CLI::App& app);
Command MakeBundleCommand(CLI::App& app);
Command MakeDevicesCommand(CLI::App& app);
Command MakeDoctorCommand(CLI::App& app);
Command MakeReportCommand(CLI::App& app);
// After all others, which they describe.
Command MakeCompletionCommand(CLI::App& app);
Command MakeManualPagesCommand(CLI::App& app);

// The bundle of --bundle or, without --config, of $DEPUTY_BUNDLE; empty: none.
std::string BundleInUse(bool has_config, const std::string& bundle);
// A message where $DEPUTY_BUNDLE has no effect because a configuration is given, or $DEPUTY_CONFIG because of
// $DEPUTY_BUNDLE; else empty.
std::string IgnoredVariable(bool has_config, const std::string& bundle);

// Options that several commands share.
// A model of the bundle in use is named by its file name there; its only one need not be named. Not `required`: it may
// be left out without a bundle, too.
void AddModel(CLI::App& syntax, std::string& model, bool required = true);
void AddInputs(CLI::App& syntax, InputArguments& inputs, uint64_t& seed);
void AddShapes(CLI::App& syntax, std::vector<std::string>& shapes);
void AddSettings(CLI::App& syntax, std::vector<std::string>& settings);
void AddRuns(CLI::App& syntax, uint32_t& runs);
void AddTop(CLI::App& syntax, size_t& top);
void AddTimeout(CLI::App& syntax, std::string& timeout);
void AddJson(CLI::App& syntax, bool& json);

// Sets the example at the end of a command's --help.
void SetExample(CLI::App& syntax, const std::string& example);

// <prefix>/share/deputy of the running program; empty if the system does not report the program's path.
std::filesystem::path ShareFolder();

}  // namespace deputy::cli
