#include "cli/report/message_log.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(MessageLog, ItHasLevelSourceAndMessage) {
  MessageLog log;
  EXPECT_EQ(log.ToJson(), Json::array());
  log.Add(LogLevel::kError, "npu0", "lost");
  EXPECT_EQ(log.ToJson(), Json::parse(R"([{"level": "error", "source": "npu0", "message": "lost"}])"));
}

TEST(MessageLog, TheLastEntryCountsThoseThatAreLeftOut) {
  MessageLog log(2);
  for (const char* message : {"a", "b"}) log.Add(LogLevel::kInfo, "host", message);
  EXPECT_EQ(log.ToJson().size(), 2U);
  for (const char* message : {"c", "d"}) log.Add(LogLevel::kInfo, "host", message);
  const Json messages = log.ToJson();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[1]["message"], "b");
  EXPECT_EQ(messages[2]["message"], "2 further messages left out");
}

}  // namespace
}  // namespace deputy::cli
