#include "config/show.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "config/fields.hpp"
#include "config/origin.hpp"
#include "config/words.hpp"

namespace deputy::host {
namespace {

std::string YamlQuoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

// For text whose quotes mean nothing: omits them where the text is unambiguous.
std::string InQuotesIfNeeded(std::string_view text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./$-";
  const bool safe = text.find_first_not_of(kSafe) == std::string_view::npos && !IsNullWord(text) && text[0] != '-';
  return safe ? std::string(text) : YamlQuoted(text);
}

// The visitor of fields.hpp that prints, and lists what it prints.
class FieldPrinter {
 public:
  std::string TakeText() { return std::move(out_); }
  std::vector<PathValue> TakeValues() { return std::move(values_); }

  void Text(std::string_view key, const Setting<std::string>& text, TextKind) {
    if (!text->empty()) Value(key, InQuotesIfNeeded(*text), text.origin);
  }
  void Texts(std::string_view key, const List<Setting<std::string>>& list, TextKind) {
    Scalars(key, list, [](const std::string& text) { return InQuotesIfNeeded(text); });
  }
  void Integer(std::string_view key, const Setting<int64_t>& value, const IntegerRange& range) {
    const bool word = *value == 0 && !range.word.empty();
    if (*value == 0 && range.min > 0 && !word) return;  // absent
    Value(key, word ? std::string(range.word) : std::to_string(*value), value.origin);
  }
  void Real(std::string_view key, const Setting<std::optional<double>>& value, const RealRange&) {
    if (*value) Value(key, fmt::format("{}", **value), value.origin);
  }
  void Quantity(std::string_view key, const Setting<Percent>& value, const PercentRange&) {
    Value(key, FormatPercent(*value), value.origin);
  }
  void Flag(std::string_view key, const Setting<bool>& value) { Value(key, *value ? "true" : "false", value.origin); }
  void Quantity(std::string_view key, const Setting<Duration>& value, const DurationRange& range) {
    const std::string_view word = range.WordOf(*value);
    Value(key, word.empty() ? FormatDuration(*value) : std::string(word), value.origin);
  }
  void Quantity(std::string_view key, const Setting<Bytes>& value, const SizeRange&) {
    Value(key, FormatSize(*value), value.origin);
  }
  void Options(std::string_view key, const List<Named<OptionValue>>& options) {
    Entries(key, options, [](const OptionValue& value) { return value.quoted ? YamlQuoted(value.text) : value.text; });
  }
  void Instruction(std::string_view) {}
  void Unavailable(std::string_view) {}

  template <class E>
  void Choice(std::string_view key, const Setting<E>& value) {
    Value(key, std::string(WordFor(*value)), value.origin);
  }
  template <class E>
  void Choices(std::string_view key, const List<Named<E>>& map, TextKind) {
    Entries(key, map, [](E value) { return std::string(WordFor(value)); });
  }

  template <class Visit>
  void Group(std::string_view key, Visit visit) {
    headers_.push_back(Indented(fmt::format("{}:", key)));
    path_.emplace_back(key);
    ++depth_;
    visit();
    --depth_;
    path_.pop_back();
    if (!headers_.empty()) headers_.pop_back();
  }

  template <class E, class Visit>
  void GroupOrChoice(std::string_view key, const Setting<E>&, Visit visit) {
    Group(key, visit);
  }

  template <class T, class Visit>
  void Items(std::string_view key, const List<T>& list, Visit visit) {
    if (list.empty()) return Value(key, "[]", list.origin);
    Line(fmt::format("{}:", key));
    depth_ += 2;
    path_.emplace_back(key);
    std::vector<std::string> names;
    for (const T& item : list) {
      dash_ = true;
      names.push_back(NameOf(item, names.size()));
      path_.push_back(names.back());
      visit(item);
      path_.pop_back();
    }
    path_.pop_back();
    depth_ -= 2;
    if constexpr (std::is_same_v<T, DelegateConfig>) Keep(key, fmt::format("{}", fmt::join(names, ", ")));
  }

 private:
  static std::string NameOf(const DelegateConfig& delegate, size_t) { return *delegate.name; }
  static std::string NameOf(const PlacementRule&, size_t number) { return std::to_string(number); }

  template <class T, class Format>
  void Scalars(std::string_view key, const List<Setting<T>>& list, Format format) {
    if (list.empty()) return Empty(key, "[]", list.origin);
    Line(fmt::format("{}:", key));
    ++depth_;
    std::string all;
    for (const Setting<T>& item : list) {
      const std::string value = format(*item);
      Line("- " + value + Comment(item.origin));
      all += (all.empty() ? "" : ", ") + value;
    }
    --depth_;
    Keep(key, std::move(all));
  }

  template <class T, class Format>
  void Entries(std::string_view key, const List<Named<T>>& map, Format format) {
    if (map.empty()) return Empty(key, "{}", map.origin);
    Line(fmt::format("{}:", key));
    ++depth_;
    path_.emplace_back(key);
    for (const Named<T>& entry : map) Value(InQuotesIfNeeded(entry.name), format(*entry), entry.origin());
    path_.pop_back();
    --depth_;
  }

  void Empty(std::string_view key, std::string_view value, const Origin& origin) {
    if (origin.source != Origin().source) Value(key, value, origin);
  }

  void Value(std::string_view key, std::string_view value, const Origin& origin) {
    Line(fmt::format("{}: {}{}", key, value, Comment(origin)));
    Keep(key, std::string(value));
  }

  void Keep(std::string_view key, std::string value) {
    values_.push_back({fmt::format("{}{}{}", fmt::join(path_, "."), path_.empty() ? "" : ".", key), std::move(value)});
  }

  static std::string Comment(const Origin& origin) {
    const std::string source = Printable(origin.source, SIZE_MAX);
    return origin.line > 0 ? fmt::format("  # {}:{}", source, origin.line) : "  # " + source;
  }

  // Headers of groups are held back until the first entry.
  void Line(const std::string& text) {
    const std::string line = Indented(text);
    for (const std::string& header : headers_) out_ += header + "\n";
    headers_.clear();
    out_ += line + "\n";
  }

  // The first line of an item of a list carries its dash.
  std::string Indented(const std::string& text) {
    std::string line = std::string(2 * depth_, ' ') + text;
    if (dash_) line[2 * depth_ - 2] = '-';
    dash_ = false;
    return line;
  }

  std::string out_;
  std::vector<PathValue> values_;
  std::vector<std::string> path_;  // of what is visited
  std::vector<std::string> headers_;
  size_t depth_ = 0;
  bool dash_ = false;
};

}  // namespace

std::string ShowConfig(const Config& config) {
  FieldPrinter printer;
  VisitConfig(printer, config);
  return printer.TakeText();
}

std::vector<PathValue> ListValues(const Config& config) {
  FieldPrinter printer;
  VisitConfig(printer, config);
  return printer.TakeValues();
}

}  // namespace deputy::host
