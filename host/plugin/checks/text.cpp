#include "plugin/checks/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.hpp"

namespace deputy::host {

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

bool IsPluginName(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

std::string CleanText(std::string_view text, size_t limit) {
  std::string clean;
  clean.reserve(std::min(text.size(), limit));
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (clean.size() + std::max<size_t>(length, 1) > limit) break;
    if (length == 0) {
      clean += '?';
    } else if (const std::string_view character = text.substr(at, length); IsPrintable(character)) {
      clean += character;
    } else {
      clean += ' ';
    }
    at += std::max<size_t>(length, 1);
  }
  return clean;
}

CopiedText CopyText(const deputy_str& text, size_t limit) {
  if (text.size == 0) return {};
  if (text.data == nullptr) return {"", fmt::format("has {} bytes, but a null pointer", text.size)};
  if (text.size > limit) return {"", fmt::format("has {} bytes, the maximum is {}", text.size, limit)};
  std::string copy(text.data, text.size);
  if (!IsUtf8(copy)) return {"", "is not UTF-8"};
  if (copy.find('\0') != std::string::npos) return {"", "contains a NUL character"};
  return {std::move(copy), ""};
}

std::string TimeText(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return fmt::format("{} s", time.count() / 1000);
  return fmt::format("{} ms", time.count());
}

}  // namespace deputy::host
