#include "cli/terminal/terminal.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "cli/terminal/progress.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kLeastColumns = 20;

Colours the_colours = Colours::kAuto;

// Neither unset nor empty.
bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool ShowsColours(bool tty) {
  if (the_colours != Colours::kAuto) return the_colours == Colours::kAlways;
  if (IsSet("NO_COLOR")) return false;
  if (IsSet("CLICOLOR_FORCE") && std::strcmp(std::getenv("CLICOLOR_FORCE"), "0") != 0) return true;
  const char* kind = std::getenv("TERM");
  return tty && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

std::optional<size_t> ColumnsOfEnvironment() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return std::nullopt;
  size_t columns = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, columns);
  if (parsed.ec != std::errc() || parsed.ptr != end || columns == 0) return std::nullopt;
  return std::max(columns, kLeastColumns);
}

bool& PrintsTextNow() {
  static bool prints = true;
  return prints;
}

size_t ColumnsOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<size_t>(size.ws_col, kLeastColumns);
  return 80;
}

// wcwidth knows the characters of the thread's locale only.
class Utf8Scope {
 public:
  Utf8Scope() : before_(uselocale(Utf8())) {}
  ~Utf8Scope() { uselocale(before_); }
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;

 private:
  static locale_t Utf8() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);  // part of glibc
    return utf8;
  }
  locale_t before_;
};

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

Shown Shown::AsIs(std::string text) {
  Shown shown;
  shown.text_ = std::move(text);
  return shown;
}

size_t Shown::width() const { return WidthOf(text_); }

std::string Shown::plain() const {
  std::string plain;
  for (size_t at = 0; at < text_.size();) {
    const size_t bytes = CharacterAt(text_, at).bytes;
    if (text_[at] != '\x1b') plain.append(text_, at, bytes);
    at += bytes;
  }
  return plain;
}

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
  return Shown::AsIs(fmt::format("\x1b[{}m{}\x1b[0m", code, Printable(text)));
}

Terminal TerminalOf(std::FILE* stream) {
  Terminal terminal;
  const int descriptor = fileno(stream == stdout ? OwnOutput() : stream);
  terminal.tty = isatty(descriptor) == 1;
  terminal.colour = ShowsColours(terminal.tty);
  const char* charset = nl_langinfo(CODESET);
  terminal.utf8 = charset != nullptr && std::strcmp(charset, "UTF-8") == 0;
  const std::optional<size_t> wanted = ColumnsOfEnvironment();
  terminal.bounded = terminal.tty || wanted;
  terminal.columns = wanted ? *wanted : terminal.tty ? ColumnsOf(descriptor) : 80;
  return terminal;
}

void SetColours(Colours colours) { the_colours = colours; }

void PrintNoText() { PrintsTextNow() = false; }

bool PrintsText() { return PrintsTextNow(); }

Character CharacterAt(std::string_view text, size_t position) {
  const auto lead = static_cast<unsigned char>(text[position]);
  if (lead == 0x1b) {  // Printable lets none pass: it is a colour of this program
    const size_t end = text.find('m', position);
    return {end == std::string_view::npos ? text.size() - position : end + 1 - position, 0};
  }
  if (lead < 0xC0) return {1, lead < 0x80 ? size_t{1} : size_t{0}};
  const size_t bytes = std::min<size_t>(lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.size() - position);
  auto code = static_cast<wchar_t>(lead & (0x7F >> bytes));
  for (size_t i = 1; i < bytes; ++i)
    code = static_cast<wchar_t>(code << 6 | (static_cast<unsigned char>(text[position + i]) & 0x3F));
  const Utf8Scope scope;
  const int width = wcwidth(code);
  return {bytes, width < 0 ? size_t{1} : static_cast<size_t>(width)};
}

size_t WidthOf(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const Character next = CharacterAt(text, at);
    width += next.width;
    at += next.bytes;
  }
  return width;
}

void PrintOnStderr(std::string_view text) {
  const ProgressPause pause;
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace deputy::cli
