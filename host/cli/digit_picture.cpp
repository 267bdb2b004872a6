#include "cli/digit_picture.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace deputy::cli {
namespace {

constexpr size_t kCellWidth = 2, kCellHeight = 4;
constexpr const char* kGap = "  ";

// By bits: upper left 1, upper right 2, lower left 4, lower right 8.
constexpr std::array<const char*, 16> kQuarters = {" ", "▘", "▝", "▀", "▖", "▌", "▞", "▛",
                                                   "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"};
// The same where there is only ASCII.
constexpr std::array<const char*, 16> kLetters = {" ", "'",  "'", "\"", ".", "|", "/", "#",
                                                  ".", "\\", "|", "#",  "o", "#", "#", "#"};

float MeanOf(const Picture& picture, size_t left, size_t top, size_t width, size_t height) {
  float sum = 0;
  size_t count = 0;
  for (size_t y = top; y < std::min(top + height, picture.height); ++y)
    for (size_t x = left; x < std::min(left + width, picture.width); ++x, ++count) sum += picture.at(x, y);
  return count == 0 ? 0 : sum / static_cast<float>(count);
}

// What parts ink from ground with the least spread on both sides: pictures may be dim, and noisy.
// N. Otsu, A Threshold Selection Method from Gray-Level Histograms, IEEE SMC-9 (1979).
float InkThreshold(const Picture& picture) {
  constexpr size_t kLevels = 64;
  std::array<double, kLevels> counts{};
  double all = 0, moment = 0;
  for (const float pixel : picture.pixels) {
    const auto level = static_cast<size_t>(std::clamp(pixel, 0.0F, 1.0F) * static_cast<float>(kLevels - 1));
    counts[level] += 1;
    all += 1;
    moment += static_cast<double>(level);
  }
  double below = 0, below_moment = 0, best = 0;
  size_t threshold = kLevels / 2;
  for (size_t level = 0; level + 1 < kLevels; ++level) {
    below += counts[level];
    below_moment += static_cast<double>(level) * counts[level];
    if (below == 0 || below == all) continue;
    const double distance = below_moment / below - (moment - below_moment) / (all - below);
    const double spread_between = below * (all - below) * distance * distance;
    if (spread_between <= best) continue;
    best = spread_between;
    threshold = level;
  }
  return (static_cast<float>(threshold) + 0.5F) / static_cast<float>(kLevels - 1);
}

// Which quarters of a cell hold ink, as bits.
size_t Quarters(const Picture& picture, float threshold, size_t left, size_t top) {
  size_t bits = 0;
  for (size_t quarter = 0; quarter < 4; ++quarter)
    if (MeanOf(picture, left + quarter % 2, top + quarter / 2 * 2, 1, 2) > threshold) bits |= size_t{1} << quarter;
  return bits;
}

bool IsBlank(const std::string& line) { return line.find_first_not_of(' ') == std::string::npos; }

std::string DrawRow(const std::vector<std::vector<std::string>>& drawn, const std::vector<Caption>& captions,
                    size_t first, size_t end, const Terminal& terminal) {
  size_t lines = 0;
  for (size_t i = first; i < end; ++i) lines = std::max(lines, drawn[i].size());
  const auto blank = [&](size_t line) {
    return std::all_of(drawn.begin() + static_cast<ptrdiff_t>(first), drawn.begin() + static_cast<ptrdiff_t>(end),
                       [&](const auto& picture) { return line >= picture.size() || IsBlank(picture[line]); });
  };
  size_t top = 0, bottom = lines;
  while (top < bottom && blank(top)) ++top;
  while (bottom > top && blank(bottom - 1)) --bottom;
  std::string text;
  const auto end_line = [&text] {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  for (size_t line = top; line < bottom; ++line) {
    for (size_t i = first; i < end; ++i)
      text += kGap + (line < drawn[i].size() ? terminal.Paint(Paint::kInk, drawn[i][line]) : std::string());
    end_line();
  }
  for (size_t i = first; i < end; ++i) {
    const size_t room = drawn[i].empty() ? 0 : WidthOf(drawn[i].front());
    const size_t width = std::min(room, WidthOf(captions[i].text));
    const size_t before = (room - width) / 2;
    text += kGap + std::string(before, ' ') + terminal.Paint(captions[i].paint, captions[i].text);
    text += std::string(room - width - before, ' ');
  }
  end_line();
  return text + '\n';
}

}  // namespace

std::vector<std::string> DrawPicture(const Picture& picture, bool utf8) {
  const float threshold = InkThreshold(picture);
  const auto& glyphs = utf8 ? kQuarters : kLetters;
  std::vector<std::string> lines;
  for (size_t y = 0; y < picture.height; y += kCellHeight) {
    std::string line;
    for (size_t x = 0; x < picture.width; x += kCellWidth) line += glyphs[Quarters(picture, threshold, x, y)];
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string DrawGallery(const std::vector<Picture>& pictures, const std::vector<Caption>& captions,
                        const Terminal& terminal) {
  std::vector<std::vector<std::string>> drawn;
  size_t widest = 1;
  for (const Picture& picture : pictures) {
    drawn.push_back(DrawPicture(picture, terminal.utf8));
    widest = std::max(widest, drawn.back().empty() ? 0 : WidthOf(drawn.back().front()));
  }
  const size_t fit = std::max<size_t>(1, terminal.columns / (widest + std::string_view(kGap).size()));
  const size_t rows = (pictures.size() + fit - 1) / fit;
  const size_t per_row = rows == 0 ? 1 : (pictures.size() + rows - 1) / rows;
  std::string text;
  for (size_t first = 0; first < pictures.size(); first += per_row)
    text += DrawRow(drawn, captions, first, std::min(first + per_row, pictures.size()), terminal);
  return text;
}

}  // namespace deputy::cli
