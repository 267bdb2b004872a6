#include "base/printable.hpp"

#include <cstdint>

namespace deputy::host {
namespace {

uint8_t ByteAt(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

// The code point of a character that is known to be well-formed.
uint32_t CodePoint(std::string_view character) {
  const uint8_t lead = ByteAt(character, 0);
  if (lead < 0x80) return lead;
  uint32_t point = lead & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) point = point << 6 | (ByteAt(character, i) & 0x3fu);
  return point;
}

struct Range {
  uint32_t first, last;
};

// Characters that control a terminal or are invisible in one: controls, marks and overrides of direction, separators of
// lines, joiners and spaces without width, annotations and tags (Unicode 15, general categories Cc, Cf, Zl and Zp).
constexpr Range kUnprintable[] = {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
                                  {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
                                  {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
                                  {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
                                  {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                                  {0xe0000, 0xe0fff}};

}  // namespace

size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t lead = ByteAt(text, 0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xc2 && lead <= 0xdf   ? 2
                      : lead >= 0xe0 && lead <= 0xef ? 3
                      : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                     : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((ByteAt(text, i) & 0xc0) != 0x80) return 0;
  const uint8_t second = ByteAt(text, 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || beyond ? 0 : size;
}

bool IsPrintable(std::string_view character) {
  const uint32_t point = CodePoint(character);
  for (const Range& range : kUnprintable)
    if (point >= range.first && point <= range.last) return false;
  return true;
}

std::string Printable(std::string_view text, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  constexpr std::string_view kRest = "...";
  std::string printable;
  size_t cut = 0;
  const auto too_long = [&] { return printable.size() > limit && printable.size() - limit > kRest.size(); };
  for (size_t i = 0; i < text.size() && !too_long();) {
    if (printable.size() <= limit) cut = printable.size();
    const size_t size = Utf8Length(text.substr(i));
    const std::string_view character = text.substr(i, size == 0 ? 1 : size);
    if (size != 0 && IsPrintable(character)) {
      printable += character;
    } else {
      for (const char c : character) {
        const auto byte = static_cast<uint8_t>(c);
        printable += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
    i += character.size();
  }
  // What is cut is no longer than what may stay whole: escaping it again must not cut it further.
  if (too_long()) printable.replace(cut, std::string::npos, kRest);
  return printable;
}

std::string InQuotes(std::string_view printable) {
  std::string quoted = "\"";
  for (const char c : printable) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Status Printable(const Status& status, size_t limit) {
  if (status.ok()) return status;
  return Status(status.code(), Printable(status.message(), limit))
      .At(Printable(status.where(), limit))
      .Advise(Printable(status.advice(), limit));
}

}  // namespace deputy::host
