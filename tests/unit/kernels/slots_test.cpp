#include "kernels/slots.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

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
