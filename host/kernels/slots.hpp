// Parallel loops whose items need working memory: at most `slots` items run at once, and each receives its slot's
// number, so that memory for that many is enough.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/cancellation.hpp"
#include "base/thread_pool.hpp"

namespace deputy::host {

// The useful number of slots for `items` items.
inline int64_t SlotCount(const ThreadPool& pool, int64_t items) {
  return std::max<int64_t>(1, std::min<int64_t>(pool.thread_count(), items));
}

// Calls fn(item, slot) once for each item, with 0 <= slot < slots. Inside a CancellationScope items may be skipped.
template <class F>
void ForEachInSlots(ThreadPool& pool, int64_t items, int64_t slots, F fn) {
  std::atomic<int64_t> next{0};
  CancellationScope* const scope = CancellationScope::Current();
  // An item of this loop is a participating thread; a thread that gets two finds no items left for the second.
  pool.ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) {
        if (scope != nullptr && scope->Ends()) return;
        fn(item, slot);
      }
  });
}

template <class F>
void ForEachInSlots(ThreadPool& pool, int64_t items, F fn) {
  ForEachInSlots(pool, items, SlotCount(pool, items), fn);
}

}  // namespace deputy::host
