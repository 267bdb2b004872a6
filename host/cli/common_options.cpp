#include "cli/common_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/messages.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {

// Each has its own copy of the options, for its help; callbacks, so that one that is not given changes nothing.
void CommonOptions::AddTo(CLI::App& app) {
  const char* const group = "Common options";
  app.add_flag_callback(
         "-q,--quiet", [this] { quiet_ = true; }, "Print errors and results only")
      ->group(group);
  app.add_flag_callback(
         "-v,--verbose", [this] { verbose_ = true; }, "Print the stages of loading and the whole log")
      ->group(group);
  app.add_option_function<std::string>(
         "--color", [this](const std::string& colour) { colour_ = colour; },
         "Colours: on a terminal, always or never [default: auto]")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->group(group);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) AddTo(*command);
}

std::string CommonOptions::Apply() const {
  SetColours(colour_ == "always" ? Colours::kAlways : colour_ == "never" ? Colours::kNever : Colours::kAuto);
  SetVerbosity(verbose_ ? Verbosity::kVerbose : quiet_ ? Verbosity::kQuiet : Verbosity::kNormal);
  return quiet_ && verbose_ ? "--quiet and --verbose exclude each other" : "";
}

}  // namespace deputy::cli
