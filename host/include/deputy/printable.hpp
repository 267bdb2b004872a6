// Texts of messages: names from models and plugins, which may hold any bytes, made safe for a terminal or a log, and
// suggestions for mistyped names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace deputy {

// One line of valid UTF-8 without control characters, marks of direction or invisible characters: their bytes, and
// bytes that are not UTF-8, become \xNN. "..." replaces the rest beyond `limit` bytes. [any-thread]
std::string Printable(std::string_view text, size_t limit = size_t{1} << 20);

// "; did you mean 'image'?" with the candidate nearest to an unknown word, or nothing if none is near. [any-thread]
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/printable.hpp"  // IWYU pragma: export
#endif
