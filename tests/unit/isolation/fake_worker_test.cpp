// Workers that break the protocol: the host gets an error, the worker is ended, and nothing is left of it.
#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "support/process_state.hpp"
#include "unit/isolation/plugged.hpp"

namespace deputy::host::testing {
namespace {

Status StatusOf(const std::string& way, std::chrono::milliseconds load_timeout = std::chrono::seconds(20)) {
  RemotePluginOptions options;
  options.worker = FAKE_WORKER;
  options.file = way;
  options.call_timeout = load_timeout;
  return RemotePlugin::Start(options).status();
}

struct Way {
  const char* name;
  StatusCode code;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class FakeWorker : public ::testing::TestWithParam<Way> {};

TEST_P(FakeWorker, IsAnErrorThatNamesThePlugin) {
  const size_t descriptors = OpenDescriptors();
  SetLogLevel(LogLevel::kOff);
  const Status status = StatusOf(GetParam().name);
  SetLogLevel(LogLevel::kInfo);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), GetParam().code) << status.ToString();
  EXPECT_NE(status.ToString().find(GetParam().text), std::string::npos) << status.ToString();
  EXPECT_NE(status.ToString().find("plugin "), std::string::npos) << status.ToString();
  EXPECT_TRUE(ChildProcesses().empty());
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

constexpr Way kWays[] = {
    {"exits", StatusCode::kPlugin, "ended with exit status 3 while it was loaded"},
    {"crashes", StatusCode::kPlugin, "was ended by SIGABRT while it was loaded"},
    {"garbage", StatusCode::kPlugin, "while it was loaded"},
    {"other_version", StatusCode::kIncompatible, "is the worker of another version?"},
    {"refuses", StatusCode::kPlugin, "cannot be loaded: no such symbol"},
    {"wrong_magic", StatusCode::kPlugin, "sent an invalid frame"},
    {"endless", StatusCode::kPlugin, "sent an invalid frame"},
    {"wrong_function", StatusCode::kPlugin, "a message that does not belong to the call"},
    {"wrong_kind", StatusCode::kPlugin, "a message that does not belong to the call"},
    {"unknown_callback", StatusCode::kPlugin, "a message that does not belong to the call"},
    {"callback_without_graph", StatusCode::kPlugin, "a message that does not belong to the call"},
    {"notice_of_nothing", StatusCode::kPlugin, "a message that does not belong to the call"},
    {"missing_descriptors", StatusCode::kPlugin, "sent an invalid frame"},
    {"half_frame", StatusCode::kPlugin, "sent an invalid frame"},
    {"half_frame_and_end", StatusCode::kPlugin, "sent an invalid frame"},
    {"descriptors", StatusCode::kPlugin, "sent an invalid frame"},
    {"closes", StatusCode::kPlugin, "was ended, because it closed a channel"},
    {"closes_control", StatusCode::kPlugin, "was ended"},
    {"dies", StatusCode::kPlugin, "was ended by SIGABRT"},
    {"many_delegates", StatusCode::kPlugin, "a result that cannot be read"},
    {"words_left", StatusCode::kPlugin, "a result that cannot be read"},
};
INSTANTIATE_TEST_SUITE_P(Ways, FakeWorker, ::testing::ValuesIn(kWays),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(FakeWorkerTest, WorkerThatSaysNothingIsNotWaitedForLonger) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(StatusOf("silent", std::chrono::milliseconds(50)).code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(ChildProcesses().empty());
}

TEST(FakeWorkerTest, LinesOfLogForNobodyAreTaken) {
  SetLogLevel(LogLevel::kOff);
  EXPECT_TRUE(StatusOf("floods_log").ok());
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace deputy::host::testing
