#include "cli/config_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace deputy::cli {
namespace {

constexpr size_t kLongestExcerpt = 160;  // characters of a line
constexpr size_t kGutter = 4;

std::string LineOf(const std::string& file, int number) {
  std::ifstream stream(file);
  std::string line;
  for (int i = 0; i < number; ++i)
    if (!std::getline(stream, line)) return {};
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

// The offset of the character at `column`, from 1.
size_t OffsetOf(std::string_view line, size_t column) {
  size_t offset = 0;
  for (; column > 1 && offset < line.size(); --column) do
      ++offset;
    while (offset < line.size() && (static_cast<unsigned char>(line[offset]) & 0xC0) == 0x80);
  return offset;
}

// The key or the value at the beginning of the text; at least one character.
std::string_view WordAt(std::string_view text) {
  const char quote = text.empty() ? '\0' : text[0];
  size_t end = 1;
  if (quote == '"' || quote == '\'') {
    const size_t closing = text.find(quote, 1);
    if (closing != std::string_view::npos) return text.substr(0, closing + 1);
  }
  if (quote == '[' || quote == '{') return text.substr(0, 1);
  for (; end < text.size(); ++end) {
    const bool ends = std::string_view(",]}").find(text[end]) != std::string_view::npos;
    const bool key = text[end] == ':' && (end + 1 == text.size() || text[end + 1] == ' ');
    if (ends || key || (text[end] == '#' && text[end - 1] == ' ')) break;
  }
  const std::string_view word = text.substr(0, end);
  return word.substr(0, std::max<size_t>(word.find_last_not_of(' ') + 1, 1));
}

}  // namespace

Shown ProblemText(const ConfigProblem& problem, const Terminal& terminal) {
  const Paint paint = problem.error ? Paint::kBad : Paint::kBold;
  Shown text = Show("deputy: {} {}: {}\n", terminal.Paint(paint, problem.error ? "error:" : "warning:"), problem.place,
                    problem.message);
  const std::string line = problem.line > 0 ? LineOf(problem.file, problem.line) : "";
  if (line.empty() || WidthOf(line) > kLongestExcerpt) return text;
  const size_t at = OffsetOf(line, static_cast<size_t>(problem.column));
  const std::string before = Printable(line.substr(0, at));
  const size_t marked = WidthOf(Printable(WordAt(std::string_view(line).substr(at))));
  text += Show("{} | {}\n", fmt::format("{:>{}}", problem.line, kGutter), line);
  text += Show("{} | {}{}\n", std::string(kGutter, ' '), std::string(WidthOf(before), ' '),
               terminal.Paint(paint, std::string(std::max<size_t>(marked, 1), '^')));
  return text;
}

Json ToJson(const ConfigProblem& problem) {
  Json json = {{"severity", problem.error ? "error" : "warning"}, {"file", problem.file}};
  json["line"] = problem.line > 0 ? Json(problem.line) : Json();
  json["column"] = problem.line > 0 ? Json(problem.column) : Json();
  json["message"] = problem.message;
  return json;
}

}  // namespace deputy::cli
