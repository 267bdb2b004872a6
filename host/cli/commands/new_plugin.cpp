// deputy new-plugin: creates a vendor's project from the SDK's template, ready to build.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/commands/plugin_project.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct NewPluginOptions {
  std::string name, folder;
  std::string language = "c++";
  bool json = false;
};

int RunNewPlugin(const NewPluginOptions& options) {
  const std::string problem = PluginNameProblem(options.name);
  if (!problem.empty()) return FailUsage(fmt::format("'{}': {}", options.name, problem));
  const std::string folder = options.folder.empty() ? options.name : options.folder;
  const PluginLanguage language = options.language == "c" ? PluginLanguage::kC : PluginLanguage::kCxx;
  const Result<size_t> made = MakePluginProject(ShareFolder() / "template", language, options.name, folder);
  if (!made.ok())
    return Fail(made.status().code() == StatusCode::kUnavailable ? Stage::kRun : Stage::kSetup, made.status());
  if (options.json) {
    PrintJson({{"name", options.name}, {"language", options.language}, {"folder", folder}, {"files", *made}});
    return kDone;
  }
  Print(
      "{0}: created a project of {1} files, which supports Relu in float32\n\n"
      "  cd {0}\n"
      "  cmake -S . -B build -DCMAKE_PREFIX_PATH={2}\n"
      "  cmake --build build\n"
      "  ctest --test-dir build --output-on-failure\n"
      "  deputy plugins --why --config configs/{3}.yaml\n\n"
      "README.md describes the files to change.\n",
      folder, *made, ShareFolder().parent_path().parent_path().string(), options.name);
  return kDone;
}

}  // namespace

Command MakeNewPluginCommand(CLI::App& app) {
  auto options = std::make_shared<NewPluginOptions>();
  CLI::App* syntax = app.add_subcommand("new-plugin", "Create a project for a new delegate, ready to build");
  syntax->add_option("name", options->name, "Name of the delegate: lowercase letters, digits and '_'")
      ->required()
      ->type_name("NAME");
  syntax->add_option("--dir", options->folder, "Directory to create [default: NAME]")->type_name("DIR");
  syntax->add_option("--language", options->language, "Language of the sources [default: c++]")
      ->check(CLI::IsMember({"c", "c++"}))
      ->type_name("LANGUAGE");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy new-plugin my_npu");
  return {syntax, [options] { return RunNewPlugin(*options); }};
}

}  // namespace deputy::cli
