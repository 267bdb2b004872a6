// Tables for terminals: aligned columns that fit the width of the terminal, and lines of a key and a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/terminal.hpp"

namespace deputy::cli {

enum class Align { kLeft, kRight };

// The form of a cell that is wider than its column. Numbers, which are aligned to the right, are not shortened as long
// as another column can give way.
enum class Fit {
  kMiddle,  // a name, shortened in the middle: "backbone/…/conv1"
  kList,    // names with ", " between them: the first ones
  kWrap,    // a sentence, on several lines
};

// Where the lines of Terminal::columns would be too long, columns with texts become narrower; then columns of the
// highest rank are left out. A terminal that is not bounded, such as a pipe, shows everything in full.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    Fit fit = Fit::kMiddle;
    int rank = 0;  // 0: left out last
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<Shown> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // With a line of titles, if a column has one; without spaces at the ends of lines. Empty columns are left out.
  Shown Text(const Terminal& terminal, const std::string& indent) const;

 private:
  // Per column; 0: left out.
  std::vector<size_t> Widths(const Terminal& terminal, size_t indent) const;
  // The lines of each row's cell in a column of this width; returns the width that they use.
  size_t Fill(size_t column, size_t width, const Terminal& terminal, std::vector<std::vector<Shown>>& lines) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Shown>> rows_;
};

// Lines "key  text", whose texts are wrapped.
class KeyTable {
 public:
  KeyTable() : table_({{""}, {"", Align::kLeft, Fit::kWrap}}) {}
  void Add(Shown key, Shown text) { table_.AddRow({std::move(key), std::move(text)}); }
  Shown Text(const Terminal& terminal, const std::string& indent) const { return table_.Text(terminal, indent); }

 private:
  Table table_;
};

// Rows of a sorted table of which --top shows some, 0: all; and the line about the rest: "  ... and 12 more nodes".
size_t RowsShown(size_t rows, size_t top);
Shown RestText(size_t rows, size_t top, const std::string& noun);

// The words of a line with the indent, wrapped with two more spaces where the terminal is bounded. With its end of
// line.
Shown Paragraph(const Terminal& terminal, const std::string& indent, const Shown& text);

// The text in at most `width` columns. In the middle of a path whole components give way, if first and last one fit.
std::string ShortenMiddle(std::string_view text, size_t width, const Terminal& terminal);
// The first items of "a, b, c" that fit, and an ellipsis.
std::string ShortenList(std::string_view list, size_t width, const Terminal& terminal);
// The words in lines of at most `width` columns; longer words are shortened in the middle.
std::vector<std::string> WrapWords(std::string_view text, size_t width, const Terminal& terminal);

}  // namespace deputy::cli
