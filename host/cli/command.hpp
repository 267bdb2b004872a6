// A command of the program: a subcommand with its flags, and the function that runs it.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace deputy::cli {

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
Command MakeConvertCommand(CLI::App& app);
Command MakeDigitsCommand(CLI::App& app);
Command MakeBenchCommand(CLI::App& app);
Command MakeInspectCommand(CLI::App& app);
Command MakeNewPluginCommand(CLI::App& app);

// Sets the example at the end of a command's --help.
void SetExample(CLI::App& syntax, const std::string& example);

}  // namespace deputy::cli
