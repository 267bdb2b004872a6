// What the other end of stdout or stderr can show: colour, UTF-8, how many columns; and the one line of progress.
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
  bool colour = false;  // a terminal, and neither NO_COLOR nor TERM=dumb says otherwise
  bool utf8 = false;    // by the locale
  size_t columns = 80;

  // The text in its colour, or as it is where there are no colours.
  Shown Paint(cli::Paint paint, std::string_view text) const;
  // `pretty` where the locale has it, else `plain`.
  const char* Either(const char* pretty, const char* plain) const { return utf8 ? pretty : plain; }
};

Terminal TerminalOf(std::FILE* stream);

// Characters, where every one is one column wide: continuation bytes of UTF-8 do not count.
size_t WidthOf(std::string_view text);

// Messages must not change the exit status, so that a stderr that cannot be written is no error.
void PrintOnStderr(std::string_view text);

// Shows a line on stderr that the next one replaces, if that is a terminal and a second has passed since the first
// call.
void ShowProgress(const std::string& text);
// Takes it away; to be called before anything else is printed.
void ClearProgress();

}  // namespace deputy::cli
