#include "plugin/text.hpp"

#include <algorithm>
#include <cstdint>

namespace deputy::host {
namespace {

uint8_t ByteAt(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

// Bytes of the character at `at`; 0 when it is not valid.
size_t CharacterLength(std::string_view text, size_t at) {
  const uint8_t lead = ByteAt(text, at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() - at < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((ByteAt(text, at + i) & 0xC0) != 0x80) return 0;
  const uint8_t second = ByteAt(text, at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_high = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_high ? 0 : length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterLength(text, at);
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
    const size_t length = CharacterLength(text, at);
    if (clean.size() + std::max<size_t>(length, 1) > limit) break;
    const uint8_t byte = ByteAt(text, at);
    const bool c1_control = length == 2 && byte == 0xC2 && ByteAt(text, at + 1) < 0xA0;
    if (length == 0) {
      clean += '?';
    } else if (byte < 0x20 || byte == 0x7F || c1_control) {
      clean += ' ';
    } else {
      clean.append(text.substr(at, length));
    }
    at += std::max<size_t>(length, 1);
  }
  return clean;
}

}  // namespace deputy::host
