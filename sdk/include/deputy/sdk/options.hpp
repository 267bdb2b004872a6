// A delegate's options, declared once: the declaration defines the table against which the host checks a YAML, and the
// typed values that the delegate reads.
//
//   static OptionSchema Options() {
//     return OptionSchema().Int("threads", 0, 0, 64, "threads to use, 0 for all of the host's")
//                          .Frequency("frequency", 3, "clock of the device");
//   }
//   ... options().Int("threads") ...
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/ext/options.h"
#include "deputy/sdk/host.hpp"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

// The requested frequency: a level or a clock, never both.
struct FrequencyWish {
  uint32_t level = 0;  // 1 low, 2 balanced, 3 high, 4 extreme; 0: `hertz` applies
  uint64_t hertz = 0;
};

// Every builder takes the name, the default, limits and one sentence for people.
class OptionSchema {
 public:
  OptionSchema&& Bool(std::string name, bool fallback, std::string help) && {
    return std::move(*this).Add(DEPUTY_OPTION_BOOL, std::move(name), fallback ? "true" : "false", std::move(help));
  }
  OptionSchema&& Int(std::string name, int64_t fallback, int64_t minimum, int64_t maximum, std::string help,
                     std::string unit = {}) && {
    std::move(*this).Add(DEPUTY_OPTION_INT, std::move(name), std::to_string(fallback), std::move(help),
                         std::move(unit));
    options_.back().int_minimum = minimum;
    options_.back().int_maximum = maximum;
    return std::move(*this);
  }
  OptionSchema&& Float(std::string name, double fallback, double minimum, double maximum, std::string help,
                       std::string unit = {}) && {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << fallback;
    return std::move(*this).Add(DEPUTY_OPTION_FLOAT, std::move(name), text.str(), std::move(help), std::move(unit),
                                minimum, maximum);
  }
  OptionSchema&& String(std::string name, std::string fallback, std::string help) && {
    return std::move(*this).Add(DEPUTY_OPTION_STRING, std::move(name), std::move(fallback), std::move(help));
  }
  OptionSchema&& Enum(std::string name, std::string fallback, const std::vector<std::string>& choices,
                      std::string help) && {
    std::move(*this).Add(DEPUTY_OPTION_ENUM, std::move(name), std::move(fallback), std::move(help));
    options_.back().choices = choices;
    for (const std::string& choice : options_.back().choices) options_.back().choice_texts.push_back(ToStr(choice));
    return std::move(*this);
  }
  // `level` is the default; explicit clocks are accepted between the two limits if the upper one is not 0.
  OptionSchema&& Frequency(std::string name, uint32_t level, std::string help, uint64_t minimum_hz = 0,
                           uint64_t maximum_hz = 0) && {
    return std::move(*this).Add(DEPUTY_OPTION_FREQUENCY, std::move(name), std::to_string(level), std::move(help), "Hz",
                                static_cast<double>(minimum_hz), static_cast<double>(maximum_hz));
  }
  // The option before it may be set while executables exist: DelegateBase::SetOption applies it.
  OptionSchema&& Settable() && {
    options_.back().settable = true;
    return std::move(*this);
  }

  struct Option {
    deputy_option_type type;
    std::string name, fallback, help, unit;
    double minimum, maximum;
    int64_t int_minimum = 0, int_maximum = 0;
    bool settable = false;
    std::vector<std::string> choices = {};
    std::vector<deputy_str> choice_texts = {};

    // Points into this object.
    deputy_option_info Info() const {
      return {sizeof(deputy_option_info),
              type,
              ToStr(name),
              ToStr(help),
              ToStr(unit),
              ToStr(fallback),
              choice_texts.data(),
              choice_texts.size(),
              int_minimum,
              int_maximum,
              minimum,
              maximum,
              settable ? uint32_t{DEPUTY_OPTION_SETTABLE} : 0u,
              0};
    }
  };
  const std::deque<Option>& options() const { return options_; }
  const Option* Find(std::string_view name) const {
    for (const Option& option : options_)
      if (option.name == name) return &option;
    return nullptr;
  }

 private:
  OptionSchema&& Add(deputy_option_type type, std::string name, std::string fallback, std::string help,
                     std::string unit = {}, double minimum = 0, double maximum = 0) && {
    options_.push_back(
        {type, std::move(name), std::move(fallback), std::move(help), std::move(unit), minimum, maximum});
    return std::move(*this);
  }

  std::deque<Option> options_;
};

// Values in force, checked against the schema. A getter with a name or type that the schema does not declare throws
// std::logic_error, which the layer reports as a bug of the plugin. [any-thread]
class OptionValues {
 public:
  OptionValues() = default;

  static Result<OptionValues> Parse(const OptionSchema& schema, Span<const deputy_kv> given) {
    OptionValues values;
    values.schema_ = &schema;
    for (const OptionSchema::Option& option : schema.options())
      DEPUTY_SDK_RETURN_IF_ERROR(values.Set(option, option.fallback));
    for (const deputy_kv& pair : given) {
      const OptionSchema::Option* option = schema.Find(ToView(pair.key));
      if (option == nullptr)
        return Status(Code::kInvalidArgument, "unknown option '" + std::string(ToView(pair.key)) + "'");
      DEPUTY_SDK_RETURN_IF_ERROR(values.Set(*option, ToView(pair.value)));
    }
    return values;
  }

  // A new value of an option that the schema calls settable; the schema lives as long as the plugin.
  Status Change(std::string_view name, std::string_view text) {
    const OptionSchema::Option* option = schema_ == nullptr ? nullptr : schema_->Find(name);
    if (option == nullptr) return Status(Code::kNotFound, "unknown option '" + std::string(name) + "'");
    if (!option->settable)
      return Status(Code::kFailedPrecondition, "option '" + option->name + "' is set when the delegate is opened");
    return Set(*option, text);
  }

  bool Bool(std::string_view name) const { return Get(name, DEPUTY_OPTION_BOOL).integer != 0; }
  int64_t Int(std::string_view name) const { return Get(name, DEPUTY_OPTION_INT).integer; }
  double Float(std::string_view name) const { return Get(name, DEPUTY_OPTION_FLOAT).real; }
  const std::string& String(std::string_view name) const { return Get(name, DEPUTY_OPTION_STRING).text; }
  const std::string& Enum(std::string_view name) const { return Get(name, DEPUTY_OPTION_ENUM).text; }
  FrequencyWish Frequency(std::string_view name) const { return Get(name, DEPUTY_OPTION_FREQUENCY).frequency; }
  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // As it was written, or the default.
  std::string Text(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second.text;
  }

 private:
  struct Value {
    deputy_option_type type = 0;
    std::string text;
    int64_t integer = 0;
    double real = 0;
    FrequencyWish frequency;
  };

  const Value& Get(std::string_view name, deputy_option_type type) const {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second.type != type)
      throw std::logic_error("option '" + std::string(name) + "' is not declared by Options() with this type");
    return found->second;
  }

  // A stream, because not every standard library's from_chars reads floating point.
  static bool ParseNumber(std::string_view text, double& number) {
    std::istringstream stream{std::string(text)};
    stream.imbue(std::locale::classic());
    return stream >> number && stream.peek() == std::istringstream::traits_type::eof();
  }
  template <class T>
  static bool ParseNumber(std::string_view text, T& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  }

  Status Set(const OptionSchema::Option& option, std::string_view text) {
    Value value;
    value.type = option.type;
    value.text = text;
    bool valid = true;
    const auto within = [&](double number) { return number >= option.minimum && number <= option.maximum; };
    if (option.type == DEPUTY_OPTION_BOOL) {
      valid = text == "true" || text == "false";
      value.integer = text == "true" ? 1 : 0;
    } else if (option.type == DEPUTY_OPTION_INT) {
      valid = ParseNumber(text, value.integer) && value.integer >= option.int_minimum &&
              value.integer <= option.int_maximum;
    } else if (option.type == DEPUTY_OPTION_FLOAT) {
      valid = ParseNumber(text, value.real) && within(value.real);
    } else if (option.type == DEPUTY_OPTION_ENUM) {
      valid = std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end();
    } else if (option.type == DEPUTY_OPTION_FREQUENCY) {
      valid = ParseFrequency(option, text, value.frequency);
    }
    if (!valid)
      return Status(Code::kInvalidArgument, "option '" + option.name + "' does not accept '" + value.text + "'");
    values_[option.name] = std::move(value);
    return Status();
  }

  static bool ParseFrequency(const OptionSchema::Option& option, std::string_view text, FrequencyWish& wish) {
    if (text.size() > 2 && text.substr(text.size() - 2) == "Hz") {
      const bool number = ParseNumber(text.substr(0, text.size() - 2), wish.hertz);
      const auto hertz = static_cast<double>(wish.hertz);
      return number && option.maximum > 0 && hertz >= option.minimum && hertz <= option.maximum;
    }
    return ParseNumber(text, wish.level) && wish.level >= 1 && wish.level <= 4;
  }

  const OptionSchema* schema_ = nullptr;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace deputy::sdk
