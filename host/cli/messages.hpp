// Messages on stderr: the log of the library, and how much of it is shown (-q, -v).
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

enum class Verbosity {
  kQuiet,    // errors only
  kNormal,   // and warnings and notes
  kVerbose,  // and all that the log has, with the stages of loading
};

// For the whole process. From now on the library's log is printed here, so that it and the line of progress do not
// disturb each other.
void SetVerbosity(Verbosity verbosity);
Verbosity TheVerbosity();

// From now on the log shows a line once, however often it is logged, and nothing below `least`.
void PrintLogOnce(LogLevel least = LogLevel::kDebug);

// "warning: npu0: message"; `source` is "host" or the name of a delegate. [any-thread]
void PrintMessage(LogLevel level, std::string_view source, std::string_view message);
// "deputy: error: message", or in the form of `log: {format}`. The line of progress ends. [any-thread]
void PrintError(std::string_view message);
// An item of the list below an error: in JSON, where nothing but objects belongs on stderr, an error of its own.
void PrintDetail(std::string_view item);
// The lines of a file below an error; not in JSON.
void PrintExcerpt(const Shown& excerpt);
// A line that is neither an error nor a warning.
void PrintNote(const std::string& note);

}  // namespace deputy::cli
