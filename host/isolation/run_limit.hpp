// How long a run of a context in a worker process may take where the configuration leaves it to the host: the first run
// as long as any other call; later ones a multiple of the slowest of the first runs, which also leaves time for a
// loaded machine. So a run that hangs ends, and one that takes its time does not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace deputy::host {

// The value of a limit of runs that the host chooses.
inline constexpr std::chrono::milliseconds kAutomaticTimeout{-1};

// Of one context, whose runs are one after another.
class RunLimit {
 public:
  static constexpr uint32_t kMeasured = 8;  // runs
  static constexpr int kFactor = 20;
  static constexpr std::chrono::milliseconds kLeast{5000};

  // For a run that reads so many bytes. One that reads more than all before is like the first: where only a run knows
  // its extents, its time grows with them. `first` is the limit of that one, if it is not less than kLeast.
  std::chrono::milliseconds For(uint64_t bytes, std::chrono::milliseconds first) const {
    const auto measured = std::max(kLeast, std::chrono::ceil<std::chrono::milliseconds>(kFactor * slowest_));
    return runs_ != 0 && bytes <= most_bytes_ ? measured : std::max(first, measured);
  }
  // Whether the time of a run that reads so many bytes is to be reported to Ended.
  bool IsMeasured(uint64_t bytes) const { return runs_ < kMeasured || bytes > most_bytes_; }
  void Ended(uint64_t bytes, std::chrono::nanoseconds time) {
    if (bytes > most_bytes_) runs_ = 0;
    ++runs_;
    most_bytes_ = std::max(most_bytes_, bytes);
    slowest_ = std::max(slowest_, time);
  }
  // The shapes are others from now on.
  void Reset() { *this = RunLimit(); }

 private:
  uint32_t runs_ = 0;  // that were measured
  uint64_t most_bytes_ = 0;
  std::chrono::nanoseconds slowest_{0};
};

}  // namespace deputy::host
