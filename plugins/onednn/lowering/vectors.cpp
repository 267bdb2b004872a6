#include "lowering/vectors.hpp"

#include <oneapi/dnnl/dnnl.hpp>

namespace onednn {

bool HasVectors() {
#if defined(__x86_64__)
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return (isa == dnnl::cpu_isa::avx2 || isa == dnnl::cpu_isa::avx2_vnni) && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

#if defined(__x86_64__)
namespace {

template <int kRows, int kVectors>
ONEDNN_WIDE void Multiply(const Tile& given) {
  const Tile tile = given;
  const float* panel = tile.panel;
  Floats sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[i][v] = Load(tile.from + i * tile.from_step + v * kLanes);
  for (int64_t d = 0; d < tile.depth; ++d, panel += kVectors * kLanes) {
    Floats right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = Load(panel + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Floats left = tile.left[i * tile.left_step + d] - Floats{};
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Store(tile.to + i * tile.to_step + v * kLanes, sum[i][v]);
}

}  // namespace

void MultiplyTile(const Tile& tile, int64_t rows, int64_t vectors) {
  constexpr void (*kMultiply[kTileRows][2])(const Tile&) = {
      {Multiply<1, 1>, Multiply<1, 2>}, {Multiply<2, 1>, Multiply<2, 2>}, {Multiply<3, 1>, Multiply<3, 2>},
      {Multiply<4, 1>, Multiply<4, 2>}, {Multiply<5, 1>, Multiply<5, 2>}, {Multiply<6, 1>, Multiply<6, 2>}};
  kMultiply[rows - 1][vectors - 1](tile);
}
#endif

}  // namespace onednn
