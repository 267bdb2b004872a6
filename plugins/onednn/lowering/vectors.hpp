// Vectors of 8 floats for the kernels that the plugin computes itself where oneDNN 2.6 has none that is fast without
// AVX-512, and the innermost loop that they share. Functions marked ONEDNN_WIDE run only where HasVectors().
#pragma once

#include <cstddef>
#include <cstdint>

namespace onednn {

constexpr int64_t kLanes = 8;
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

constexpr int64_t kPanel = 2 * kLanes;  // columns that MultiplyTile computes together
constexpr int64_t kTileRows = 6;        // rows

// Does this processor have AVX2 and FMA, and oneDNN no kernels for AVX-512? Reads oneDNN's own choice of instructions.
bool HasVectors();

#if defined(__x86_64__)
#define ONEDNN_WIDE __attribute__((target("avx2,fma")))
#define ONEDNN_INLINE inline __attribute__((always_inline, target("avx2,fma")))

ONEDNN_INLINE Floats Load(const float* from) {
  Floats v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
ONEDNN_INLINE void Store(float* to, Floats v) { __builtin_memcpy(to, &v, sizeof v); }

// to[row, column] = from[row, column] + the sum over `depth` of left[row, d] * panel[d, column], for `rows` rows (1 to
// kTileRows) and `vectors` vectors of columns (1 or 2). A row of the panel is as wide as the tile; the steps are from
// row to row. `from` may be `to`.
struct Tile {
  int64_t depth;
  const float* left;
  int64_t left_step;
  const float* panel;
  const float* from;
  int64_t from_step;  // 0: the same for every row
  float* to;
  int64_t to_step;
};
void MultiplyTile(const Tile& tile, int64_t rows, int64_t vectors);
#endif

}  // namespace onednn
