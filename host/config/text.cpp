#include "config/text.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace deputy::host {
namespace {

constexpr size_t kLongestQuote = 60;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string Quoted(std::string_view text) {
  if (text.size() <= kLongestQuote) return "'" + Escaped(text) + "'";
  size_t end = kLongestQuote;
  while (end > 0 && IsContinuation(text[end])) --end;
  return "'" + Escaped(text.substr(0, end)) + "...'";
}

}  // namespace deputy::host
