// Aligned columns of text.
#pragma once

#include <string>
#include <vector>

#include "cli/shown.hpp"
#include "cli/terminal.hpp"

namespace deputy::cli {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<Shown> cells) { rows_.push_back(std::move(cells)); }
  // With a line of titles; without spaces at the ends of lines. Empty columns are left out.
  Shown Text(const Terminal& terminal, const std::string& indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Shown>> rows_;
};

}  // namespace deputy::cli
