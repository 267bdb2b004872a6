// Properties of the terminal at stdout or stderr: colour, UTF-8, number of columns; and the line of progress.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/shown.hpp"

namespace deputy::cli {

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

}  // namespace deputy::cli
