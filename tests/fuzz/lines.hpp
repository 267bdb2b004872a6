// Texts of lines, such as YAML: changes that keep most of them well-formed, with words that the format knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/random.hpp"

namespace deputy::fuzz {

using Lines = std::vector<std::string>;

// What YAML treats specially, and numbers at the limits of types.
const Lines& YamlWords();

Lines LinesOf(std::string_view text);
Bytes BytesOf(const Lines& lines);

// A line is removed, repeated, exchanged or indented; a key, or the value behind it, becomes one of the words.
void ChangeLines(Lines& lines, const Lines& words, Random& random);

}  // namespace deputy::fuzz
