// Output of commands: text that is safe for a terminal, the properties of the terminal, the line of progress, tables.
// Names and texts of models, plugins and files are printed only after Printable, so that they cannot control the
// terminal or imitate a line of this program.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/standard_streams.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {

class Shown {
 public:
  Shown() = default;
  // One line: characters that are not printable are escaped, line breaks too.
  Shown(std::string_view text) : text_(Printable(text)) {}           // NOLINT(google-explicit-constructor)
  Shown(const std::string& text) : Shown(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Shown(const char* text) : Shown(std::string_view(text)) {}         // NOLINT(google-explicit-constructor)
  // Lines: as above, but line breaks are kept.
  static Shown Lines(std::string_view text);
  // Text that consists of this program's own characters and of text that is already safe. `invisible` of its bytes are
  // colours.
  static Shown AsIs(std::string text, size_t invisible = 0);

  Shown& operator+=(const Shown& more) {
    text_ += more.text_;
    invisible_ += more.invisible_;
    return *this;
  }
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Characters, where every one is one column wide.
  size_t width() const;

 private:
  std::string text_;
  size_t invisible_ = 0;
};

// The form of an argument: text is escaped unless it is Shown, numbers are unchanged.
template <class T>
using ShownArgument =
    std::conditional_t<std::is_same_v<T, Shown> || std::is_convertible_v<const T&, std::string_view>, std::string, T>;

template <class T>
ShownArgument<T> ToShown(const T& argument) {
  if constexpr (std::is_same_v<T, Shown>) {
    return argument.text();
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Shown(std::string_view(argument)).text();
  } else {
    static_assert(std::is_arithmetic_v<T>, "neither text nor a number; a list is text after Joined()");
    return argument;
  }
}

template <class... Args>
Shown Show(fmt::format_string<ShownArgument<Args>...> format, const Args&... arguments) {
  return Shown::AsIs(fmt::format(format, ToShown(arguments)...));
}

// For --json: from now on Print prints nothing, so that stdout holds the object alone.
void PrintNoText();
bool PrintsText();

// On stdout.
template <class... Args>
void Print(fmt::format_string<ShownArgument<Args>...> format, const Args&... arguments) {
  if (PrintsText()) PrintOnStdout(Show(format, arguments...).text());
}

// "a, b, c"
std::string Joined(const std::vector<std::string>& texts, std::string_view separator = ", ");

enum class Paint { kPlain, kBold, kDim, kGood, kBad, kInk };

struct Terminal {
  bool tty = false;
  bool colour = false;  // a terminal, and neither NO_COLOR nor TERM=dumb is set
  bool utf8 = false;    // by the locale
  size_t columns = 80;

  // The text in its colour, or plain text without colours.
  Shown Paint(cli::Paint paint, std::string_view text) const;
  // `pretty` in UTF-8 locales, else `plain`.
  const char* Either(const char* pretty, const char* plain) const { return utf8 ? pretty : plain; }
};

Terminal TerminalOf(std::FILE* stream);

// Characters, where every one is one column wide: continuation bytes of UTF-8 do not count.
size_t WidthOf(std::string_view text);

// Ignores errors: an unwritable stderr must not change the exit status.
void PrintOnStderr(std::string_view text);

// Shows a line of progress on stderr, replaced by the next one, if stderr is a terminal and a second has passed since
// the first call.
void ShowProgress(const std::string& text);
// Removes it; to be called before any other output.
void ClearProgress();

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
