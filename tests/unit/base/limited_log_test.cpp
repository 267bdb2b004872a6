// A plugin that floods the log: a part is shown, the rest is counted.
#include "base/limited_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace deputy::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Limited : public ::testing::Test {
 protected:
  Limited() {
    SetLogSink([this](LogLevel level, std::string_view source, std::string_view text) {
      EXPECT_EQ(source, "npu");
      shown_.emplace_back(level, text);
    });
  }
  ~Limited() override {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
  }
  void Flood(size_t lines, LogLevel level = LogLevel::kInfo, const std::string& text = "line") {
    for (size_t i = 0; i < lines; ++i) log_.Line(level, text, now_);
  }
  // Lines since the last call, and the last of them.
  size_t Shown() {
    last_ = shown_.empty() ? std::pair(LogLevel::kOff, std::string()) : shown_.back();
    return std::exchange(shown_, {}).size();
  }

  LimitedLog log_{"npu"};
  LimitedLog::Clock::time_point now_ = LimitedLog::Clock::now();
  std::vector<std::pair<LogLevel, std::string>> shown_;
  std::pair<LogLevel, std::string> last_;
};

TEST_F(Limited, R116_AFloodIsShownInPartAndCounted) {
  Flood(1'000'000);
  EXPECT_EQ(Shown(), 1000u);
  log_.ReportDropped();
  EXPECT_EQ(Shown(), 1u);
  EXPECT_EQ(last_.first, LogLevel::kInfo);
  EXPECT_EQ(last_.second, "dropped 999000 of its lines: more than 100 a second");
  log_.ReportDropped();
  EXPECT_EQ(Shown(), 0u) << "once";
}

TEST_F(Limited, R116_AFloodWithoutEndIsSaidOnceASecond) {
  Flood(2000);
  Shown();
  for (int second = 1; second <= 5; ++second) {
    now_ += milliseconds(500);
    Flood(1000);
    EXPECT_EQ(Shown(), 0u);
    now_ += milliseconds(501);
    Flood(1000);
    EXPECT_EQ(Shown(), 101u) << "the number of those dropped, and a second's";
  }
}

TEST_F(Limited, AfterAPauseAllIsShownAgain) {
  Flood(1001);
  now_ += seconds(20);
  Shown();
  Flood(1);
  EXPECT_EQ(shown_.front().second, "dropped 1 of its lines: more than 100 a second");
  Flood(999);
  EXPECT_EQ(Shown(), 1001u);
}

TEST_F(Limited, LongLinesCountAsSeveral) {
  Flood(1000, LogLevel::kInfo, std::string(8000, 'x'));
  EXPECT_EQ(Shown(), 31u);
}

TEST_F(Limited, LinesBelowTheLevelAreFree) {
  Flood(10'000, LogLevel::kDebug);
  Flood(1000);
  EXPECT_EQ(Shown(), 1000u);
}

TEST_F(Limited, WhatWasDroppedIsSaidAtItsLevelAtMostAsAWarning) {
  Flood(1001, LogLevel::kError);
  Shown();
  log_.ReportDropped();
  EXPECT_EQ(Shown(), 1u);
  EXPECT_EQ(last_.first, LogLevel::kWarning);
}

}  // namespace
}  // namespace deputy::host
