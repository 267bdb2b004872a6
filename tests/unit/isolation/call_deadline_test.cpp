#include "isolation/call_deadline.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/cancellation.hpp"
#include "base/fault_limits.hpp"

namespace deputy::host {
namespace {

using std::chrono::seconds;

TEST(CallDeadline, ARunHasTheTimeOfThoseBeforeIt) {
  deputy_run_args args{};
  CallDeadline limit(seconds(100), args);
  EXPECT_LE(limit.left(), seconds(100));
  limit.AllowFor(5);
  EXPECT_GT(limit.left(), seconds(400));
  EXPECT_LE(limit.left(), seconds(500));
  EXPECT_EQ(limit.name(), FaultLimits::kTimeout);
}

TEST(CallDeadline, ADeadlineIsThatOfAnyNumberOfRuns) {
  deputy_run_args args{};
  args.deadline_ns = NowNs() + 150'000'000'000;
  CallDeadline limit(seconds(100), args);
  EXPECT_EQ(limit.name(), FaultLimits::kTimeout);
  limit.AllowFor(5);
  EXPECT_EQ(limit.name(), FaultLimits::kDeadline);
  EXPECT_LE(limit.left(), seconds(151));
  limit.AllowFor(1);
  EXPECT_EQ(limit.name(), FaultLimits::kTimeout);
}

TEST(CallDeadline, NoTimeoutIsNoneForAnyNumberOfRuns) {
  CallDeadline limit(std::chrono::milliseconds(0), deputy_run_args{});
  limit.AllowFor(7);
  EXPECT_FALSE(limit.exists());
}

}  // namespace
}  // namespace deputy::host
