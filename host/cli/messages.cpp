#include "cli/messages.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

std::atomic<Verbosity> the_verbosity{Verbosity::kNormal};

// A finished line, whose first word is the level unless it is one of JSON.
Shown Painted(std::string line, LogLevel level) {
  struct Word {
    LogLevel level;
    std::string_view text;
    Paint paint;
  };
  constexpr Word kWords[] = {{LogLevel::kDebug, "debug:", Paint::kDim},
                             {LogLevel::kWarning, "warning:", Paint::kBold},
                             {LogLevel::kError, "error:", Paint::kBad}};
  for (const Word& word : kWords)
    if (word.level == level && line.compare(0, word.text.size(), word.text) == 0)
      return Show("{}{}\n", TerminalOf(stderr).Paint(word.paint, word.text), line.substr(word.text.size()));
  return Show("{}\n", line);
}

// What the journal expects in front of a line (sd-daemon(3)), also of those below an error.
const char* PriorityOfErrors() { return LogLineFormInUse() == LogLineForm::kJournal ? "<3>" : ""; }

}  // namespace

void SetVerbosity(Verbosity verbosity) {
  the_verbosity = verbosity;
  SetLogSink(PrintMessage);
}

Verbosity TheVerbosity() { return the_verbosity; }

void PrintLogOnce(LogLevel least) {
  SetLogSink([least, lock = std::make_shared<std::mutex>(), said = std::make_shared<std::set<std::string>>()](
                 LogLevel level, std::string_view source, std::string_view message) {
    if (level < least) return;
    const std::lock_guard guard(*lock);
    if (said->insert(fmt::format("{}: {}", source, message)).second) PrintMessage(level, source, message);
  });
}

void PrintMessage(LogLevel level, std::string_view source, std::string_view message) {
  if (the_verbosity == Verbosity::kQuiet && level < LogLevel::kError) return;
  PrintOnStderr(Painted(LogText(level, source, message), level).text());
}

void PrintNote(const std::string& note) { PrintMessage(LogLevel::kInfo, "host", note); }

void PrintError(std::string_view message) {
  ClearProgress();
  if (LogLineFormInUse() == LogLineForm::kJson)
    PrintOnStderr(LogText(LogLevel::kError, "deputy", message) + "\n");
  else
    PrintOnStderr(
        Show("{}deputy: {} {}\n", PriorityOfErrors(), TerminalOf(stderr).Paint(Paint::kBad, "error:"), message).text());
}

void PrintDetail(std::string_view item) {
  if (LogLineFormInUse() == LogLineForm::kJson) return PrintError(item);
  PrintOnStderr(Show("{}  {}\n", PriorityOfErrors(), item).text());
}

void PrintExcerpt(const Shown& excerpt) {
  if (LogLineFormInUse() == LogLineForm::kJson) return;
  std::string_view rest = excerpt.text();
  for (size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1))
    PrintOnStderr(fmt::format("{}{}\n", PriorityOfErrors(), rest.substr(0, end)));
}

}  // namespace deputy::cli
