// Permutes the dimensions of a dense tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"

namespace deputy::host {

// Dimension d of the target is the source's dimension perm[d]. `dims` are the source's extents, `perm` is a permutation
// of [0, dims.size()). Elements are 1, 2, 4 or 8 bytes.
void Transpose(std::span<const int64_t> dims, std::span<const int64_t> perm, const void* source, void* target,
               size_t element_bytes, ThreadPool& pool);

}  // namespace deputy::host
