// Pads a dense tensor with its own elements. Padding with a constant needs no kernel: it is a fill and a strided copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"

namespace deputy::host {

// The input position for every output position along an axis: reflected, repeated at the edge or wrapped. The input is
// the part [first, first + kept) of its axis, kept > 0; position 0 of the output is `before` elements in front of it.
enum class PadSource { kReflect, kEdge, kWrap };
void MapPadding(PadSource source, int64_t before, int64_t first, int64_t kept, std::span<int64_t> map);

// target[i0,..] = source[maps[0][i0],..]. `maps` holds the maps of all dimensions one after the other, each of the
// length of its target dimension.
void PadByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
               const void* source, void* target, size_t element_bytes, ThreadPool& pool);

}  // namespace deputy::host
