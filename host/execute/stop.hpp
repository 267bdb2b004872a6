// What ends a run before its time: a deadline, or somebody who asks. Looked at before each step and each round of a
// loop, so that a model which never ends by itself does not hold its caller.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace deputy::host {

// CLOCK_MONOTONIC.
uint64_t NowNs();

struct Stop {
  uint64_t deadline_ns = 0;                      // CLOCK_MONOTONIC; 0: none
  const std::atomic<bool>* cancelled = nullptr;  // null: nobody asks

  // kCancelled or kDeadlineExceeded when it is time.
  Status Check() const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return Cancelled();
    if (deadline_ns != 0 && NowNs() > deadline_ns) return Late();
    return {};
  }

 private:
  static Status Cancelled();
  static Status Late();
};

}  // namespace deputy::host
