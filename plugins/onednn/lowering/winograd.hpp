// Winograd's minimal filtering F(2 x 2, 3 x 3) (A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2015) over tensors whose channels lie in blocks of 8: 16 products for the 2 x 2 outputs of a tile instead of 36. With
// tiles of this size all factors of the transforms are 0, 1 or 1/2, and rounding errors are no larger than those of the
// plain sums. oneDNN 2.6 has it for AVX-512 alone.
#pragma once

#include <cstdint>
#include <vector>

#include "lowering/own_post_ops.hpp"

namespace onednn {

// Extents in elements; channels and filters are multiples of 8. x is [images, channels / 8, in, 8], y [images, filters
// / 8, out, 8], both without gaps.
struct WinogradShape {
  int64_t images = 0, channels = 0, filters = 0;
  int64_t in[2] = {}, out[2] = {}, pads[2] = {};  // rows, columns; padding before
};

struct WinogradArgs {
  const float* x = nullptr;
  const float* weights = nullptr;  // as TransformWeights returns them
  const float* plain = nullptr;    // [filters, channels, 3, 3], for plain sums
  const float* bias = nullptr;     // may be null
  OwnPostOps post_ops;
  float* y = nullptr;
  float* scratch = nullptr;  // WinogradScratch elements
};

// Does the filtering cost less than plain sums?
bool SuitsWinograd(const WinogradShape& shape);

// Elements of transformed weights, and of the scratch memory of all threads.
int64_t WinogradWeights(int64_t filters, int64_t channels);
int64_t WinogradScratch(const WinogradShape& shape, int threads);

// Of [filters, channels, 3, 3].
std::vector<float> TransformWeights(const float* weights, int64_t filters, int64_t channels);
// No output depends on inputs outside of its window. Where the transformed sum is not finite, an infinity or an
// overflow may only have been met on the way: these outputs are plain sums. Where HasVectors(). On `threads` threads of
// OpenMP.
void ConvolveWinograd(const WinogradShape& shape, const WinogradArgs& args, int threads);

}  // namespace onednn
