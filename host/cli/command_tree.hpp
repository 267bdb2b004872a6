// The commands of the program as plain data, read from the description that CLI11 parses by: for shell completions and
// manual pages.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace deputy::cli {

// How a shell completes a value.
enum class CompletionKind { kNone, kWords, kFile, kModel, kConfig, kFolder, kDelegate, kNamedFile };

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of a positional argument one, without dashes
  std::string value;               // "FILE"; empty: the option takes none
  bool value_is_optional = false;
  bool is_required = false, may_repeat = false;
  std::string help, default_value;
  std::string limits;              // "1 to 1000"; empty: any
  std::vector<std::string> words;  // the values that are accepted; empty: others
  CompletionKind kind = CompletionKind::kNone;

  bool takes_value() const { return !value.empty(); }
};

struct CommandText {
  std::string name;
  std::string path;  // "config check"; empty for the program itself
  std::string help;
  std::vector<std::string> examples;  // command lines
  std::vector<OptionText> options, positionals;
  std::vector<CommandText> commands;
};

// Of the program or one of its commands. Hidden commands and options are left out.
CommandText DescribeCommand(const CLI::App& syntax);

// The program and all commands below it, each before its own commands.
std::vector<const CommandText*> AllCommands(const CommandText& program);

}  // namespace deputy::cli
