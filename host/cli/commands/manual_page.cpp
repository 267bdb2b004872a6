#include "cli/commands/manual_page.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "cli/exit_code.hpp"
#include "deputy/version.hpp"

namespace deputy::cli {
namespace {

struct Entry {
  const char* name;
  const char* meaning;
};

constexpr Entry kEnvironment[] = {
    {"DEPUTY_CHECK", "1: compare every call of a plugin with its contract, as debug: {check: true} does."},
    {"DEPUTY_BUNDLE", "The bundle that is used where neither --bundle nor --config is given."},
    {"DEPUTY_BUNDLES", "The folder of installed bundles."},
    {"DEPUTY_CONFIG", "A configuration, file or name, over those of the system and the user."},
    {"DEPUTY_SYSTEM_CONFIG", "The system's configuration in the place of /etc/deputy/deputy.yaml; empty: none."},
    {"NO_COLOR", "Not empty: no colours, also on a terminal."},
    {"XDG_CONFIG_HOME", "deputy/deputy.yaml in it is the user's configuration; without the variable, .config in HOME."},
    {"XDG_CACHE_HOME", "The cache is the folder deputy in it; without the variable, .cache/deputy in HOME."},
};

constexpr Entry kFiles[] = {
    {"share/deputy/configs/", "Configurations that are shipped."},
    {"share/deputy/conf.d/", "Drop-ins of packages; a file of the same name in /etc/deputy/conf.d replaces one."},
    {"lib/deputy/plugins/", "Plugins: $deputy/plugins in a configuration."},
    {"lib/deputy/deputy-worker", "The helper program that runs plugins first."},
    {"/etc/deputy/deputy.yaml, /etc/deputy/conf.d/*.yaml", "The system's configuration."},
    {"~/.config/deputy/deputy.yaml, ~/.config/deputy/conf.d/*.yaml", "The user's configuration."},
    {"~/.cache/deputy/", "What is kept between runs; deputy cache ls lists it."},
};

// Text of roff: no request begins in it, and "-" stays the character of the keyboard.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\n') {
      escaped += ' ';
    } else {
      if ((c == '.' || c == '\'') && escaped.empty()) escaped += "\\&";
      escaped += c;
    }
  }
  return escaped;
}

std::string Bold(std::string_view text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Roff(text) + "\\fR"; }

std::string Sentence(std::string text) {
  if (!text.empty() && text.back() != '.' && text.back() != ']') text += '.';
  return text;
}

std::string Heading(std::string_view title) { return fmt::format(".SH {}\n", title); }

std::string PageName(const CommandText& command) { return "deputy-" + command.name; }

std::string Title(std::string name) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  // Without a date: the same sources make the same page.
  return fmt::format(".TH \"{}\" 1 \"\" \"deputy {}\" \"Deputy\"\n", Roff(upper), DEPUTY_VERSION);
}

std::string Synopsis(const CommandText& command) {
  std::string line = Bold("deputy" + (command.path.empty() ? "" : " " + command.path));
  if (!command.commands.empty()) return line + " " + Italic("COMMAND") + " [" + Italic("OPTION") + "...]\n";
  for (const OptionText& positional : command.positionals) {
    const std::string name = Italic(positional.value) + (positional.may_repeat ? "..." : "");
    line += positional.is_required ? " " + name : " [" + name + "]";
  }
  return line + " [" + Italic("OPTION") + "...]\n";
}

std::string OptionEntry(const OptionText& option, bool is_positional) {
  std::string head;
  for (const std::string& name : option.names) {
    if (is_positional) break;
    head += (head.empty() ? "" : ", ") + Bold(name);
  }
  if (option.takes_value()) head += (head.empty() ? "" : " ") + Italic(option.value);
  std::string text = Sentence(option.help);
  if (option.is_required && !is_positional) text += " Required.";
  if (!option.words.empty()) {
    text += " One of:";
    for (const std::string& word : option.words) text += " " + word + (&word == &option.words.back() ? "." : ",");
  }
  if (!option.limits.empty()) text += " From " + option.limits + ".";
  if (!option.default_value.empty()) text += " Default: " + option.default_value + ".";
  return fmt::format(".TP\n{}\n{}\n", head, Roff(text));
}

std::string Options(const CommandText& command) {
  std::string text;
  for (const OptionText& positional : command.positionals) text += OptionEntry(positional, true);
  for (const OptionText& option : command.options) text += OptionEntry(option, false);
  return text;
}

std::string Examples(const CommandText& command) {
  if (command.examples.empty()) return "";
  std::string text = Heading("EXAMPLES") + ".EX\n";
  for (const std::string& example : command.examples) text += Roff(example) + "\n";
  for (const CommandText& inner : command.commands)
    for (const std::string& example : inner.examples)
      if (std::string_view(text).find(Roff(example)) == std::string_view::npos) text += Roff(example) + "\n";
  return text + ".EE\n";
}

std::string ExitStatus() {
  std::string text = Heading("EXIT STATUS");
  for (const ExitMeaning& meaning : kExitMeanings)
    text += fmt::format(".TP\n{}\n{}\n", Bold(std::to_string(meaning.code)), Roff(Sentence(meaning.text)));
  return text;
}

template <size_t count>
std::string ListOf(const char* title, const Entry (&entries)[count]) {
  std::string text = Heading(title);
  for (const Entry& entry : entries)
    text += fmt::format(".TP\n{}\n{}\n", Bold(entry.name), Roff(Sentence(entry.meaning)));
  return text;
}

}  // namespace

std::string ManualPage(const CommandText& program) {
  std::string text = Title("deputy");
  text += Heading("NAME") + fmt::format("deputy \\- {}\n", Roff(program.help));
  text += Heading("SYNOPSIS") + Synopsis(program);
  text += Heading("DESCRIPTION") +
          "Deputy runs a neural network on the hardware that a device has. A delegate is a backend in a plugin, a\n"
          "shared object; a configuration names the delegates in their order and sets their options. Each delegate\n"
          "runs the nodes of the model that it supports; the CPU runs all others.\n.PP\n"
          "Results go to standard output, errors and warnings to standard error. With\n" +
          Bold("--json") + ", where a command has it, standard output holds one JSON object.\n";
  text += Heading("COMMANDS");
  for (const CommandText& command : program.commands)
    text += fmt::format(".TP\n{}\n{} See {}(1).\n", Bold(command.name), Roff(Sentence(command.help)),
                        Bold(PageName(command)));
  text += Heading("OPTIONS") + Options(program) + ExitStatus();
  text += ListOf("ENVIRONMENT", kEnvironment);
  text += Heading("FILES") + "Relative paths are relative to the folder that Deputy is installed in.\n";
  for (const Entry& entry : kFiles)
    text += fmt::format(".TP\n{}\n{}\n", Italic(entry.name), Roff(Sentence(entry.meaning)));
  text += Heading("SEE ALSO");
  for (const CommandText& command : program.commands)
    text += fmt::format("{}{}(1)", &command == &program.commands.front() ? "" : ",\n", Bold(PageName(command)));
  return text + "\n";
}

std::string ManualPage(const CommandText& program, const CommandText& command) {
  std::string text = Title(PageName(command));
  text += Heading("NAME") + fmt::format("{} \\- {}\n", Roff(PageName(command)), Roff(command.help));
  text += Heading("SYNOPSIS") + Synopsis(command);
  text += Heading("DESCRIPTION") + Roff(Sentence(command.help)) + "\n";
  if (!command.commands.empty()) {
    text += Heading("COMMANDS");
    for (const CommandText& inner : command.commands)
      text += fmt::format(".SS deputy {}\n{}.PP\n{}\n{}", Roff(inner.path), Synopsis(inner), Roff(Sentence(inner.help)),
                          Options(inner));
  }
  text += Heading("OPTIONS") + Options(command) + Examples(command) + ExitStatus();
  text += ListOf("ENVIRONMENT", kEnvironment);
  text += Heading("SEE ALSO") + Bold("deputy") + "(1)";
  for (const CommandText& other : program.commands)
    if (&other != &command) text += fmt::format(",\n{}(1)", Bold(PageName(other)));
  return text + "\n";
}

}  // namespace deputy::cli
