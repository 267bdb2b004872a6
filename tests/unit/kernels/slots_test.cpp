#include "kernels/slots.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(Slots, EveryItemRunsOnceInAValidSlot) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> runs(1000);
  std::atomic<bool> valid{true};
  ForEachInSlots(pool, 1000, [&](int64_t item, int64_t slot) {
    ++runs[static_cast<size_t>(item)];
    if (slot < 0 || slot >= SlotCount(pool, 1000)) valid = false;
  });
  EXPECT_TRUE(valid);
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(Slots, NoSlotIsHeldTwiceAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> holders(4);
  std::atomic<bool> alone{true};
  ForEachInSlots(pool, 2000, [&](int64_t, int64_t slot) {
    if (++holders[static_cast<size_t>(slot)] != 1) alone = false;
    --holders[static_cast<size_t>(slot)];
  });
  EXPECT_TRUE(alone);
}

TEST(Slots, ItemsAreLeftOutOnceTheRunHasToEnd) {
  for (const uint32_t threads : {1u, 3u}) {
    ThreadPool pool(threads);
    std::atomic<uint64_t> cancelled{0};
    const CancellationToken stop{0, &cancelled};
    const CancellationScope scope(&stop);
    std::atomic<int> done{0};
    ForEachInSlots(pool, 1000000, [&](int64_t, int64_t) {
      if (++done == 5) cancelled = 1;
    });
    EXPECT_GE(done, 5);
    EXPECT_LT(done, 1000000);
    EXPECT_TRUE(scope.stopped());
  }
}

}  // namespace
}  // namespace deputy::host
