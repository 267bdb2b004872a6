#include "cli/messages.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

std::atomic<Verbosity> the_verbosity{Verbosity::kNormal};

Shown Prefix(LogLevel level, const Terminal& terminal) {
  switch (level) {
    case LogLevel::kDebug: return Shown::AsIs(terminal.Paint(Paint::kDim, "debug:").text() + " ");
    case LogLevel::kWarning: return Shown::AsIs(terminal.Paint(Paint::kBold, "warning:").text() + " ");
    case LogLevel::kError: return Shown::AsIs(terminal.Paint(Paint::kBad, "error:").text() + " ");
    case LogLevel::kInfo:
    case LogLevel::kOff: return {};
  }
  return {};
}

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
  Shown line = Prefix(level, TerminalOf(stderr));
  if (source != "host") line += Show("{}: ", source);
  line += Show("{}\n", message);
  PrintOnStderr(line.text());
}

void PrintNote(const std::string& note) { PrintMessage(LogLevel::kInfo, "host", note); }

}  // namespace deputy::cli
