// The least work that is worth a range of its own in ThreadPool::ParallelFor, for kernels that move or convert
// elements.
#pragma once

#include <cstdint>

namespace deputy::host {

inline constexpr int64_t kGrainElements = 16 << 10;
inline constexpr int64_t kGrainBytes = 64 << 10;

}  // namespace deputy::host
