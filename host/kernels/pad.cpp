#include <algorithm>
#include <cstring>

#include "base/cancellation.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

int64_t Remainder(int64_t value, int64_t modulus) {
  const int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

// The longest range of a map, which is not empty, that maps neighbours to neighbours.
struct CopyRun {
  int64_t begin, end;
};
CopyRun LongestRun(const int64_t* map, int64_t count) {
  CopyRun longest{0, 1};
  int64_t begin = 0;  // of the present run
  InParts(count, kLongRow, [&](int64_t first, int64_t last) {
    for (int64_t i = std::max<int64_t>(first, 1); i < last; ++i) {
      if (map[i] != map[i - 1] + 1) begin = i;
      if (i + 1 - begin > longest.end - longest.begin) longest = {begin, i + 1};
    }
  });
  return longest;
}

}  // namespace

void MapPadding(PadSource source, int64_t before, int64_t first, int64_t kept, std::span<int64_t> map) {
  const auto inside = [&](int64_t at) -> int64_t {
    switch (source) {
      case PadSource::kEdge: return std::clamp<int64_t>(at, 0, kept - 1);
      case PadSource::kWrap: return Remainder(at, kept);
      case PadSource::kReflect: {
        // Reflected at both ends without repeating them: periodic with this period.
        const int64_t period = 2 * (kept - 1);
        if (period <= 0) return 0;
        const int64_t rest = Remainder(at, period);
        return std::min(rest, period - rest);
      }
    }
    return 0;
  };
  InParts(static_cast<int64_t>(map.size()), 1 << 18, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) map[static_cast<size_t>(i)] = first + inside(i - before);
  });
}

void PadByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
               const void* source, void* target, size_t element_bytes, ThreadPool& pool) {
  int64_t rows = 1;
  for (const int64_t extent : target_dims)
    if (extent == 0) return;
  const size_t last = target_dims.size() - 1;
  for (size_t d = 0; d < last; ++d) rows *= target_dims[d];
  const SmallDims strides = DenseStrides(source_dims);
  SmallDims first;  // the begin of each dimension's map
  int64_t offset = 0;
  for (const int64_t extent : target_dims) {
    first.push_back(offset);
    offset += extent;
  }
  constexpr int64_t kLongPart = 1 << 20;  // elements between two checks whether the run ends
  const int64_t row = target_dims[last];
  const CancellationScope* const scope = CancellationScope::Current();
  if (scope != nullptr && scope->stopped()) return;  // the maps are incomplete
  const CopyRun run = LongestRun(maps + first[last], row);
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(rows, kGrainElements / row + 1, [&](int64_t begin, int64_t end) {
      const int64_t* map = maps + first[last];
      SmallDims index(last, 0);
      int64_t rest = begin;
      for (size_t d = last; d-- > 0;) {
        index[d] = rest % target_dims[d];
        rest /= target_dims[d];
      }
      for (int64_t i = begin; i < end; ++i) {
        int64_t base = 0;
        for (size_t d = 0; d < last; ++d) base += maps[first[d] + index[d]] * strides[d];
        const T* from = static_cast<const T*>(source) + base;
        T* to = static_cast<T*>(target) + i * row;
        const auto look_up = [&](int64_t low, int64_t high) {
          for (int64_t j = low; j < high; ++j) to[j] = from[map[j]];
        };
        InParts(run.begin, kLongPart, look_up);
        CopyInParts(to + run.begin, from + map[run.begin], static_cast<size_t>(run.end - run.begin) * sizeof(T));
        InParts(row - run.end, kLongPart, [&](int64_t low, int64_t high) { look_up(run.end + low, run.end + high); });
        for (size_t d = last; d-- > 0;) {
          if (++index[d] < target_dims[d]) break;
          index[d] = 0;
        }
      }
    });
  });
}

}  // namespace deputy::host
