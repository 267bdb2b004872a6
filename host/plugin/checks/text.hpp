// Text that comes from plugins, checked for UTF-8, bounded, and made harmless before it reaches a terminal; and texts
// of messages about them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "deputy/abi/base.h"

namespace deputy::host {

// Strictly as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// Names of plugins, delegates and options: 1 to 128 of [A-Za-z0-9_.-].
bool IsPluginName(std::string_view text);

// At most `limit` bytes, whole characters; unprintable ones become spaces, invalid bytes '?'.
std::string CleanText(std::string_view text, size_t limit = 1024);

// "2 s", "2500 ms"
std::string TimeText(std::chrono::milliseconds time);

// A copy of `text` of at most `limit` bytes, or why there is none ("is not UTF-8").
struct CopiedText {
  std::string text;
  std::string fault;  // empty: none
};
CopiedText CopyText(const deputy_str& text, size_t limit);

}  // namespace deputy::host
