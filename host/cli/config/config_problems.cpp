#include "cli/config/config_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "deputy/version.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kLongestExcerpt = 160;  // characters of a line
constexpr size_t kGutter = 4;

// The line and its number; of the end of the file, the last line with text.
std::string LineOf(const std::string& file, int& number) {
  std::ifstream stream(file);
  std::string line, next;
  int with_text = 0, read = 0;
  for (; read < number && std::getline(stream, next); ++read)
    if (next.find_first_not_of(" \t\r") != std::string::npos) {
      line = next;
      with_text = read + 1;
    }
  const bool more = read == number && std::getline(stream, next);
  if (more && with_text != number) return {};
  number = with_text;
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

Shown Excerpt(const std::string& file, int number, int column, const Terminal& terminal, Paint paint) {
  int shown = number;
  const std::string line = number > 0 ? LineOf(file, shown) : "";
  if (line.empty() || WidthOf(line) > kLongestExcerpt) return {};
  const size_t at = shown == number ? OffsetOf(line, static_cast<size_t>(column)) : line.size();
  const std::string before = Printable(line.substr(0, at));
  const size_t marked = WidthOf(Printable(WordAt(std::string_view(line).substr(at))));
  Shown text = Show("{} | {}\n", fmt::format("{:>{}}", shown, kGutter), line);
  text += Show("{} | {}{}\n", std::string(kGutter, ' '), std::string(WidthOf(before), ' '),
               terminal.Paint(paint, std::string(std::max<size_t>(marked, 1), '^')));
  return text;
}

// A relative path as a relative reference, so that it is found in another checkout.
std::string UriOf(const std::string& file) {
  std::string uri = file.empty() || file.front() != '/' ? "" : "file://";
  for (const char c : file) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace

Shown ExcerptOf(std::string_view message, const Terminal& terminal) {
  // "file:line:column: text"; a file's name may hold colons.
  const size_t end = message.find(": ");
  const std::string place(message.substr(0, end));
  const size_t second = place.rfind(':');
  const size_t first = second == std::string::npos || second == 0 ? second : place.rfind(':', second - 1);
  if (end == std::string_view::npos || first == std::string::npos || first == 0) return {};
  int line = 0, column = 0;
  const auto number = [&](size_t from, size_t to, int& value) {
    const auto read = std::from_chars(place.data() + from, place.data() + to, value);
    return read.ec == std::errc() && read.ptr == place.data() + to;
  };
  if (!number(first + 1, second, line) || !number(second + 1, place.size(), column)) return {};
  return Excerpt(place.substr(0, first), line, column, terminal, Paint::kBad);
}

Shown ProblemText(const ConfigProblem& problem, const Terminal& terminal) {
  const Paint paint = problem.error ? Paint::kBad : Paint::kBold;
  // Of several lines where a load would end with an error of several lines.
  const std::string_view message = problem.message;
  size_t end = message.find('\n');
  Shown text =
      Show("{}{} {}: {}\n", problem.error ? "deputy: " : "",
           terminal.Paint(paint, problem.error ? "error:" : "warning:"), problem.place, message.substr(0, end));
  while (end != std::string_view::npos) {
    const size_t begin = end + 1;
    end = message.find('\n', begin);
    text += Show("{}\n", message.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  text += Excerpt(problem.file, problem.line, problem.column, terminal, paint);
  return text;
}

Json ToJson(const ConfigProblem& problem) {
  Json json = {{"severity", problem.error ? "error" : "warning"}, {"code", problem.code}, {"file", problem.file}};
  json["line"] = problem.line > 0 ? Json(problem.line) : Json();
  json["column"] = problem.line > 0 ? Json(problem.column) : Json();
  json["message"] = problem.message;
  return json;
}

Json SarifOf(const std::vector<ConfigProblem>& problems) {
  Json results = Json::array(), rules = Json::array();
  std::set<std::string> known;
  for (const ConfigProblem& problem : problems) {
    if (known.insert(problem.code).second) rules.push_back({{"id", problem.code}});
    Json location = {{"logicalLocations", {{{"fullyQualifiedName", problem.place}}}}};
    if (problem.line > 0)
      location = {{"physicalLocation",
                   {{"artifactLocation", {{"uri", UriOf(problem.file)}}},
                    {"region", {{"startLine", problem.line}, {"startColumn", problem.column}}}}}};
    results.push_back({{"ruleId", problem.code},
                       {"level", problem.error ? "error" : "warning"},
                       {"message", {{"text", problem.message}}},
                       {"locations", Json::array({std::move(location)})}});
  }
  Json driver = {{"name", "deputy config check"}, {"version", DEPUTY_VERSION}, {"rules", std::move(rules)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", std::move(driver)}}},
                                 {"columnKind", "unicodeCodePoints"},
                                 {"results", std::move(results)}}})}};
}

}  // namespace deputy::cli
