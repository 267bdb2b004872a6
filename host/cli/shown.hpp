// Text that is safe for a terminal. Names and texts of models, plugins and files become part of it only after
// Printable, so that they cannot control the terminal or imitate a line of this program. All output of commands goes
// through here.
#pragma once

#include <fmt/format.h>

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

// On stdout.
template <class... Args>
void Print(fmt::format_string<ShownArgument<Args>...> format, const Args&... arguments) {
  PrintOnStdout(Show(format, arguments...).text());
}

// "a, b, c"
std::string Joined(const std::vector<std::string>& texts, std::string_view separator = ", ");

}  // namespace deputy::cli
