// The host's log. It is written through spdlog, which only log.cpp includes: including it here would cost every source
// file half a second.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace deputy::host {

enum class LogLevel : int { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4, kOff = 5 };

// The form of a line on stderr. kAuto: text, and where stderr is the journal of systemd its priority in front, "<4>".
enum class LogFormat : int { kAuto, kText, kJson };

// All that is configured of the log. Sources that are not named have `level`.
struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  std::map<std::string, LogLevel, std::less<>> source_levels;
  LogFormat format = LogFormat::kAuto;
};

// The form that kAuto stands for where stderr is, or the one that is set.
enum class LogLineForm : int { kText = 1, kJournal, kJson };

// Takes a finished line. `source` is "host" or the name of a delegate.
using LogSink = std::function<void(LogLevel, std::string_view source, std::string_view message)>;

// Process-wide. The default level is kInfo and the default sink writes to stderr. [any-thread]
void SetLogLevel(LogLevel level);
void SetLogLevel(std::string_view source, LogLevel level);
// The source has the level of all others again.
void UnsetLogLevel(std::string_view source);
void SetLogSink(LogSink sink);  // null restores the default
void SetLogFormat(LogFormat format);
LogSettings CurrentLogSettings();
void SetLogSettings(LogSettings settings);
LogLineForm LogLineFormInUse();
// "debug", "info", "warning", "error": the level in JSON.
const char* NameOf(LogLevel level);
// The line of the default sink, without its end: "warning: npu0: message", or an object of JSON.
std::string LogText(LogLevel level, std::string_view source, std::string_view message);
bool LogEnabled(LogLevel level, std::string_view source);
void LogLine(LogLevel level, std::string_view source, std::string_view message);

template <class... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level, "host")) LogLine(level, "host", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace deputy::host
