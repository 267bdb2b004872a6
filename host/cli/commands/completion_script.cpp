#include "cli/commands/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

namespace deputy::cli {
namespace {

// The endings of files, one list for all shells.
constexpr std::string_view kModelEndings[] = {"onnx", "tflite", "dpm"};
constexpr std::string_view kConfigEndings[] = {"yaml", "yml"};

// Inside single quotes of a POSIX shell; fish's differ, see below.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Replaced(std::string_view text, std::string_view characters) {
  std::string escaped;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string NameOf(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::kNone: return "none";
    case CompletionKind::kWords: return "words";
    case CompletionKind::kFile: return "file";
    case CompletionKind::kModel: return "model";
    case CompletionKind::kConfig: return "config";
    case CompletionKind::kFolder: return "folder";
    case CompletionKind::kDelegate: return "delegate";
    case CompletionKind::kNamedFile: return "named_file";
  }
  return "none";
}

std::vector<std::string> NamesOf(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> InnerNames(const CommandText& command) {
  std::vector<std::string> names;
  for (const CommandText& inner : command.commands) names.push_back(inner.name);
  return names;
}

// A function name of zsh for a command: "_deputy__config__check".
std::string ZshFunction(const CommandText& command) {
  std::string name = "_deputy";
  if (!command.path.empty()) name += "__" + command.path;
  for (size_t at; (at = name.find(' ')) != std::string::npos;) name.replace(at, 1, "__");
  return name;
}

std::string ZshAction(const OptionText& option) {
  switch (option.kind) {
    case CompletionKind::kWords:
      return fmt::format("({})", Replaced(fmt::format("{}", fmt::join(option.words, " ")), ":"));
    case CompletionKind::kFile: return "_files";
    case CompletionKind::kModel: return fmt::format("_files -g \"*.({})(-.)\"", fmt::join(kModelEndings, "|"));
    case CompletionKind::kConfig: return "_deputy_configs";
    case CompletionKind::kFolder: return "_files -/";
    case CompletionKind::kDelegate: return "_deputy_delegates";
    case CompletionKind::kNamedFile: return "_deputy_named_file";
    case CompletionKind::kNone: break;
  }
  return " ";  // only the name of the value is shown
}

// "(-o --output)'{-o+,--output=}'[help]:FILE:_files" without the outer quotes, which are closed around the braces.
std::string ZshOption(const OptionText& option) {
  std::vector<std::string> forms;
  for (const std::string& name : option.names) {
    const bool is_long = name.compare(0, 2, "--") == 0;
    const char* const mark = !option.takes_value() ? "" : option.value_is_optional ? "=-" : is_long ? "=" : "+";
    forms.push_back(name + mark);
  }
  std::string rest = "[" + Replaced(option.help, "[]\\") + "]";
  if (option.takes_value())
    rest += fmt::format("{}{}:{}", option.value_is_optional ? "::" : ":", Replaced(option.value, ":[]\\"),
                        ZshAction(option));
  const bool ends = option.names.back() == "--help" || option.names.back() == "--version";
  const std::string excluded = ends                ? "(- : *)"
                               : option.may_repeat ? "*"
                                                   : fmt::format("({})", fmt::join(option.names, " "));
  if (forms.size() == 1) return Quoted(excluded + forms.front() + rest);
  return fmt::format("{}{{{}}}{}", Quoted(excluded), fmt::join(forms, ","), Quoted(rest));
}

std::string ZshPositional(const OptionText& option) {
  const char* const mark = option.may_repeat ? "*:" : option.is_required ? ":" : "::";
  return Quoted(fmt::format("{}{}:{}", mark, Replaced(option.value, ":\\"), ZshAction(option)));
}

std::string FishQuoted(std::string_view text) { return "'" + Replaced(text, "'\\") + "'"; }

std::string FishValues(const OptionText& option) {
  switch (option.kind) {
    case CompletionKind::kWords:
      return fmt::format("-x -a {}", FishQuoted(fmt::format("{}", fmt::join(option.words, " "))));
    case CompletionKind::kFile: return "-r -F";
    case CompletionKind::kModel: return fmt::format("-x -a '(__deputy_files {})'", fmt::join(kModelEndings, " "));
    case CompletionKind::kConfig:
      return fmt::format("-x -a '(__deputy_values configs; __deputy_files {})'", fmt::join(kConfigEndings, " "));
    case CompletionKind::kFolder: return "-x -a '(__deputy_files)'";
    case CompletionKind::kDelegate: return "-x -a '(__deputy_values delegates)'";
    case CompletionKind::kNamedFile: return "-x -a '(__deputy_named_files)'";
    case CompletionKind::kNone: break;
  }
  return "-x";
}

constexpr std::string_view kBashFunctions = R"script(
# Files and folders; $1: endings, empty for all files, "/" for folders alone; $2: the word so far.
_deputy_files() {
  local ending found
  if [[ -z $1 ]]; then
    mapfile -t found < <(compgen -f -- "$2")
    COMPREPLY+=("${found[@]}")
  else
    mapfile -t found < <(compgen -d -- "$2")
    COMPREPLY+=("${found[@]}")
    [[ $1 == / ]] || for ending in $1; do
      mapfile -t found < <(compgen -f -X "!*.$ending" -- "$2")
      COMPREPLY+=("${found[@]}")
    done
  fi
  compopt -o filenames 2>/dev/null
}

# Names that the program knows; $1: their kind, $2: the word so far.
_deputy_names() {
  local found
  mapfile -t found < <(compgen -W "$("${COMP_WORDS[0]}" completion --values "$1" 2>/dev/null)" -- "$2")
  COMPREPLY+=("${found[@]}")
}

# Completes a value; $1: its kind, $2: the words it may be, $3: the value so far.
_deputy_value() {
  case $1 in
    words) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$3") ;;
    file) _deputy_files '' "$3" ;;
    model) _deputy_files "$_deputy_models" "$3" ;;
    config)
      _deputy_names configs "$3"
      _deputy_files "$_deputy_configs" "$3"
      ;;
    folder) _deputy_files / "$3" ;;
    delegate) _deputy_names delegates "$3" ;;
    named_file) [[ $3 != *=* ]] || _deputy_files '' "${3#*=}" ;;
  esac
}

_deputy() {
  local -a tokens=()
  local i word joined=
  COMPREPLY=()
  # bash takes "--flag=value" and "name=file" apart at "=".
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == '='* || -n $joined ]] && ((${#tokens[@]} > 0)); then
      tokens[-1]+=$word
    else
      tokens+=("$word")
    fi
    joined=
    [[ $word == '=' ]] && joined=yes
  done
  local current=${tokens[-1]} command='' literal='' flag='' argument=0
  local commands options positionals position_words kind words
  _deputy_command "$command"
  for ((i = 0; i < ${#tokens[@]} - 1; ++i)); do
    word=${tokens[i]}
    if [[ -z $literal && $word == -- ]]; then
      literal=yes
    elif [[ -z $literal && $word == -* ]]; then
      _deputy_option "$command" "$word"
      if [[ -n $kind && ${tokens[i + 1]} != -* ]]; then
        if ((++i == ${#tokens[@]} - 1)); then flag=$word; fi
      fi
    elif [[ " $commands " == *" $word "* ]]; then
      command=${command:+$command }$word
      _deputy_command "$command"
    else
      ((++argument))
    fi
  done

  if [[ -n $flag ]]; then
    _deputy_option "$command" "$flag"
    _deputy_value "$kind" "$words" "$current"
  elif [[ -z $literal && $current == --*=* ]]; then
    _deputy_option "$command" "${current%%=*}"
    _deputy_value "$kind" "$words" "${current#*=}"
  elif [[ -z $literal && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    local -a kinds=($positionals)
    ((${#kinds[@]} == 0)) && return
    # The last one may be repeated: its kind is then followed by "...".
    kind=${kinds[argument]-}
    [[ -z $kind && ${kinds[-1]} == *... ]] && kind=${kinds[-1]}
    _deputy_value "${kind%...}" "$position_words" "$current"
  fi
}

complete -F _deputy deputy
)script";

constexpr std::string_view kZshFunctions = R"script(
_deputy_names() {
  local -a names
  names=(${(f)"$("$program" completion --values "$1" 2>/dev/null)"})
  compadd "${@:2}" -a names
}

_deputy_delegates() {
  _deputy_names delegates "$@"
}

_deputy_configs() {
  _deputy_names configs
  _files -g "*.($_deputy_endings)(-.)"
}

_deputy_named_file() {
  if compset -P '*='; then
    _files
  else
    _message 'NAME=FILE'
  fi
}

_deputy() {
  local program=$words[1]
  _deputy_program
}

# The file is the function itself where it was found by its name, else it was sourced.
if [[ $funcstack[1] == _deputy ]]; then
  _deputy "$@"
else
  compdef _deputy deputy
fi
)script";

constexpr std::string_view kFishFunctions = R"script(
# Whether the commands of the line so far are these.
function __deputy_at
    set -l path
    set -l skip no
    set -l tokens (commandline -opc)
    for token in $tokens[2..-1]
        if test $skip = yes
            set skip no
        else if string match -q -- '-*' $token
            contains -- $token $__deputy_valued; and set skip yes
        else if contains -- (string join ' ' $path $token) $__deputy_commands
            set -a path $token
        end
    end
    test "$path" = "$argv"
end

function __deputy_word
    string replace -r -- '^--[^=]*=' '' (commandline -ct)
end

# Folders, and files with one of the endings.
function __deputy_files
    complete -C "__fish_command_without_completions "(__deputy_word) |
        string match -r -- '^.*(?:/|\.(?:'(string join '|' no-ending $argv)'))$'
end

function __deputy_named_files
    set -l word (__deputy_word)
    string match -q -- '*=*' $word; or return
    set -l name (string match -r -- '^[^=]*=' $word)
    complete -C "__fish_command_without_completions "(string replace -r -- '^[^=]*=' '' $word) |
        string replace -r -- '^' $name
end

function __deputy_values
    set -l tokens (commandline -opc)
    command $tokens[1] completion --values $argv[1] 2>/dev/null
end
)script";

}  // namespace

std::string BashCompletion(const CommandText& program) {
  std::string script = "# bash completion for deputy, generated by 'deputy completion bash'.\n";
  script += fmt::format("_deputy_models='{}'\n_deputy_configs='{}'\n", fmt::join(kModelEndings, " "),
                        fmt::join(kConfigEndings, " "));
  std::string options;
  script += "\n# Sets commands, options and positionals of the command $1.\n_deputy_command() {\n  case $1 in\n";
  for (const CommandText* command : AllCommands(program)) {
    std::vector<std::string> kinds;
    std::string words;
    for (const OptionText& positional : command->positionals) {
      kinds.push_back(NameOf(positional.kind) + (positional.may_repeat ? "..." : ""));
      if (positional.kind == CompletionKind::kWords) words = fmt::format("{}", fmt::join(positional.words, " "));
    }
    script += fmt::format(
        "    {})\n      commands={}\n      options={}\n      positionals={}\n      position_words={}\n      ;;\n",
        Quoted(command->path), Quoted(fmt::format("{}", fmt::join(InnerNames(*command), " "))),
        Quoted(fmt::format("{}", fmt::join(NamesOf(*command), " "))), Quoted(fmt::format("{}", fmt::join(kinds, " "))),
        Quoted(words));
    for (const OptionText& option : command->options) {
      if (!option.takes_value()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(Quoted(command->path + " " + name));
      options += fmt::format("    {}) kind={} words={} ;;\n", fmt::join(patterns, " | "), NameOf(option.kind),
                             Quoted(fmt::format("{}", fmt::join(option.words, " "))));
    }
  }
  script += "  esac\n}\n\n# Sets kind, empty without a value, and words of the option $2 of the command $1.\n";
  script += "_deputy_option() {\n  kind='' words=''\n  case \"$1 $2\" in\n" + options + "  esac\n}\n";
  return script.append(kBashFunctions);
}

std::string ZshCompletion(const CommandText& program) {
  std::string script = "#compdef deputy\n# zsh completion for deputy, generated by 'deputy completion zsh'.\n\n";
  for (const CommandText* command : AllCommands(program)) {
    const std::string function = command == &program ? "_deputy_program" : ZshFunction(*command);
    script += function + "() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -S -C";
    for (const OptionText& option : command->options) script += " \\\n    " + ZshOption(option);
    for (const OptionText& option : command->positionals) script += " \\\n    " + ZshPositional(option);
    if (!command->commands.empty()) {
      script += " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n    command)\n      local -a commands=(";
      for (const CommandText& inner : command->commands)
        script += "\n        " + Quoted(Replaced(inner.name, ":") + ":" + inner.help);
      script +=
          "\n      )\n      _describe -t commands command commands\n      ;;\n    rest)\n      case $words[1] in\n";
      for (const CommandText& inner : command->commands)
        script += fmt::format("        {}) {} ;;\n", inner.name, ZshFunction(inner));
      script += "      esac\n      ;;\n  esac";
    }
    script += "\n}\n\n";
  }
  script += fmt::format("typeset -g _deputy_endings='{}'\n", fmt::join(kConfigEndings, "|"));
  return script.append(kZshFunctions);
}

std::string FishCompletion(const CommandText& program) {
  std::set<std::string> valued;
  std::vector<std::string> paths;
  std::string lines;
  for (const CommandText* command : AllCommands(program)) {
    if (command != &program) paths.push_back(FishQuoted(command->path));
    const std::string at = fmt::format("complete -c deputy -n '__deputy_at {}'", command->path);
    for (const CommandText& inner : command->commands)
      lines += fmt::format("{} -a {} -d {}\n", at, inner.name, FishQuoted(inner.help));
    for (const OptionText& option : command->options) {
      std::string names;
      for (const std::string& name : option.names) {
        const bool is_long = name.compare(0, 2, "--") == 0;
        names += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
        if (option.takes_value() && !option.value_is_optional) valued.insert(name);
      }
      lines += fmt::format("{}{}{} -d {}\n", at, names,
                           option.takes_value() && !option.value_is_optional ? " " + FishValues(option) : "",
                           FishQuoted(option.help));
    }
    for (const OptionText& positional : command->positionals) {
      std::string values = FishValues(positional);
      if (values.compare(0, 2, "-x") == 0) values.erase(0, 2);  // of a positional argument nothing is required
      if (values.compare(0, 2, "-r") == 0) values.erase(0, 3);
      if (!values.empty()) lines += fmt::format("{} {}\n", at, values);
    }
  }
  std::string script = "# fish completion for deputy, generated by 'deputy completion fish'.\n";
  script += fmt::format("set -g __deputy_commands {}\nset -g __deputy_valued {}\n", fmt::join(paths, " "),
                        fmt::join(valued, " "));
  return script.append(kFishFunctions) + "\ncomplete -c deputy -f\n" + lines;
}

}  // namespace deputy::cli
