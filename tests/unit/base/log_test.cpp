// What a sink holds is destroyed when it is replaced, whatever calls of it are under way.
#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace deputy::host {
namespace {

void Ignore(LogLevel, std::string_view, std::string_view) {}

TEST(Log, WhatAReplacedSinkHoldsIsGoneWhenSetLogSinkReturns) {
  SetLogSink(Ignore);
  std::atomic<bool> done{false};
  std::thread logging([&] {
    while (!done) LogLine(LogLevel::kInfo, "host", "line");
  });
  int left = 0;
  for (int round = 0; round < 5000; ++round) {
    std::atomic<bool> called{false};
    auto held = std::make_shared<int>(round);
    const std::weak_ptr<int> watched = held;
    SetLogSink([&called, held = std::move(held)](LogLevel, std::string_view, std::string_view) { called = true; });
    while (!called) std::this_thread::yield();
    SetLogSink(Ignore);
    if (!watched.expired()) ++left;
  }
  done = true;
  logging.join();
  SetLogSink(nullptr);
  EXPECT_EQ(left, 0);
}

struct LogsWhenDestroyed {
  ~LogsWhenDestroyed() { LogLine(LogLevel::kInfo, "host", "gone"); }
};

TEST(Log, WhatASinkThatReplacesItselfHoldsIsGoneAfterTheCallAndMayLog) {
  auto held = std::make_shared<LogsWhenDestroyed>();
  const std::weak_ptr<LogsWhenDestroyed> watched = held;
  std::string last;
  SetLogSink([&, held = std::move(held)](LogLevel, std::string_view, std::string_view) {
    SetLogSink([&](LogLevel, std::string_view, std::string_view message) { last = message; });
    EXPECT_FALSE(watched.expired()) << "destroyed while it runs";
  });
  LogLine(LogLevel::kInfo, "host", "line");
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(last, "gone");
  SetLogSink(nullptr);
}

TEST(Log, TextIsTheLevelTheSourceAndTheMessage) {
  SetLogFormat(LogFormat::kText);
  EXPECT_EQ(LogText(LogLevel::kInfo, "host", "loaded"), "loaded");
  EXPECT_EQ(LogText(LogLevel::kWarning, "host", "slow"), "warning: slow");
  EXPECT_EQ(LogText(LogLevel::kError, "npu0", "a\nb"), R"(error: npu0: a\x0ab)");
  EXPECT_EQ(LogText(LogLevel::kDebug, "npu0", "x"), "debug: npu0: x");
  EXPECT_EQ(LogLineFormInUse(), LogLineForm::kText);
  SetLogFormat(LogFormat::kAuto);
}

TEST(Log, JsonIsOneObjectALine) {
  SetLogFormat(LogFormat::kJson);
  const std::string line = LogText(LogLevel::kWarning, "npu0", "a \"name\" \\ and\n");
  testing::internal::CaptureStderr();
  LogLine(LogLevel::kError, "host", "lost");
  EXPECT_EQ(LogLineFormInUse(), LogLineForm::kJson);
  const std::string written = testing::internal::GetCapturedStderr();
  SetLogFormat(LogFormat::kAuto);
  EXPECT_THAT(line, testing::MatchesRegex(R"(\{"time": "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z", )"
                                          R"("level": "warning", "source": "npu0", "message": )"
                                          R"("a \\"name\\" \\\\ and\\\\x0a"\})"));
  EXPECT_THAT(written, testing::EndsWith("\"level\": \"error\", \"source\": \"host\", \"message\": \"lost\"}\n"));
}

}  // namespace
}  // namespace deputy::host
