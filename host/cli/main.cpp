// The program deputy: dispatches to the commands and reports errors in the command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/common_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/messages.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/output_file.hpp"
#include "deputy/printable.hpp"
#include "deputy/process.hpp"
#include "deputy/version.hpp"

namespace deputy::cli {
namespace {

std::vector<std::string> FlagsOf(const CLI::App& syntax) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : syntax.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

// The innermost subcommand on the command line.
CLI::App* Chosen(CLI::App* syntax) {
  const std::vector<CLI::App*> named = syntax->get_subcommands();
  return named.empty() ? syntax : Chosen(named.front());
}

std::vector<std::string> CommandsOf(CLI::App* syntax) {
  std::vector<std::string> names;
  for (const CLI::App* command : syntax->get_subcommands([](CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string FullName(const CLI::App& syntax) {
  const CLI::App* parent = syntax.get_parent();
  return parent == nullptr ? syntax.get_name() : FullName(*parent) + " " + syntax.get_name();
}

// Reports an unknown flag or command first: it may be the cause of an argument that CLI11 misses.
int Explain(CLI::App& app, const CLI::ParseError& error) {
  CLI::App* chosen = Chosen(&app);
  const std::string advice = fmt::format("; see {} --help", FullName(*chosen));
  for (CLI::App* syntax = chosen; syntax != nullptr; syntax = syntax->get_parent()) {
    for (const std::string& extra : syntax->remaining()) {
      if (extra == "--") continue;
      if (extra.size() > 1 && extra[0] == '-')
        return FailUsage(fmt::format("unknown flag '{}'{}{}", extra,
                                     DidYouMean(extra.substr(0, extra.find('=')), FlagsOf(*chosen)), advice));
      const std::vector<std::string> commands = CommandsOf(chosen);
      return FailUsage(fmt::format("{} '{}'{}{}", commands.empty() ? "unexpected argument" : "unknown command", extra,
                                   DidYouMean(extra, commands), advice));
    }
  }
  if (!CommandsOf(chosen).empty()) {
    PrintOnStderr(chosen->help());
    return kUsage;
  }
  return FailUsage(error.what() + advice);
}

// Of a command that opens a configuration.
void WarnOfIgnoredVariable(const CLI::App& command) {
  const auto is_given = [&](const char* name) {
    const CLI::Option* option = command.get_option_no_throw(name);
    return option != nullptr && !option->empty();
  };
  if (command.get_option_no_throw("--set") == nullptr || is_given("--bundle")) return;
  const std::string ignored = IgnoredVariable(is_given("--config") || is_given("files"), "");
  if (!ignored.empty()) PrintMessage(LogLevel::kWarning, "host", ignored);
}

// An empty value is a mistake, such as an unset variable in a script; no option has a use for one.
void RefuseEmptyValues(CLI::App& syntax) {
  for (CLI::Option* option : syntax.get_options())
    if (option->get_items_expected_max() > 0)
      option->check([](const std::string& value) { return std::string(value.empty() ? "must not be empty" : ""); });
  for (CLI::App* command : syntax.get_subcommands([](CLI::App*) { return true; })) RefuseEmptyValues(*command);
}

// "--config=" would take the next argument as its value.
std::string FlagWithoutValue(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 2) == "--" && argument.find('=') == argument.size() - 1)
      return std::string(argument.substr(0, argument.size() - 1));
  }
  return {};
}

int Main(int argc, char** argv) {
  CLI::App app("Run neural networks on the delegates of this device.", "deputy");
  app.set_version_flag("--version", "deputy " DEPUTY_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  std::string exits;
  for (const ExitMeaning& meaning : kExitMeanings)
    exits += fmt::format("{}{} {}",
                         exits.empty()                    ? ""
                         : meaning.code == kPluginTrouble ? ",\n"
                                                          : ", ",
                         static_cast<int>(meaning.code), meaning.text);
  app.footer("Exit status: " + exits + ". Help for a command: deputy COMMAND --help");
  const std::vector<Command> commands = {
      MakeDigitsCommand(app),     MakeRunCommand(app),         MakeProfileCommand(app), MakeBenchCommand(app),
      MakeTuneCommand(app),       MakeVerifyCommand(app),      MakeCompareCommand(app), MakeTestCaseCommand(app),
      MakePartitionCommand(app),  MakeInspectCommand(app),     MakePluginsCommand(app), MakeDevicesCommand(app),
      MakeDoctorCommand(app),     MakeReportCommand(app),      MakeConfigCommand(app),  MakeCacheCommand(app),
      MakeQuarantineCommand(app), MakeBundleCommand(app),      MakeConvertCommand(app), MakeNewPluginCommand(app),
      MakeCompletionCommand(app), MakeManualPagesCommand(app),
  };
  CommonOptions common;
  common.AddTo(app);
  RefuseEmptyValues(app);
  if (const std::string flag = FlagWithoutValue(argc, argv); !flag.empty())
    return FailUsage(fmt::format("{}: must not be empty", flag));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream text;
    const int exit_status = app.exit(wanted, text);
    PrintOnStdout(text.str());
    return exit_status;
  } catch (const CLI::ParseError& error) {
    return Explain(app, error);
  }
  if (const std::string mistake = common.Apply(); !mistake.empty()) return FailUsage(mistake);
  WarnOfIgnoredVariable(*Chosen(&app));
  for (const Command& command : commands)
    if (command.syntax->parsed()) return command.run();
  return kUsage;
}

}  // namespace
}  // namespace deputy::cli

int main(int argc, char** argv) {
  deputy::cli::OpenStandardStreams();
  deputy::cli::MoveOutputAside();
  deputy::RemoveUnfinishedFilesOnSignals();
  std::setlocale(LC_CTYPE, "");  // the terminal's character set; numbers keep their point
  // Output is written before a plugin that is being closed can end the process.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  deputy::ReportFatalSignals();
  deputy::RefuseExit(deputy::cli::kPluginTrouble);
  int exit_status = deputy::cli::kDone;
  try {
    exit_status = deputy::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    exit_status = deputy::cli::FailRun("out of memory");
  } catch (const std::exception& error) {  // lack of threads
    exit_status = deputy::cli::FailRun(error.what());
  }
  exit_status = deputy::cli::FinishOutput(exit_status);
  deputy::AcceptExit();
  return exit_status;
}
