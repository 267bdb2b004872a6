// Lines of foreign code in the log, up to a rate: what a plugin prints or logs without end is dropped, and one line
// says how much of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace deputy::host {

class LimitedLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kAtOnce = 1000;      // lines
  static constexpr double kPerSecond = 100;    // after them
  static constexpr size_t kBytesOfLine = 256;  // a longer line counts as several

  // `source`: its name in the log.
  explicit LimitedLog(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  // Lines below the user's log level are free. [any-thread]
  void Line(LogLevel level, std::string_view text, Clock::time_point now = Clock::now());
  // At the end of the source: says how many lines were dropped since it was last said. [any-thread]
  void ReportDropped();

 private:
  const std::string source_;
  std::mutex mutex_;
  double free_ = kAtOnce;
  Clock::time_point filled_{};  // when `free_` was counted
  uint64_t dropped_ = 0;
  LogLevel dropped_level_ = LogLevel::kDebug;  // the highest of them
};

}  // namespace deputy::host
