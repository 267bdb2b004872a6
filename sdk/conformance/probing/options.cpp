#include "probing/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "guarded_buffer.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

constexpr uint32_t kMostOptions = 256;

std::string FaultOfFrequency(const deputy_option_info& info, const std::string& value) {
  for (const char* level : {"low", "balanced", "high", "extreme", "1", "2", "3", "4"})
    if (value == level) return "";
  constexpr char kNoFrequency[] = "is neither a level (low, balanced, high, extreme, 1 to 4) nor a clock with a unit";
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str()) return kNoFrequency;
  for (const auto& [unit, hertz] :
       {std::pair("Hz", 1.0), std::pair("kHz", 1e3), std::pair("MHz", 1e6), std::pair("GHz", 1e9)}) {
    if (std::string(end) != unit) continue;
    if (!(info.maximum > 0)) return "is a clock, and the option allows levels alone";
    return number * hertz >= std::max(info.minimum, 1.0) && number * hertz <= info.maximum ? "" : "is out of range";
  }
  return kNoFrequency;
}

}  // namespace

const deputy_ext_options* OptionsOf(Plugin& plugin, const deputy_delegate* delegate) {
  return static_cast<const deputy_ext_options*>(plugin.Extension(delegate, DEPUTY_EXT_OPTIONS));
}

std::vector<const deputy_option_info*> SchemaOf(Plugin& plugin, const deputy_delegate* delegate) {
  std::vector<const deputy_option_info*> schema;
  const deputy_ext_options* options = OptionsOf(plugin, delegate);
  if (options == nullptr) return schema;
  uint32_t count = 0;
  plugin.CallVoid("option_count", [&] { count = options->option_count(delegate); });
  for (uint32_t i = 0; i < std::min(count, kMostOptions); ++i) {
    const deputy_option_info* info = nullptr;
    plugin.CallVoid("option_at", [&] { info = options->option_at(delegate, i); });
    schema.push_back(info);
  }
  return schema;
}

std::vector<std::string> ChoicesOf(const deputy_option_info& info) {
  std::vector<std::string> choices;
  for (uint64_t i = 0; info.choices != nullptr && i < std::min<uint64_t>(info.choice_count, kMostOptions); ++i)
    choices.push_back(TextOf(info.choices[i]));
  return choices;
}

std::string FaultOfValue(const deputy_option_info& info, const std::string& value) {
  switch (info.type) {
    case DEPUTY_OPTION_BOOL: return value == "true" || value == "false" ? "" : "is neither true nor false";
    case DEPUTY_OPTION_INT: {
      int64_t number = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size()) return "is no whole number";
      return number >= info.int_minimum && number <= info.int_maximum ? "" : "is out of range";
    }
    case DEPUTY_OPTION_FLOAT: {
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != 0) return "is no number";
      return number >= info.minimum && number <= info.maximum ? "" : "is out of range";
    }
    case DEPUTY_OPTION_ENUM:
      for (const std::string& choice : ChoicesOf(info))
        if (choice == value) return "";
      return "is none of the choices";
    case DEPUTY_OPTION_FREQUENCY: return FaultOfFrequency(info, value);
    default: return "";
  }
}

std::vector<std::string> Samples(const deputy_option_info& info) {
  switch (info.type) {
    case DEPUTY_OPTION_BOOL: return {"true", "false"};
    case DEPUTY_OPTION_INT: {
      // Limits that mean "unlimited" are not tried.
      std::vector<std::string> values = {std::to_string(info.int_minimum)};
      if (info.int_maximum < 1000000) values.push_back(std::to_string(info.int_maximum));
      return values;
    }
    case DEPUTY_OPTION_FLOAT: {
      std::vector<std::string> values = {std::to_string(info.minimum)};
      if (info.maximum < 1e6) values.push_back(std::to_string(info.maximum));
      return values;
    }
    case DEPUTY_OPTION_ENUM: return ChoicesOf(info);
    case DEPUTY_OPTION_FREQUENCY: {
      std::vector<std::string> values = {"1", "2", "3", "4"};
      if (info.maximum > 0) {
        values.push_back(std::to_string(static_cast<int64_t>(info.minimum)) + "Hz");
        values.push_back(std::to_string(static_cast<int64_t>(info.maximum)) + "Hz");
      }
      return values;
    }
    default: return {};
  }
}

bool ReadBack(Plugin& plugin, Instance& instance, const deputy_str& name, std::string* value, std::string* why_not) {
  const GuardedText guarded("the name of an option", TextOf(name));
  char buffer[1024];
  uint64_t size = 0;
  const deputy_ext_options* options = OptionsOf(plugin, instance.delegate());
  const Outcome outcome = plugin.Call("get_option", [&] {
    return options->get_option(instance.handle(), guarded.str(), buffer, sizeof buffer, &size);
  });
  *why_not = outcome.ToString();
  if (!outcome.ok()) return false;
  *why_not = "it says that it wrote " + std::to_string(size) + " bytes into " + std::to_string(sizeof buffer);
  if (size >= sizeof buffer) return false;
  *why_not = "there is no NUL behind the value";
  if (buffer[size] != 0) return false;
  *value = std::string(buffer, size);
  *why_not = "the value is not UTF-8";
  return IsUtf8(*value);
}

Outcome SetOption(Plugin& plugin, Instance& instance, const std::string& name, const std::string& value) {
  const deputy_ext_options* options = OptionsOf(plugin, instance.delegate());
  const GuardedText key("the name of an option", name), text("the value of an option", value);
  return plugin.Call("set_option", [&] { return options->set_option(instance.handle(), key.str(), text.str()); });
}

}  // namespace deputy::conformance
