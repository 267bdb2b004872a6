#include "plan/health.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/cancellation.hpp"
#include "support/test_clock.hpp"

namespace deputy::host {
namespace {

constexpr std::chrono::nanoseconds kFirstBackOff(DelegateHealth::kFirstBackOffNs);

TEST(DelegateHealth, TwoFailuresAreNotEnough) {
  DelegateHealth health;
  EXPECT_TRUE(health.Admits());
  EXPECT_FALSE(health.DeviceFailed());
  EXPECT_FALSE(health.DeviceFailed());
  EXPECT_TRUE(health.Admits());
  EXPECT_EQ(health.open_until_ns(), 0u);
}

TEST(DelegateHealth, TheThirdFailureOpensTheBreaker) {
  DelegateHealth health;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(health.DeviceFailed());
  EXPECT_TRUE(health.DeviceFailed());
  EXPECT_FALSE(health.Admits());
  EXPECT_NE(health.open_until_ns(), 0u);
}

TEST(DelegateHealth, OneCallerIsLetThroughAfterTheBackOff) {
  TestClock clock;
  DelegateHealth health;
  for (int i = 0; i < 3; ++i) (void)health.DeviceFailed();
  clock.Turn(kFirstBackOff - std::chrono::nanoseconds(1));
  EXPECT_FALSE(health.Admits());
  clock.Turn(std::chrono::nanoseconds(1));
  EXPECT_TRUE(health.Admits());
  EXPECT_FALSE(health.Admits()) << "the trial is under way";
  health.Succeeded();
  EXPECT_TRUE(health.Admits());
  EXPECT_EQ(health.open_until_ns(), 0u);
  EXPECT_FALSE(health.DeviceFailed()) << "the count begins anew";
}

TEST(DelegateHealth, AFailedTrialDoublesTheBackOff) {
  TestClock clock;
  DelegateHealth health;
  for (int i = 0; i < 3; ++i) (void)health.DeviceFailed();
  const uint64_t first = health.open_until_ns();
  clock.Turn(kFirstBackOff);
  ASSERT_TRUE(health.Admits());
  EXPECT_TRUE(health.DeviceFailed());
  EXPECT_EQ(health.open_until_ns(), first + 2 * DelegateHealth::kFirstBackOffNs);
}

TEST(DelegateHealth, TheBackOffHasALimit) {
  const TestClock clock;
  DelegateHealth health;
  for (int i = 0; i < 20; ++i) (void)health.DeviceFailed();
  EXPECT_EQ(health.open_until_ns(), NowNs() + DelegateHealth::kLongestBackOffNs);
}

TEST(DelegateHealth, OneLossIsTheFirstOfOneRun) {
  DelegateHealth health;
  const uint64_t one = health.loss_number(), two = health.loss_number();
  EXPECT_TRUE(health.IsFirstOfLoss(one));
  EXPECT_FALSE(health.IsFirstOfLoss(two)) << "it began before that loss";
  EXPECT_TRUE(health.IsFirstOfLoss(health.loss_number()));
}

TEST(StepHealth, ADemotedStepIsNotRunByItsOwner) {
  StepHealth step(std::make_shared<DelegateHealth>());
  EXPECT_TRUE(step.OwnerRuns());
  EXPECT_TRUE(step.Demote());
  EXPECT_FALSE(step.Demote()) << "once";
  EXPECT_FALSE(step.OwnerRuns());
}

TEST(StepHealth, AnOpenBreakerKeepsAllStepsOfItsDelegate) {
  const auto delegate = std::make_shared<DelegateHealth>();
  StepHealth first(delegate), second(delegate);
  for (int i = 0; i < 3; ++i) (void)delegate->DeviceFailed();
  EXPECT_FALSE(first.OwnerRuns());
  EXPECT_FALSE(second.OwnerRuns());
  EXPECT_FALSE(first.demoted());
}

}  // namespace
}  // namespace deputy::host
