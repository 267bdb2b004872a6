#include "cli/table.hpp"

#include <algorithm>
#include <cstddef>

namespace deputy::cli {
namespace {

std::string Padded(const Shown& cell, size_t width, Align align) {
  const std::string space(width - std::min(width, cell.width()), ' ');
  return align == Align::kLeft ? cell.text() + space : space + cell.text();
}

}  // namespace

Shown Table::Text(const Terminal& terminal, const std::string& indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<Shown>& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].width());
  for (size_t c = 0; c < columns_.size(); ++c)
    if (widths[c] != 0) widths[c] = std::max(widths[c], WidthOf(columns_[c].title));

  const auto line = [&](const auto& cell) {
    std::string text = indent;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      if (text.size() > indent.size()) text += "  ";
      text += Padded(cell(c), widths[c], columns_[c].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text =
      terminal.Paint(Paint::kDim, line([&](size_t c) { return Shown(columns_[c].title); })).text() + "\n";
  for (const std::vector<Shown>& row : rows_)
    text += line([&](size_t c) { return c < row.size() ? row[c] : Shown(); }) + "\n";
  return Shown::AsIs(std::move(text));
}

}  // namespace deputy::cli
