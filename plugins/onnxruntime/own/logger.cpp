#include "own/logger.hpp"

#include <algorithm>
#include <utility>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort {

void Logger::Log(LoggingLevel level, const char* message) const {
  if (level < kLevel || message == nullptr) return;
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_quiet_ || level == kInfo)
    host_.Debug(line);
  else if (level == kWarning)
    host_.Warning(line);
  else
    host_.Error(line);
  constexpr size_t kMostLines = 16;
  if (lines_.size() == kMostLines) lines_.pop_front();
  lines_.emplace_back(level, std::move(line));
}

void Logger::SetQuiet(bool is_quiet) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_quiet_ = is_quiet;
}

std::string Logger::TakeReason() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  LoggingLevel level = kInfo;
  for (const auto& [of_line, line] : lines_)
    if (of_line >= kWarning) level = kWarning;
  std::string reason;
  for (const auto& [of_line, line] : lines_) {
    if (of_line < level || reason.find(line) != std::string::npos) continue;
    reason += (reason.empty() ? "" : "; ") + line;
  }
  lines_.clear();
  constexpr size_t kMostBytes = 400;
  if (reason.size() > kMostBytes) reason = reason.substr(0, kMostBytes) + "...";
  return reason;
}

namespace own {
namespace {

Status* Logger_LogMessage(const Logger* logger, LoggingLevel level, const char* message, const char*, int,
                          const char*) {
  return Guarded([&]() -> Status* {
    if (logger != nullptr) logger->Log(level, message);
    return nullptr;
  });
}
Status* Logger_GetLoggingSeverityLevel(const Logger*, LoggingLevel* out) {
  *out = Logger::kLevel;
  return nullptr;
}

}  // namespace

void SetLoggerFunctions(Tables& tables) {
  tables.Set(Slot::Logger_LogMessage, Logger_LogMessage);
  tables.Set(Slot::Logger_GetLoggingSeverityLevel, Logger_GetLoggingSeverityLevel);
}

}  // namespace own
}  // namespace ort
