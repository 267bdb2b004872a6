#include "base/printable.hpp"

#include <cstdint>

namespace deputy::host {
namespace {

// Length of the well-formed UTF-8 character at the start of `text`; 0 if there is none. Characters that steer a
// terminal (C1 controls, U+0080 to U+009F) count as malformed.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xc2 && lead <= 0xdf   ? 2
                      : lead >= 0xe0 && lead <= 0xef ? 3
                      : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                     : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool beyond = (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90);
  const bool control = lead == 0xc2 && byte(1) < 0xa0;
  return overlong || beyond || control ? 0 : size;
}

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string printable;
  for (size_t i = 0; i < text.size();) {
    if (printable.size() >= limit) return printable + "...";
    const size_t size = CharacterSize(text.substr(i));
    const auto byte = static_cast<uint8_t>(text[i]);
    if (size == 0 || byte < 0x20 || byte == 0x7f) {
      printable += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      ++i;
    } else {
      printable += text.substr(i, size);
      i += size;
    }
  }
  return printable;
}

Status Printable(const Status& status, size_t limit) {
  if (status.ok()) return status;
  return Status(status.code(), Printable(status.message(), limit))
      .At(Printable(status.where(), limit))
      .Advise(Printable(status.advice(), limit));
}

}  // namespace deputy::host
