#include "base/spin.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace deputy::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST(SpinTime, EndsWhereItIsInVainAndTriesAgain) {
  bool happened = false;
  const std::chrono::nanoseconds most = milliseconds(2);
  SpinTime spin(most);
  const auto polls = [&] {  // whether it took as long as allowed
    const Clock::time_point begin = Clock::now();
    EXPECT_EQ(spin.Poll([&] { return happened; }), happened);
    return Clock::now() - begin >= most;
  };
  EXPECT_TRUE(polls());
  for (int i = 0; i < 20; ++i) (void)polls();
  int tries = 0;
  constexpr int kPolls = 320;
  for (int i = 0; i < kPolls; ++i) tries += polls() ? 1 : 0;
  EXPECT_GE(tries, kPolls / 32);
  happened = true;
  for (int i = 0; i < 40; ++i) (void)polls();  // a try succeeds
  happened = false;
  EXPECT_TRUE(polls());
}

TEST(SpinTime, OfZeroNeverPolls) {
  SpinTime spin(microseconds(0));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(spin.Poll([] { return false; }));
  EXPECT_TRUE(spin.Poll([] { return true; }));
}

}  // namespace
}  // namespace deputy::host
