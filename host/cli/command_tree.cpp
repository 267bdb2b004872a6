#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>

namespace deputy::cli {
namespace {

// The form of CLI11: the name of the value and the descriptions of its checks, "N:UINT in [1 - 1000]",
// "LANGUAGE:{c,c++}".
void ReadType(const std::string& type, OptionText& text) {
  const size_t colon = std::min(type.find(':'), type.size());
  text.value = type.substr(0, colon);
  const size_t set = type.find('{', colon), range = type.find(" in [", colon);
  if (set != std::string::npos) {
    const size_t end = std::min(type.find('}', set), type.size());
    for (size_t from = set + 1; from < end;) {
      const size_t comma = std::min(type.find(',', from), end);
      text.words.push_back(type.substr(from, comma - from));
      from = comma + 1;
    }
  } else if (range != std::string::npos) {
    const size_t from = range + 5, dash = type.find(" - ", from), end = type.find(']', from);
    if (dash != std::string::npos && end != std::string::npos)
      text.limits = type.substr(from, dash - from) + " to " + type.substr(dash + 3, end - dash - 3);
  }
}

CompletionKind KindOf(const OptionText& text) {
  const auto is_named = [&](const char* name) {
    return std::find(text.names.begin(), text.names.end(), name) != text.names.end();
  };
  if (!text.takes_value()) return CompletionKind::kNone;
  if (!text.words.empty()) return CompletionKind::kWords;
  if (is_named("--config")) return CompletionKind::kConfig;
  if (text.value == "MODEL") return CompletionKind::kModel;
  if (text.value == "NAME=FILE") return CompletionKind::kNamedFile;
  if (text.value == "PLUGIN" || text.value == "[ID]") return CompletionKind::kDelegate;
  if (text.value.substr(0, 3) == "DIR") return CompletionKind::kFolder;
  return text.value == "FILE" ? CompletionKind::kFile : CompletionKind::kNone;
}

OptionText DescribeOption(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_positional()) text.names = {option.get_single_name()};
  text.help = option.get_description();
  text.is_required = option.get_required();
  if (option.get_items_expected_max() > 0) {
    ReadType(option.get_type_name(), text);
    if (text.value.empty()) text.value = "VALUE";
    text.value_is_optional = option.get_items_expected_min() == 0;
    text.may_repeat =
        option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    text.default_value = option.get_default_str();
  }
  text.kind = KindOf(text);
  return text;
}

// "Example:\n  deputy run ...": the indented lines.
std::vector<std::string> ExamplesIn(const std::string& footer) {
  std::vector<std::string> examples;
  for (size_t from = 0; from < footer.size();) {
    const size_t end = std::min(footer.find('\n', from), footer.size());
    if (footer.compare(from, 2, "  ") == 0) examples.push_back(footer.substr(from + 2, end - from - 2));
    from = end + 1;
  }
  return examples;
}

CommandText Describe(const CLI::App& syntax, const std::string& path) {
  CommandText command;
  command.name = syntax.get_name();
  command.path = path;
  command.help = syntax.get_description();
  command.examples = ExamplesIn(syntax.get_footer());
  for (const CLI::Option* option : syntax.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? command.positionals : command.options).push_back(DescribeOption(*option));
  }
  for (const CLI::App* inner : syntax.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); }))
    command.commands.push_back(Describe(*inner, (path.empty() ? "" : path + " ") + inner->get_name()));
  return command;
}

void AddAll(const CommandText& command, std::vector<const CommandText*>& all) {
  all.push_back(&command);
  for (const CommandText& inner : command.commands) AddAll(inner, all);
}

}  // namespace

CommandText DescribeCommand(const CLI::App& syntax) { return Describe(syntax, ""); }

std::vector<const CommandText*> AllCommands(const CommandText& program) {
  std::vector<const CommandText*> all;
  AddAll(program, all);
  return all;
}

}  // namespace deputy::cli
