#include "cli/shown.hpp"

#include "cli/terminal.hpp"

namespace deputy::cli {

Shown Shown::Lines(std::string_view text) {
  Shown lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.text_ += Printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    lines.text_ += '\n';
    text.remove_prefix(end + 1);
  }
  return lines;
}

Shown Shown::AsIs(std::string text, size_t invisible) {
  Shown shown;
  shown.text_ = std::move(text);
  shown.invisible_ = invisible;
  return shown;
}

size_t Shown::width() const { return WidthOf(text_) - invisible_; }

std::string Joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += texts[i];
  }
  return joined;
}

}  // namespace deputy::cli
