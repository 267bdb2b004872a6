#include "base/limited_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deputy::host {

void LimitedLog::Line(LogLevel level, std::string_view text, Clock::time_point now) {
  if (!LogEnabled(level, source_)) return;
  bool resumed = false;
  {
    const std::lock_guard lock(mutex_);
    const double seconds = std::max(std::chrono::duration<double>(now - filled_).count(), 0.0);
    filled_ = now;
    free_ = std::min(free_ + seconds * kPerSecond, kAtOnce);
    const double lines = 1 + static_cast<double>(text.size() / kBytesOfLine);
    // After a drop only in batches, so that the lines which say so stay few.
    if (free_ < std::max(lines, dropped_ == 0 ? 0 : kPerSecond)) {
      ++dropped_;
      dropped_level_ = std::max(dropped_level_, level);
      return;
    }
    free_ -= lines;
    resumed = dropped_ != 0;
  }
  if (resumed) ReportDropped();
  LogLine(level, source_, text);
}

void LimitedLog::ReportDropped() {
  uint64_t dropped = 0;
  LogLevel level = LogLevel::kDebug;
  {
    const std::lock_guard lock(mutex_);
    std::swap(dropped, dropped_);
    std::swap(level, dropped_level_);
  }
  if (dropped == 0) return;
  LogLine(std::min(level, LogLevel::kWarning), source_,
          fmt::format("dropped {} of its lines: more than {} a second", dropped, kPerSecond));
}

}  // namespace deputy::host
