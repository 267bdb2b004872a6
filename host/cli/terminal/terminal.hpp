// Output of commands: text that is safe for a terminal, and the properties of the terminal.
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
  // Text that consists of this program's own characters and colours and of text that is already safe.
  static Shown AsIs(std::string text);

  Shown& operator+=(const Shown& more) {
    text_ += more.text_;
    return *this;
  }
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Columns of the terminal.
  size_t width() const;
  // Without colours.
  std::string plain() const;

 private:
  std::string text_;
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
  bool colour = false;
  bool utf8 = false;  // by the locale
  size_t columns = 80;
  bool bounded = false;  // lines of tables must not be longer than `columns`

  // The text in its colour, or plain text without colours.
  Shown Paint(cli::Paint paint, std::string_view text) const;
  // `pretty` in UTF-8 locales, else `plain`.
  const char* Either(const char* pretty, const char* plain) const { return utf8 ? pretty : plain; }
};

// Colours are shown as SetColours says. `columns` are those of $COLUMNS, which also bounds tables in a pipe, else of
// the terminal.
Terminal TerminalOf(std::FILE* stream);

enum class Colours {
  kAuto,  // on a terminal whose TERM is not dumb; never with NO_COLOR, always with CLICOLOR_FORCE
  kAlways,
  kNever,
};
// For the whole process; before the first output.
void SetColours(Colours colours);

// A character of UTF-8 text, or an escape sequence, which has no width.
struct Character {
  size_t bytes = 1;
  size_t width = 1;  // columns: 0 for marks that combine, 2 for wide characters
};
Character CharacterAt(std::string_view text, size_t position);

// Columns of a text on a terminal.
size_t WidthOf(std::string_view text);

// Ignores errors: an unwritable stderr must not change the exit status.
void PrintOnStderr(std::string_view text);

}  // namespace deputy::cli
