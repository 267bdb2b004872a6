// Text from files and plugins, escaped for messages: names may be a megabyte long or hold terminal escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

// Bytes of the well-formed character that `text` begins with, strictly as RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF. 0 if it begins with none.
size_t Utf8Length(std::string_view text);
// Whether a well-formed character is safe and visible in a terminal: no control, no mark of direction, nothing without
// width.
bool IsPrintable(std::string_view character);

// Characters that are not printable and bytes that are not UTF-8 become \xNN, and "..." replaces text beyond `limit`
// bytes. The result is one line of valid UTF-8; escaping it again changes nothing. [any-thread]
std::string Printable(std::string_view text, size_t limit = 120);

// Printable text in double quotes, as in JSON: a backslash before each quote and backslash.
std::string InQuotes(std::string_view printable);

// Printable() of the message, place and advice of a status.
Status Printable(const Status& status, size_t limit = 2000);

}  // namespace deputy::host
