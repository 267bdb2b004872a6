#include "cli/inputs/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cli/inputs/picture_file.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kLargestSide = 4096;
constexpr size_t kMostBytes = kLargestSide * kLargestSide + 4096;

constexpr size_t kCellWidth = 2, kCellHeight = 4;
constexpr float kInkThreshold = 0.42F;
constexpr const char* kGap = "  ";

// By bits: upper left 1, upper right 2, lower left 4, lower right 8.
constexpr std::array<const char*, 16> kQuarters = {" ", "▘", "▝", "▀", "▖", "▌", "▞", "▛",
                                                   "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"};
constexpr std::string_view kShades = " .:-=+*#%@";

float MeanOf(const Picture& picture, size_t left, size_t top, size_t width, size_t height) {
  float sum = 0;
  size_t count = 0;
  for (size_t y = top; y < std::min(top + height, picture.height); ++y)
    for (size_t x = left; x < std::min(left + width, picture.width); ++x, ++count) sum += picture.at(x, y);
  return count == 0 ? 0 : sum / static_cast<float>(count);
}

std::string QuarterBlock(const Picture& picture, size_t left, size_t top) {
  size_t bits = 0;
  for (size_t quarter = 0; quarter < 4; ++quarter)
    if (MeanOf(picture, left + quarter % 2, top + quarter / 2 * 2, 1, 2) > kInkThreshold) bits |= size_t{1} << quarter;
  return kQuarters[bits];
}

std::string Shade(const Picture& picture, size_t left, size_t top) {
  const float ink = MeanOf(picture, left, top, kCellWidth, kCellHeight);
  const auto level = static_cast<size_t>(ink * static_cast<float>(kShades.size() - 1) + 0.5F);
  return std::string(1, kShades[std::min(level, kShades.size() - 1)]);
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
      text += kGap + (line < drawn[i].size() ? terminal.Paint(Paint::kInk, drawn[i][line]).text() : std::string());
    end_line();
  }
  for (size_t i = first; i < end; ++i) {
    const size_t room = drawn[i].empty() ? 0 : WidthOf(drawn[i].front());
    const size_t width = std::min(room, WidthOf(captions[i].text));
    const size_t before = (room - width) / 2;
    text += kGap + std::string(before, ' ') + terminal.Paint(captions[i].paint, captions[i].text).text();
    text += std::string(room - width - before, ' ');
  }
  end_line();
  return text + '\n';
}

}  // namespace

Result<Picture> ParsePgm(const std::string& name, const std::string& bytes) {
  const auto refuse = [&](const std::string& why) {
    return Status(StatusCode::kInvalidArgument, why).At(name).Advise("a picture is a binary PGM file of 8 bits");
  };
  const Result<PnmHeader> header = ReadPnmHeader(bytes);
  if (!header.ok()) return refuse(header.status().message());
  if (header->channels != 1) return refuse("not a PGM file");
  const size_t white = header->largest, begin = header->begin;
  Picture picture{header->width, header->height, {}};
  if (picture.width == 0 || picture.height == 0 || picture.width > kLargestSide || picture.height > kLargestSide)
    return refuse(fmt::format("its size {}x{} is out of range", picture.width, picture.height));
  if (white > 255) return refuse(fmt::format("its largest value is {}, not 1 to 255", white));
  const size_t count = picture.width * picture.height;
  if (bytes.size() - begin < count)
    return refuse(fmt::format("it ends after {} of {} pixels", bytes.size() - begin, count));
  picture.pixels.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(static_cast<unsigned char>(bytes[begin + i]));
    picture.pixels.push_back(std::min(1.0F, value / static_cast<float>(white)));
  }
  return picture;
}

Result<Picture> ReadPgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Status(StatusCode::kNotFound, "cannot be read").At(path);
  if (file.tellg() > static_cast<std::streamoff>(kMostBytes))
    return Status(StatusCode::kInvalidArgument, "is too large for a picture").At(path);
  file.seekg(0);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ParsePgm(path, bytes);
}

std::vector<std::string> DrawPicture(const Picture& picture, bool utf8) {
  std::vector<std::string> lines;
  for (size_t y = 0; y < picture.height; y += kCellHeight) {
    std::string line;
    for (size_t x = 0; x < picture.width; x += kCellWidth)
      line += utf8 ? QuarterBlock(picture, x, y) : Shade(picture, x, y);
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
