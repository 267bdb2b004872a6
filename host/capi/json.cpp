#include "capi/json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/status.hpp"

namespace deputy::host::capi {
namespace {

constexpr int kMostLevels = 100;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The length of a number at the beginning of `text`; 0: there is none.
size_t NumberLength(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t first = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at - first;
  };
  const auto skip = [&](std::string_view any) {
    const bool is_there = at < text.size() && any.find(text[at]) != std::string_view::npos;
    if (is_there) ++at;
    return is_there;
  };
  (void)skip("-");
  const bool begins_with_zero = at < text.size() && text[at] == '0';
  const size_t whole = digits();
  if (whole == 0 || (begins_with_zero && whole > 1)) return 0;
  if (skip(".") && digits() == 0) return 0;
  if (skip("eE")) {
    (void)skip("+-");
    if (digits() == 0) return 0;
  }
  return at;
}

void AppendUtf8(uint32_t code, std::string& text) {
  const auto more = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    more(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    more(6);
    more(0);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    more(12);
    more(6);
    more(0);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(text), rest_(text) {}

  Status ParseAll(JsonValue& value) {
    DEPUTY_RETURN_IF_ERROR(Parse(value, 0));
    SkipSpace();
    return rest_.empty() ? Status() : Wrong("the end is expected");
  }

 private:
  Status Wrong(const char* what) const {
    const std::string_view read = all_.substr(0, all_.size() - rest_.size());
    const size_t line_end = read.rfind('\n');
    return Error(StatusCode::kInvalidArgument, "is not valid JSON: line {}, column {}: {}",
                 std::count(read.begin(), read.end(), '\n') + 1,
                 line_end == std::string_view::npos ? read.size() + 1 : read.size() - line_end, what)
        .At("options");
  }
  void SkipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Status Parse(JsonValue& value, int level) {
    using Kind = JsonValue::Kind;
    if (level > kMostLevels) return Wrong("it has too many levels");
    SkipSpace();
    if (Take("{")) return ParseItems(value, Kind::kMap, "}", level);
    if (Take("[")) return ParseItems(value, Kind::kList, "]", level);
    if (Take("\"")) {
      value.kind = Kind::kText;
      return ParseText(value.text);
    }
    for (const auto& [word, kind] : {std::pair<std::string_view, Kind>{"null", Kind::kNull},
                                     {"true", Kind::kBool},
                                     {"false", Kind::kBool},
                                     {"NaN", Kind::kNumber},
                                     {"Infinity", Kind::kNumber},
                                     {"-Infinity", Kind::kNumber}})
      if (Take(word)) {
        value.kind = kind;
        value.text = word;
        return {};
      }
    const size_t length = NumberLength(rest_);
    if (length == 0) return Wrong("a value is expected");
    value.kind = Kind::kNumber;
    value.text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return {};
  }

  Status ParseItems(JsonValue& value, JsonValue::Kind kind, std::string_view end, int level) {
    value.kind = kind;
    SkipSpace();
    if (Take(end)) return {};
    while (true) {
      if (kind == JsonValue::Kind::kMap) {
        SkipSpace();
        if (!Take("\"")) return Wrong("a name in quotes is expected");
        DEPUTY_RETURN_IF_ERROR(ParseText(value.names.emplace_back()));
        SkipSpace();
        if (!Take(":")) return Wrong("':' is expected");
      }
      DEPUTY_RETURN_IF_ERROR(Parse(value.items.emplace_back(), level + 1));
      SkipSpace();
      if (Take(end)) return {};
      if (!Take(",")) return Wrong(kind == JsonValue::Kind::kMap ? "',' or '}' is expected" : "',' or ']' is expected");
    }
  }

  Status ParseText(std::string& text) {
    while (true) {
      const size_t plain = std::min(rest_.find_first_of("\"\\"), rest_.size());
      text += rest_.substr(0, plain);
      rest_.remove_prefix(plain);
      if (Take("\"")) return {};
      if (!Take("\\") || rest_.empty()) return Wrong("a text does not end");
      static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
      if (const size_t letter = kLetters.find(rest_[0]); letter != std::string_view::npos) {
        text += kMeant[letter];
        rest_.remove_prefix(1);
        continue;
      }
      uint32_t code = 0, low = 0;
      if (!TakeUnit(code)) return Wrong("an unknown escape");
      if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || !Take("\\") || !TakeUnit(low) || low < 0xdc00 || low >= 0xe000)
          return Wrong("half of a pair of surrogates");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
      AppendUtf8(code, text);
    }
  }
  // "u12ab"
  bool TakeUnit(uint32_t& unit) {
    if (rest_.size() < 5 || rest_[0] != 'u') return false;
    const auto [end, error] = std::from_chars(rest_.data() + 1, rest_.data() + 5, unit, 16);
    if (error != std::errc() || end != rest_.data() + 5) return false;
    rest_.remove_prefix(5);
    return true;
  }

  std::string_view all_, rest_;
};

}  // namespace

Result<JsonValue> ParseJson(std::string_view text) {
  JsonValue value;
  DEPUTY_RETURN_IF_ERROR(Parser(text).ParseAll(value));
  return value;
}

}  // namespace deputy::host::capi
