// Messages on stderr: the log of the library, and how much of it is shown (-q, -v).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// From now on the log shows a line once, however often it is logged, and nothing below `least`. Lines of delegates too,
// or those of the host alone.
enum class OnceOf : uint8_t { kAll, kHost };
void PrintLogOnce(LogLevel least = LogLevel::kDebug, OnceOf of = OnceOf::kAll);

// Lines of the host are shown once as long as it lives, for what is done twice. Within it no other sink is set.
class LogOnceScope {
 public:
  LogOnceScope();
  ~LogOnceScope();
  LogOnceScope(const LogOnceScope&) = delete;
  LogOnceScope& operator=(const LogOnceScope&) = delete;

 private:
  const bool is_first_;  // no line was shown once only before
};

// "warning: npu0: message"; `source` is "host" or the name of a delegate. [any-thread]
void PrintMessage(LogLevel level, std::string_view source, std::string_view message);
// A line that is neither an error nor a warning.
void PrintNote(const std::string& note);

}  // namespace deputy::cli
