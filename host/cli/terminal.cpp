#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace deputy::cli {
namespace {

constexpr auto kQuietFor = std::chrono::seconds(1);

struct Progress {
  bool started = false, shown = false;
  std::chrono::steady_clock::time_point since;
};

Progress& TheProgress() {
  static Progress progress;
  return progress;
}

bool& PrintsTextNow() {
  static bool prints = true;
  return prints;
}

size_t ColumnsOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

std::string Padded(const Shown& cell, size_t width, Align align) {
  const std::string space(width - std::min(width, cell.width()), ' ');
  return align == Align::kLeft ? cell.text() + space : space + cell.text();
}

}  // namespace

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

Shown Terminal::Paint(cli::Paint paint, std::string_view text) const {
  const char* code = "";
  switch (paint) {
    case cli::Paint::kPlain: break;
    case cli::Paint::kBold: code = "1"; break;
    case cli::Paint::kDim: code = "2"; break;
    case cli::Paint::kGood: code = "32"; break;
    case cli::Paint::kBad: code = "1;31"; break;
    case cli::Paint::kInk: code = "96"; break;
  }
  if (!colour || *code == '\0') return text;
  const std::string on = fmt::format("\x1b[{}m", code), off = "\x1b[0m";
  return Shown::AsIs(on + Printable(text) + off, on.size() + off.size());
}

Terminal TerminalOf(std::FILE* stream) {
  Terminal terminal;
  const int descriptor = fileno(stream);
  terminal.tty = isatty(descriptor) == 1;
  const char* kind = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  terminal.colour =
      terminal.tty && (no_colour == nullptr || *no_colour == '\0') && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  const char* charset = nl_langinfo(CODESET);
  terminal.utf8 = charset != nullptr && std::strcmp(charset, "UTF-8") == 0;
  terminal.columns = terminal.tty ? ColumnsOf(descriptor) : 80;
  return terminal;
}

void PrintNoText() { PrintsTextNow() = false; }

bool PrintsText() { return PrintsTextNow(); }

size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void PrintOnStderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void ShowProgress(const std::string& text) {
  Progress& progress = TheProgress();
  const auto now = std::chrono::steady_clock::now();
  if (!progress.started) {
    progress.started = true;
    progress.since = now;
  }
  if (now - progress.since < kQuietFor) return;
  const Terminal terminal = TerminalOf(stderr);
  if (!terminal.tty) return;
  PrintOnStderr("\r\x1b[K" + Printable(text).substr(0, terminal.columns - 1));
  std::fflush(stderr);
  progress.shown = true;
}

void ClearProgress() {
  Progress& progress = TheProgress();
  if (!progress.shown) return;
  PrintOnStderr("\r\x1b[K");
  std::fflush(stderr);
  progress.shown = false;
}

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
