#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
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

size_t ColumnsOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

}  // namespace

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

}  // namespace deputy::cli
