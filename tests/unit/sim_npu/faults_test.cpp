// Faults on request: their text, and the runs that they name.
#include "plugins/sim_npu/faults.hpp"

#include <gtest/gtest.h>

#include "plugins/sim_npu/memory.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Code;

TEST(FaultsTest, EachNamesTheNumberOfARun) {
  Faults faults;
  ASSERT_TRUE(Faults::Parse("device_lost:2, late:3,queue_full:1", &faults).ok());
  EXPECT_EQ(faults.NextRun(), Faults::OfRun::kNone);
  EXPECT_EQ(faults.NextRun(), Faults::OfRun::kDeviceLost);
  EXPECT_EQ(faults.NextRun(), Faults::OfRun::kLate);
  EXPECT_EQ(faults.NextRun(), Faults::OfRun::kNone);
  EXPECT_TRUE(faults.IsNextSubmitRefused());
  EXPECT_FALSE(faults.IsNextSubmitRefused());
}

TEST(FaultsTest, ThereAreNoneWithoutAText) {
  Faults faults;
  ASSERT_TRUE(Faults::Parse("", &faults).ok());
  EXPECT_EQ(faults.NextRun(), Faults::OfRun::kNone);
  EXPECT_FALSE(faults.IsNextSubmitRefused());
}

TEST(FaultsTest, OtherTextsAreRefused) {
  for (const char* text : {"late", "late:", "late:0", "late:-1", "late:2x", "fire:1", "late:1,,late:2", "LATE:1"}) {
    Faults faults;
    const deputy::sdk::Status status = Faults::Parse(text, &faults);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("device_lost:N, late:N or queue_full:N"), std::string::npos) << status.message();
  }
}

TEST(DeviceMemory, ALossEndsTheBuffersFromBefore) {
  const auto memory = std::make_shared<DeviceMemory>(4096);
  const uint64_t before = *memory->Allocate(64, 64);
  memory->LoseBuffers();
  const uint64_t after = *memory->Allocate(64, 64);
  EXPECT_EQ(memory->Find(before, 0, 1).status().code(), Code::kDeviceLost);
  EXPECT_TRUE(memory->Find(after, 0, 64).ok());
  memory->Release(before);
  EXPECT_EQ(memory->Find(before, 0, 1).status().code(), Code::kInvalidArgument);
  memory->Release(after);
  EXPECT_EQ(memory->used(), 0u);
}

}  // namespace
}  // namespace sim_npu
