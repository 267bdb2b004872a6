#include "fuzz/lines.hpp"

#include <algorithm>

namespace deputy::fuzz {
namespace {

size_t IndentOf(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

void ReplaceWord(std::string& line, const Lines& words, Random& random) {
  const size_t colon = line.find(": "), indent = IndentOf(line);
  const std::string& word = random.Of(words);
  if (colon == std::string::npos || random.OneIn(3))
    line.replace(indent, std::min(line.find(':', indent), line.size()) - indent, word);
  else
    line = line.substr(0, colon + 2) + word;
}

}  // namespace

const Lines& YamlWords() {
  static const Lines words = {"null",
                              "~",
                              "true",
                              "off",
                              "-1",
                              "017",
                              "1e9",
                              "\"",
                              "'",
                              "{",
                              "}",
                              "[",
                              "]",
                              "- ",
                              ": ",
                              "&a",
                              "*a",
                              "!!str",
                              "<<",
                              "|",
                              ">",
                              "---",
                              "%YAML 1.2",
                              "...",
                              "\t",
                              "#",
                              "?",
                              "\xc3\xa9",
                              "\xff",
                              "9223372036854775807",
                              "18446744073709551616",
                              "10ms",
                              "5 GB",
                              "1000000h",
                              "nan",
                              ".inf"};
  return words;
}

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Bytes BytesOf(const Lines& lines) {
  Bytes bytes;
  for (const std::string& line : lines) {
    bytes.insert(bytes.end(), line.begin(), line.end());
    bytes.push_back('\n');
  }
  return bytes;
}

void ChangeLines(Lines& lines, const Lines& words, Random& random) {
  if (lines.empty()) lines.emplace_back("version: 1");
  std::string& line = random.Of(lines);
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(random.Below(lines.size()));
  switch (random.Below(11)) {
    case 0: lines.erase(place); return;
    case 1: {
      std::string copy = *place;
      lines.insert(place, std::move(copy));
      return;
    }
    case 2: std::swap(line, *place); return;
    case 3: line.insert(0, random.OneIn(2) ? "  " : " "); return;
    case 4: line.erase(0, std::min<size_t>(IndentOf(line), 1 + random.Below(4))); return;
    case 5: line.insert(random.Below(line.size() + 1), random.Of(words)); return;
    case 6: {  // a key of its own under the line
      std::string added(IndentOf(line) + 2 * random.Below(3), ' ');
      added += random.Of(words) + ": " + random.Of(words);
      lines.insert(place, std::move(added));
      return;
    }
    case 7: {
      Bytes bytes = BytesOf(std::string_view(line));
      ChangeBytes(bytes, random, bytes.size() + 64);
      line = TextOf(bytes);
      return;
    }
    default: return ReplaceWord(line, words, random);
  }
}

}  // namespace deputy::fuzz
