// deputy completion: prints the completions of a shell. deputy manual-pages, hidden: writes the manual pages. Both are
// generated from the description of the commands; the build installs them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands/completion_script.hpp"
#include "cli/commands/manual_page.hpp"
#include "cli/exit_code.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/output_file.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

struct CompletionOptions {
  std::string shell, values;
};

// Ids of the delegates in the default folders; none of them is run.
std::set<std::string> DelegateNames() {
  std::set<std::string> names;
  const Result<PluginListing> listing = Context().ListPlugins();
  if (!listing.ok()) return names;
  for (const PluginReport& plugin : listing->plugins)
    for (const PluginDelegateReport& delegate : plugin.delegates) names.insert(delegate.id);
  return names;
}

// Names of configurations that --config accepts besides files.
std::set<std::string> ConfigNames() {
  const std::vector<std::string> shipped = ShippedConfigs();
  return {shipped.begin(), shipped.end()};
}

int RunCompletion(const CLI::App& app, const CompletionOptions& options) {
  if (!options.values.empty()) {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    for (const std::string& name : options.values == "configs" ? ConfigNames() : DelegateNames()) Print("{}\n", name);
    return kDone;
  }
  if (options.shell.empty()) return FailUsage("SHELL is required: bash, zsh or fish; see deputy completion --help");
  const CommandText program = DescribeCommand(app);
  PrintOnStdout(options.shell == "bash"  ? BashCompletion(program)
                : options.shell == "zsh" ? ZshCompletion(program)
                                         : FishCompletion(program));
  return kDone;
}

int RunManualPages(const CLI::App& app, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return FailRun(fmt::format("{}: the directory cannot be created: {}", folder, error.message()));
  const CommandText program = DescribeCommand(app);
  std::vector<std::pair<std::string, std::string>> pages = {{"deputy.1", ManualPage(program)}};
  for (const CommandText& command : program.commands)
    pages.emplace_back("deputy-" + command.name + ".1", ManualPage(program, command));
  for (const auto& [name, text] : pages) {
    const Status status = WriteOutputFile((fs::path(folder) / name).string(), text);
    if (!status.ok()) return Fail(Stage::kRun, status);
  }
  Print("{}: {} pages\n", folder, pages.size());
  return kDone;
}

}  // namespace

Command MakeCompletionCommand(CLI::App& app) {
  auto options = std::make_shared<CompletionOptions>();
  CLI::App* syntax = app.add_subcommand("completion", "Print the completions of this program for a shell");
  syntax->add_option("shell", options->shell, "Shell that reads them")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  // What the completions themselves ask for.
  syntax->add_option("--values", options->values)->check(CLI::IsMember({"configs", "delegates"}))->group("");
  SetExample(*syntax, "deputy completion bash > ~/.local/share/bash-completion/completions/deputy");
  return {syntax, [options, &app] { return RunCompletion(app, *options); }};
}

Command MakeManualPagesCommand(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  CLI::App* syntax = app.add_subcommand("manual-pages", "Write the manual pages of this program into a directory");
  syntax->group("");
  syntax->add_option("dir", *folder, "Directory, created if absent")->required()->type_name("DIR");
  return {syntax, [folder, &app] { return RunManualPages(app, *folder); }};
}

}  // namespace deputy::cli
