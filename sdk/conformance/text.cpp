#include "text.hpp"

#include <algorithm>
#include <cstdint>

namespace deputy::conformance {
namespace {

constexpr uint64_t kLongest = 1 << 16;

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t j = 1; j < length; ++j) {
      const auto byte = static_cast<unsigned char>(text[i + j]);
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3f);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::string TextOf(const deputy_str& text) {
  return text.data == nullptr ? "" : std::string(text.data, std::min(text.size, kLongest));
}

std::string FaultOf(const deputy_str& text, bool may_be_empty) {
  if (text.size == 0) return may_be_empty ? "" : "is empty";
  if (text.data == nullptr) return "has a length and no text";
  if (text.size > kLongest) return "is " + std::to_string(text.size) + " bytes long";
  if (!IsUtf8(TextOf(text))) return "is not UTF-8";
  if (text.data[text.size] != 0) return "has no NUL behind it";
  return "";
}

std::string Counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool MatchesAny(std::string_view patterns, std::string_view text) {
  for (size_t from = 0; from <= patterns.size();) {
    const size_t end = std::min(patterns.find(',', from), patterns.size());
    if (Matches(patterns.substr(from, end - from), text)) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace deputy::conformance
