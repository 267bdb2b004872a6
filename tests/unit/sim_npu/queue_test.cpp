// The queue of a device: one run at a time, and the ends of waits.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "plugins/sim_npu/clock.hpp"
#include "unit/sdk/fake_host.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Code;
using deputy::sdk::RunArgs;
using deputy::sdk::Status;

class DeviceQueueTest : public testing::Test {
 protected:
  DeviceQueueTest() { fake_.clock_ns = 10; }
  static deputy_run_args Run(uint64_t number, uint64_t deadline_ns) {
    deputy_run_args args{};
    args.struct_size = sizeof args;
    args.run = number;
    args.deadline_ns = deadline_ns;
    return args;
  }

  fake::Host fake_;
  const deputy::sdk::Host host_{fake_.table()};
  const deputy_run_args any_ = Run(1, 0);
  DeviceQueue queue_;
};

TEST_F(DeviceQueueTest, AWaitForTheDeviceEndsWhenItsRunIsLateOrCancelled) {
  ASSERT_TRUE(queue_.Enter(RunArgs(any_), host_).ok());
  const deputy_run_args late = Run(1, 9), cancelled = Run(2, 0);
  EXPECT_EQ(queue_.Enter(RunArgs(late), host_).code(), Code::kDeadlineExceeded);

  std::atomic<uint64_t> cancelled_run{1};
  Status status;
  std::thread waiting([&] { status = queue_.Enter(RunArgs(cancelled, host_, &cancelled_run), host_); });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // so that it waits
  queue_.Interrupt();
  cancelled_run = 2;
  queue_.Interrupt();
  waiting.join();
  EXPECT_EQ(status.code(), Code::kCancelled);

  queue_.Leave();
  EXPECT_TRUE(queue_.Enter(RunArgs(any_), host_).ok()) << "the device is free";
}

TEST_F(DeviceQueueTest, TheNextRunBeginsWhenTheDeviceIsFree) {
  ASSERT_TRUE(queue_.Enter(RunArgs(any_), host_).ok());
  std::atomic<bool> entered{false};
  std::thread waiting([&] {
    EXPECT_TRUE(queue_.Enter(RunArgs(any_), host_).ok());
    entered = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(entered);
  queue_.Leave();
  waiting.join();
  EXPECT_TRUE(entered);
}

TEST_F(DeviceQueueTest, ARunInRealTimeWaitsForItsEnd) {
  const deputy_run_args late = Run(1, 9);
  EXPECT_TRUE(queue_.Until(10, RunArgs(any_), host_).ok());
  EXPECT_EQ(queue_.Until(11, RunArgs(late), host_).code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace sim_npu
