#include "plugin/discovery/option_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/nearest.hpp"
#include "deputy/abi/ext/options.h"
#include "plugin/checks/text.hpp"

namespace deputy::host {
namespace {

constexpr std::string_view kLevels[] = {"low", "balanced", "high", "extreme"};  // 1 to 4

struct Unit {
  std::string_view name;
  double hertz;
};
constexpr Unit kUnits[] = {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}};

template <class Number>
bool InRange(Number value, Number minimum, Number maximum) {
  return minimum == maximum || (value >= minimum && value <= maximum);  // equal limits: no limits
}

bool IsDecimal(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  return text.size() == 1 || text[0] != '0' || text[1] < '0' || text[1] > '9';  // "017" is 15 to some
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!IsDecimal(text) || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!IsDecimal(text) || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::string HertzText(double hertz) {
  for (const Unit& unit : kUnits)
    if (hertz >= unit.hertz) return fmt::format("{}{}", hertz / unit.hertz, unit.name);
  return fmt::format("{}Hz", hertz);
}

// "1".."4" or "800000000Hz".
std::optional<std::string> NormalizeFrequency(const OptionSchema& option, std::string_view text) {
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (text == kLevels[i] || text == std::to_string(i + 1)) return std::to_string(i + 1);
  if (!(option.maximum > 0)) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.size() <= unit.name.size() || text.substr(text.size() - unit.name.size()) != unit.name) continue;
    const std::optional<double> number = ParseReal(text.substr(0, text.size() - unit.name.size()));
    if (!number) return std::nullopt;
    const double hertz = std::round(*number * unit.hertz);
    if (hertz < 1 || hertz < option.minimum || hertz > option.maximum) return std::nullopt;
    return fmt::format("{:.0f}Hz", hertz);
  }
  return std::nullopt;
}

std::optional<std::string> Normalize(const OptionSchema& option, const std::string& text) {
  switch (option.type) {
    case DEPUTY_OPTION_BOOL:
      if (text == "true" || text == "false") return text;
      return std::nullopt;
    case DEPUTY_OPTION_INT: {
      const std::optional<int64_t> value = ParseInteger(text);
      if (!value || !InRange(*value, option.int_minimum, option.int_maximum)) return std::nullopt;
      return std::to_string(*value);
    }
    case DEPUTY_OPTION_FLOAT: {
      const std::optional<double> value = ParseReal(text);
      if (!value || !InRange(*value, option.minimum, option.maximum)) return std::nullopt;
      return text;
    }
    case DEPUTY_OPTION_ENUM:
      if (std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end()) return text;
      return std::nullopt;
    case DEPUTY_OPTION_FREQUENCY: return NormalizeFrequency(option, text);
    default:  // DEPUTY_OPTION_STRING
      if (text.find('\0') != std::string::npos || !IsUtf8(text)) return std::nullopt;
      return text;
  }
}

std::string Meant(const OptionSchema& option, const std::string& text) {
  if (option.type == DEPUTY_OPTION_ENUM) return DidYouMean(text, std::span<const std::string>(option.choices));
  if (option.type == DEPUTY_OPTION_FREQUENCY) return DidYouMean(text, std::span<const std::string_view>(kLevels));
  return {};
}

}  // namespace

std::string AcceptedBy(const OptionSchema& option) {
  const auto range = [&](std::string_view kind, auto minimum, auto maximum) {
    if (minimum == maximum) return std::string(kind);
    return fmt::format("{} from {} to {}{}{}", kind, minimum, maximum, option.unit.empty() ? "" : " ", option.unit);
  };
  switch (option.type) {
    case DEPUTY_OPTION_BOOL: return "true or false";
    case DEPUTY_OPTION_INT: return range("a whole number", option.int_minimum, option.int_maximum);
    case DEPUTY_OPTION_FLOAT: return range("a number", option.minimum, option.maximum);
    case DEPUTY_OPTION_ENUM: return fmt::format("{}", fmt::join(option.choices, " | "));
    case DEPUTY_OPTION_FREQUENCY:
      return option.maximum > 0 ? fmt::format("{}, 1..4, or a clock from {} to {}", fmt::join(kLevels, " | "),
                                              HertzText(option.minimum), HertzText(option.maximum))
                                : fmt::format("{} or 1..4", fmt::join(kLevels, " | "));
    default: return "text";
  }
}

CheckedOptions CheckOptions(std::span<const OptionSchema> schema,
                            std::span<const std::pair<std::string, std::string>> given) {
  CheckedOptions checked;
  std::vector<std::string> names;
  for (const OptionSchema& option : schema) names.push_back(option.name);
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& name = given[i].first;
    const std::string& text = given[i].second;
    const auto problem = [&](std::string message, bool unknown) {
      checked.problems.push_back({name, std::move(message), unknown});
    };
    const std::string shown = CleanText(name, 80);
    const auto option =
        std::find_if(schema.begin(), schema.end(), [&](const OptionSchema& o) { return o.name == name; });
    if (option == schema.end()) {
      problem(fmt::format("option '{}' is unknown{}; accepted: {}", shown,
                          DidYouMean(name, std::span<const std::string>(names)),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
              true);
      continue;
    }
    if (std::any_of(given.begin(), given.begin() + static_cast<ptrdiff_t>(i),
                    [&](const auto& earlier) { return earlier.first == name; })) {
      problem(fmt::format("option '{}' is given twice", shown), false);
      continue;
    }
    if (std::optional<std::string> normal = Normalize(*option, text)) {
      checked.values.emplace_back(name, *std::move(normal));
    } else {
      problem(fmt::format("option '{}' must be {}, not '{}'{}", shown, AcceptedBy(*option), CleanText(text, 80),
                          Meant(*option, text)),
              false);
    }
  }
  return checked;
}

}  // namespace deputy::host
