// Text of unknown origin escaped for messages: files may hold terminal escapes or megabytes.
#pragma once

#include <string>
#include <string_view>

namespace deputy::host {

// Control characters (C0, DEL, C1) as \xNN escapes; everything else unchanged.
std::string Escaped(std::string_view text);

// 'text', escaped, cut after 60 bytes with "..." at a whole character.
std::string Quoted(std::string_view text);

}  // namespace deputy::host
