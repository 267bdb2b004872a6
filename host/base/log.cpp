#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <map>
#include <memory>
#include <mutex>

#include "base/printable.hpp"

namespace deputy::host {
namespace {

// One object for the process, made on first use and never destroyed: threads of plugins may log until the very end.
struct LogState {
  std::mutex mutex;
  LogLevel level = LogLevel::kInfo;
  std::map<std::string, LogLevel, std::less<>> source_levels;
  LogSink sink;
  std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("deputy", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::debug);
    made->set_pattern("%v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
};

LogState& State() {
  static LogState* state = new LogState;
  return *state;
}

const char* Prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug: ";
    case LogLevel::kWarning: return "warning: ";
    case LogLevel::kError: return "error: ";
    case LogLevel::kInfo:
    case LogLevel::kOff: return "";
  }
  return "";
}

}  // namespace

void SetLogLevel(LogLevel level) {
  std::lock_guard lock(State().mutex);
  State().level = level;
}

void SetLogLevel(std::string_view source, LogLevel level) {
  std::lock_guard lock(State().mutex);
  State().source_levels[std::string(source)] = level;
}

void SetLogSink(LogSink sink) {
  std::lock_guard lock(State().mutex);
  State().sink = std::move(sink);
}

bool LogEnabled(LogLevel level, std::string_view source) {
  std::lock_guard lock(State().mutex);
  const auto found = State().source_levels.find(source);
  return level >= (found == State().source_levels.end() ? State().level : found->second);
}

void LogLine(LogLevel level, std::string_view source, std::string_view message) {
  // Whatever it quotes (names in models, texts of plugins), it is one line that steers no terminal.
  constexpr size_t kLongest = 16 * 1024;
  const std::string line = Printable(message, kLongest);
  LogSink sink;
  {
    std::lock_guard lock(State().mutex);
    sink = State().sink;
  }
  if (sink) {
    sink(level, source, line);
    return;
  }
  if (source == "host") {
    State().logger->info("{}{}", Prefix(level), line);
  } else {
    State().logger->info("{}{}: {}", Prefix(level), Printable(source), line);
  }
}

}  // namespace deputy::host
