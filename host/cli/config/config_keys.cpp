#include "cli/config/config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/terminal/quantity.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

constexpr std::string_view kEntry = "delegates.NAME.";
constexpr std::string_view kDelegates = "delegates.";
constexpr std::string_view kOptions = ".options.";

bool BeginsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Items of lists are written with or without an index: "rules[0].to", "rules[].to", "rules.to".
std::string WithoutIndices(std::string_view path) {
  std::string text;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) text += c;
    if (c == ']') inside = false;
  }
  return text;
}

// "delegates.npu0.min_nodes" and "delegates.min_nodes" are delegates.NAME.min_nodes. Names may hold dots.
bool Matches(const ConfigKey& key, const std::string& path) {
  if (WithoutIndices(key.path) == path) return true;
  if (!BeginsWith(key.path, kEntry)) return false;
  const std::string rest = key.path.substr(kEntry.size());
  return path == std::string(kDelegates) + rest || (BeginsWith(path, kDelegates) && EndsWith(path, "." + rest) &&
                                                    path.size() > kDelegates.size() + rest.size() + 1);
}

// The key that `path` names, the longest one where the name of an entry ends like a key.
const ConfigKey* Find(const std::vector<ConfigKey>& keys, const std::string& path) {
  const ConfigKey* found = nullptr;
  for (const ConfigKey& key : keys)
    if (Matches(key, path) && (found == nullptr || key.path.size() > found->path.size())) found = &key;
  if (found != nullptr || path.find('.') != std::string::npos) return found;
  for (const ConfigKey& key : keys) {
    if (LastPartOf(key.path) != path) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

Status Unknown(const std::vector<ConfigKey>& keys, const std::string& path) {
  std::vector<std::string> paths, same;
  for (const ConfigKey& key : keys) {
    paths.push_back(key.path);
    if (LastPartOf(key.path) == LastPartOf(path)) same.push_back(key.path);
  }
  std::string meant = DidYouMean(path, paths);
  if (meant.empty() && !same.empty()) meant = fmt::format("; keys of this name: {}", Joined(same));
  return Status(StatusCode::kInvalidArgument, fmt::format("there is no key '{}'{}", path, meant))
      .Advise(meant.empty() && path.find('.') == std::string::npos
                  ? "an option of a delegate is written delegates.NAME.options." + path +
                        "; 'deputy config reference' lists all keys"
                  : "'deputy config reference' lists all keys");
}

std::string TypeOf(const OptionReport& option) {
  if (option.type == "enum" || option.type == "frequency") {
    std::string words = option.type == "enum" ? option.choices : "low|balanced|high|extreme";
    for (size_t bar = 0; (bar = words.find('|', bar)) != std::string::npos; bar += 3) words.replace(bar, 1, " | ");
    if (option.type == "enum") return words;
    if (!(option.maximum > 0)) return words + ", or 1 to 4";
    return fmt::format("{}, 1 to 4, or a clock from {} to {}", words, ClockText(static_cast<uint64_t>(option.minimum)),
                       ClockText(static_cast<uint64_t>(option.maximum)));
  }
  const std::string type = option.type == "bool"     ? "true or false"
                           : option.type == "int"    ? "integer"
                           : option.type == "float"  ? "number"
                           : option.type == "string" ? "text"
                                                     : option.type;
  if (option.int_minimum < option.int_maximum)
    return fmt::format("{} from {} to {}", type, option.int_minimum, option.int_maximum);
  if (!(option.minimum < option.maximum)) return type;
  return fmt::format("{} from {} to {}", type, option.minimum, option.maximum);
}

// The default of an option as it is written in a configuration; levels of a clock by their names.
std::string DefaultOf(const OptionReport& option) {
  constexpr std::string_view kLevels[] = {"low", "balanced", "high", "extreme"};
  if (option.default_value.empty()) return "\"\"";
  const char digit = option.default_value[0];
  const bool is_level = option.type == "frequency" && option.default_value.size() == 1 && digit >= '1' && digit <= '4';
  return is_level ? std::string(kLevels[digit - '1']) : option.default_value;
}

// A shipped configuration that has the entry, as the end of a message, or nothing.
std::string ShippedWith(const std::string& entry) {
  std::vector<std::string> names = ShippedConfigs();
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "npu-first"; });
  for (const std::string& name : names) {
    const Result<Context> context = Context::FromYaml(ShippedConfigFile(name));
    if (!context.ok()) continue;
    for (const DeviceInfo& delegate : context->ConfiguredDelegates())
      if (delegate.name == entry)
        return fmt::format("; the shipped configuration '{0}' has it: add '--config {0}'", name);
  }
  return {};
}

// "delegates.npu0.options.frequency": the name of the entry and the option; nothing for other paths.
std::optional<std::pair<std::string, std::string>> EntryAndOption(const std::string& path) {
  const size_t options = path.find(kOptions);
  if (!BeginsWith(path, kDelegates) || options == std::string::npos || options < kDelegates.size()) return std::nullopt;
  return std::pair(path.substr(kDelegates.size(), options - kDelegates.size()), path.substr(options + kOptions.size()));
}

Result<ExplainedKey> ExplainOption(const std::string& path, const std::string& entry, const std::string& option,
                                   const Context& context) {
  std::string id = entry;  // of a delegate without an entry
  std::vector<std::string> known;
  for (const DeviceInfo& delegate : context.ConfiguredDelegates()) {
    known.push_back(delegate.name);
    if (delegate.name == entry) id = delegate.delegate;
  }
  DEPUTY_ASSIGN_OR_RETURN(const PluginListing listing, context.ListPlugins({{id}, false}));
  std::vector<std::string> options;
  for (const PluginReport& plugin : listing.plugins) {
    for (const PluginDelegateReport& delegate : plugin.delegates) {
      known.push_back(delegate.id);
      if (delegate.id != id || !plugin.probed) continue;
      for (const OptionReport& report : delegate.options) {
        options.push_back(report.name);
        if (report.name != option) continue;
        const std::string value = DefaultOf(report);
        return ExplainedKey{
            {path, TypeOf(report), value, report.help, ""}, report.type == "frequency" ? "" : report.unit, id, {}};
      }
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("the delegate '{}' has no option '{}'{}", id, option, DidYouMean(option, options)))
          .Advise(options.empty() ? "it has none" : "it has " + Joined(options));
    }
  }
  const std::string shipped = ShippedWith(entry);
  return Status(StatusCode::kInvalidArgument, fmt::format("neither an entry nor a delegate is called '{}'{}", entry,
                                                          shipped.empty() ? DidYouMean(entry, known) : shipped))
      .Advise("'deputy plugins --why' lists the plugins that were found");
}

std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string Code(const std::string& text) { return text.empty() ? "" : "`" + Cell(text) + "`"; }

}  // namespace

std::string LastPartOf(const std::string& path) { return path.substr(path.rfind('.') + 1); }

bool IsOptionPath(const std::string& path) { return EntryAndOption(path).has_value(); }

Result<ExplainedKey> ExplainKey(const std::string& path, const Context& context) {
  if (const auto named = EntryAndOption(path)) return ExplainOption(path, named->first, named->second, context);
  const std::vector<ConfigKey> keys = ConfigKeys();
  const ConfigKey* key = Find(keys, WithoutIndices(path));
  if (key == nullptr) return Unknown(keys, path);
  ExplainedKey explained{*key, "", "", {}};
  for (const ConfigKey& other : keys) {
    const size_t end = other.path.rfind('.');
    if (end == std::string::npos) continue;
    const std::string parent = other.path.substr(0, end);
    if (parent == key->path || parent == key->path + ".NAME" || parent == key->path + "[]")
      explained.subordinate.push_back(other);
  }
  return explained;
}

std::string KeysAsMarkdown() {
  std::string page;
  for (const ConfigKey& key : ConfigKeys()) {
    const bool is_top = key.path.find('.') == std::string::npos;
    if (is_top)
      page += fmt::format("{}### {}\n\n| key | type | default | meaning | example |\n|---|---|---|---|---|\n",
                          page.empty() ? "" : "\n", key.path);
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, Cell(key.type), Code(key.default_value),
                        Cell(key.meaning), Code(key.example));
  }
  return page;
}

}  // namespace deputy::cli
