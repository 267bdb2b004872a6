#include "cli/terminal/table.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace deputy::cli {
namespace {

constexpr size_t kColumnGap = 2;  // between columns
// Columns are left out before texts become narrower than this.
constexpr size_t kLeastName = 16, kLeastText = 24;

// The longest beginning, or end, of at most `width` columns.
std::string_view Beginning(std::string_view text, size_t width) {
  size_t end = 0, used = 0;
  while (end < text.size()) {
    const Character next = CharacterAt(text, end);
    if (used + next.width > width) break;
    used += next.width;
    end += next.bytes;
  }
  return text.substr(0, end);
}

std::string_view End(std::string_view text, size_t width) {
  size_t begin = 0, left = WidthOf(text);
  while (left > width) {
    const Character next = CharacterAt(text, begin);
    left -= next.width;
    begin += next.bytes;
  }
  // Marks that combine with a character that is cut off.
  while (begin < text.size() && CharacterAt(text, begin).width == 0) begin += CharacterAt(text, begin).bytes;
  return text.substr(begin);
}

std::string Joined3(std::string_view head, std::string_view middle, std::string_view tail) {
  return std::string(head).append(middle).append(tail);
}

size_t Least(const Table::Column& column, size_t natural) {
  if (column.align == Align::kRight) return natural;
  const size_t least = column.fit == Fit::kWrap ? kLeastText : kLeastName;
  return std::min(natural, std::max(least, WidthOf(column.title)));
}

// Reduces the widest of the columns that may be reduced, down to `least`, until `excess` columns are saved; returns
// the rest.
size_t Reduce(std::vector<size_t>& widths, const std::vector<size_t>& least, size_t excess) {
  for (; excess > 0; --excess) {
    size_t widest = SIZE_MAX;
    for (size_t c = 0; c < widths.size(); ++c)
      if (widths[c] > least[c] && (widest == SIZE_MAX || widths[c] > widths[widest])) widest = c;
    if (widest == SIZE_MAX) return excess;
    --widths[widest];
  }
  return 0;
}

size_t LineWidth(const std::vector<size_t>& widths) {
  const auto shown = static_cast<size_t>(std::count_if(widths.begin(), widths.end(), [](size_t w) { return w != 0; }));
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + (shown == 0 ? 0 : (shown - 1) * kColumnGap);
}

std::vector<Shown> LinesOf(const Shown& cell, const Table::Column& column, size_t width, const Terminal& terminal) {
  if (cell.width() <= width) return {cell};
  const std::string text = cell.plain();  // a shortened cell has no colours
  const auto safe = [](std::string line) { return Shown::AsIs(std::move(line)); };
  if (column.fit == Fit::kList) return {safe(ShortenList(text, width, terminal))};
  if (column.fit != Fit::kWrap || column.align == Align::kRight) return {safe(ShortenMiddle(text, width, terminal))};
  std::vector<Shown> lines;
  for (std::string& line : WrapWords(text, width, terminal)) lines.push_back(safe(std::move(line)));
  return lines;
}

std::string Padded(const Shown& cell, size_t width, Align align) {
  const std::string space(width - std::min(width, cell.width()), ' ');
  return align == Align::kLeft ? cell.text() + space : space + cell.text();
}

}  // namespace

std::string ShortenMiddle(std::string_view text, size_t width, const Terminal& terminal) {
  if (WidthOf(text) <= width) return std::string(text);
  const std::string_view ellipsis = terminal.Either("…", "...");
  if (width <= WidthOf(ellipsis)) return std::string(Beginning(text, width));
  const size_t room = width - WidthOf(ellipsis);
  const size_t first = text.find('/', 1);
  size_t last = text.rfind('/');
  if (first < last && last != std::string_view::npos) {
    const std::string_view head = text.substr(0, first + 1);
    if (WidthOf(head) + WidthOf(text.substr(last)) <= room) {
      for (size_t before = text.rfind('/', last - 1); before > first; before = text.rfind('/', last - 1)) {
        if (WidthOf(head) + WidthOf(text.substr(before)) > room) break;
        last = before;
      }
      return Joined3(head, ellipsis, text.substr(last));
    }
  }
  const std::string_view head = Beginning(text, room / 2);
  return Joined3(head, ellipsis, End(text, room - WidthOf(head)));
}

std::string ShortenList(std::string_view list, size_t width, const Terminal& terminal) {
  if (WidthOf(list) <= width) return std::string(list);
  const std::string more = std::string(", ") + terminal.Either("…", "...");
  size_t end = 0;
  for (size_t next = list.find(", "); next != std::string_view::npos; next = list.find(", ", next + 2)) {
    if (WidthOf(list.substr(0, next)) + WidthOf(more) > width) break;
    end = next;
  }
  if (end != 0) return Joined3(list.substr(0, end), more, "");
  const size_t first = list.find(", ");
  if (first == std::string_view::npos || width <= WidthOf(more)) return ShortenMiddle(list, width, terminal);
  return ShortenMiddle(list.substr(0, first), width - WidthOf(more), terminal) + more;
}

std::vector<std::string> WrapWords(std::string_view text, size_t width, const Terminal& terminal) {
  std::vector<std::string> lines = {""};
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  lines.back() = std::string(std::min(indent, width / 2), ' ');
  bool begun = false;  // the line has a word
  for (size_t begin = indent; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (begun && WidthOf(lines.back()) + 1 + WidthOf(word) > width) {
      lines.emplace_back(std::min(indent, width / 2), ' ');
      begun = false;
    }
    if (begun) lines.back() += ' ';
    lines.back() += ShortenMiddle(word, width - WidthOf(lines.back()), terminal);
    begun = true;
  }
  return lines;
}

std::vector<size_t> Table::Widths(const Terminal& terminal, size_t indent) const {
  std::vector<size_t> natural(columns_.size(), 0);
  for (const std::vector<Shown>& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) natural[c] = std::max(natural[c], row[c].width());
  for (size_t c = 0; c < columns_.size(); ++c)
    if (natural[c] != 0) natural[c] = std::max(natural[c], WidthOf(columns_[c].title));
  if (!terminal.bounded || LineWidth(natural) + indent <= terminal.columns) return natural;

  const size_t room = terminal.columns - std::min(indent, terminal.columns - 1);
  std::vector<size_t> least(columns_.size(), 0);
  for (size_t c = 0; c < columns_.size(); ++c) least[c] = Least(columns_[c], natural[c]);
  const auto leave_out = [&](size_t c) { natural[c] = least[c] = 0; };
  while (LineWidth(least) > room) {
    size_t worst = SIZE_MAX;
    for (size_t c = 0; c < columns_.size(); ++c)
      if (natural[c] != 0 && columns_[c].rank > 0 && (worst == SIZE_MAX || columns_[c].rank >= columns_[worst].rank))
        worst = c;
    if (worst == SIZE_MAX) break;
    leave_out(worst);
  }
  for (;;) {
    std::vector<size_t> widths = natural;
    const size_t line = LineWidth(widths);
    size_t excess = Reduce(widths, least, line > room ? line - room : 0);
    // All columns are needed: texts, and in the end numbers, become as narrow as it takes.
    std::vector<size_t> one(columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c)
      one[c] = columns_[c].align == Align::kRight ? widths[c] : std::min<size_t>(widths[c], 4);
    excess = Reduce(widths, one, excess);
    const auto shown = std::count_if(widths.begin(), widths.end(), [](size_t w) { return w != 0; });
    if (shown <= 1)
      for (size_t& width : widths) width = std::min(width, room);
    if (excess == 0 || shown <= 1) return widths;
    for (size_t c = columns_.size(); c-- > 0;) {
      if (natural[c] == 0) continue;
      leave_out(c);
      break;
    }
  }
}

size_t RowsShown(size_t rows, size_t top) { return top == 0 ? rows : std::min(rows, top); }

Shown RestText(size_t rows, size_t top, const std::string& noun) {
  const size_t rest = rows - RowsShown(rows, top);
  return rest == 0 ? Shown() : Show("  and {} more {}{}; --top 0 lists all\n", rest, noun, rest == 1 ? "" : "s");
}

Shown Paragraph(const Terminal& terminal, const std::string& indent, const Shown& text) {
  const size_t width = terminal.columns - std::min(indent.size() + 2, terminal.columns / 2);
  if (!terminal.bounded || text.width() + indent.size() <= terminal.columns)
    return Shown::AsIs(indent + text.text() + "\n");
  std::string lines;
  for (const std::string& line : WrapWords(text.plain(), width, terminal))
    lines += indent + (lines.empty() ? "" : "  ") + line + "\n";
  return Shown::AsIs(std::move(lines));
}

Shown Table::Text(const Terminal& terminal, const std::string& indent) const {
  std::vector<size_t> widths = Widths(terminal, indent.size());
  std::vector<std::vector<std::vector<Shown>>> lines(columns_.size());  // per column and row
  for (size_t c = 0; c < columns_.size(); ++c) widths[c] = Fill(c, widths[c], terminal, lines[c]);
  // Shortened texts rarely use all of their room: a sentence does.
  const size_t used = LineWidth(widths) + indent.size();
  for (size_t c = 0; c < columns_.size() && terminal.bounded && used < terminal.columns; ++c) {
    if (columns_[c].fit != Fit::kWrap || widths[c] == 0) continue;
    widths[c] = Fill(c, widths[c] + terminal.columns - used, terminal, lines[c]);
    break;
  }

  std::string text;
  const auto line_of = [&](const auto& cell) {
    std::string line = indent;
    bool first = true;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      if (!first) line.append(kColumnGap, ' ');
      first = false;
      line += Padded(cell(c), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  if (std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); })) {
    const auto title = [&](size_t c) { return Shown(ShortenMiddle(columns_[c].title, widths[c], terminal)); };
    text += terminal.Paint(Paint::kDim, line_of(title)).text() + "\n";
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    size_t count = 1;
    for (size_t c = 0; c < columns_.size(); ++c)
      if (widths[c] != 0) count = std::max(count, lines[c][r].size());
    for (size_t l = 0; l < count; ++l)
      text += line_of([&](size_t c) { return l < lines[c][r].size() ? lines[c][r][l] : Shown(); }) + "\n";
  }
  return Shown::AsIs(std::move(text));
}

size_t Table::Fill(size_t column, size_t width, const Terminal& terminal,
                   std::vector<std::vector<Shown>>& lines) const {
  if (width == 0) return 0;
  lines.assign(rows_.size(), {});
  size_t used = std::min(width, WidthOf(columns_[column].title));
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (column < rows_[r].size()) lines[r] = LinesOf(rows_[r][column], columns_[column], width, terminal);
    for (const Shown& line : lines[r]) used = std::max(used, line.width());
  }
  return used;
}

}  // namespace deputy::cli
