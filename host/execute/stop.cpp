#include "execute/stop.hpp"

#include <ctime>

namespace deputy::host {

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

Status Stop::Cancelled() { return Error(StatusCode::kCancelled, "the run was cancelled"); }

Status Stop::Late() { return Error(StatusCode::kDeadlineExceeded, "the run did not end in time"); }

}  // namespace deputy::host
