#include "cli/config/config_values.hpp"

#include <cstddef>
#include <sstream>
#include <string_view>
#include <vector>

namespace deputy::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr std::string_view kOrigin = "  # ";

// What stands above a line: keys, and items of lists.
struct Place {
  size_t indent = 0;
  std::string path;
  size_t items = 0;
};

// Without the origin behind it. A value that could be mistaken for one is in quotes.
std::string_view WithoutOrigin(std::string_view text) {
  size_t begin = 0;
  if (!text.empty() && text[0] == '"')
    for (begin = 1; begin < text.size() && text[begin] != '"'; ++begin)
      if (text[begin] == '\\') ++begin;
  return text.substr(0, text.find(kOrigin, begin));
}

// The length of the key that the text begins with; 0 for a single value.
size_t KeyLength(std::string_view text) {
  const size_t end = text.find_first_of(": \"");
  const bool is_key =
      end != std::string_view::npos && end != 0 && text[end] == ':' && (end + 1 == text.size() || text[end + 1] == ' ');
  return is_key ? end : 0;
}

class Reader {
 public:
  void Line(std::string_view line) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) return;
    line.remove_prefix(indent);
    while (!above_.empty() && above_.back().indent >= indent) above_.pop_back();
    if (line.substr(0, kIndent) == "- ") {
      Item(line.substr(kIndent), indent);
    } else {
      Key(line, indent);
    }
  }
  std::map<std::string, std::string> Take() { return std::move(values_); }

 private:
  std::string Below(std::string_view name) const {
    return above_.empty() ? std::string(name) : above_.back().path + "." + std::string(name);
  }

  void Key(std::string_view line, size_t indent) {
    const size_t length = KeyLength(line);
    std::string path = Below(line.substr(0, length));
    if (line.size() > length + 2) values_[path] = WithoutOrigin(line.substr(length + 2));
    above_.push_back({indent, std::move(path), 0});
  }

  void Item(std::string_view line, size_t indent) {
    if (above_.empty()) return;
    const size_t length = KeyLength(line);
    if (length == 0) {
      std::string& list = values_[above_.back().path];
      list += (list.empty() ? "" : ", ") + std::string(WithoutOrigin(line));
      return;
    }
    const bool named = line.substr(0, length) == "name";
    const size_t number = above_.back().items++;
    above_.push_back({indent, Below(named ? WithoutOrigin(line.substr(length + 2)) : std::to_string(number)), 0});
    Key(line, indent + kIndent);
  }

  std::vector<Place> above_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::map<std::string, std::string> ValuesOf(const std::string& shown) {
  Reader reader;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) reader.Line(line);
  return reader.Take();
}

}  // namespace deputy::cli
