#include <algorithm>
#include <cmath>

#include "base/aligned.hpp"
#include "kernels/convolution.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

// The number of neighbouring output positions that are sampled together.
constexpr int64_t kSampleBlock = 256;

// The four pixels around each position of a block, and their weights: the same for all channels that share offsets.
template <class T>
struct Corners {
  int64_t pixels[4][kSampleBlock];  // negative outside of the plane, where every value is zero
  T weights[4][kSampleBlock];
  bool inside;  // all positions are inside
};

// Samples of the positions from `first` on for one tap and the channels of offset set `set`.
template <class T>
void FindCorners(const DeformableArgs<T>& args, int64_t set, int64_t tap, int64_t first, int64_t count,
                 Corners<T>& corners) {
  const DeformableShape& shape = args.shape;
  const WindowAxis &rows = shape.window.axes[0], &columns = shape.window.axes[1];
  const int64_t height = shape.in[0], width = shape.in[1];
  const T* offsets = args.offsets + (set * shape.taps() + tap) * 2 * shape.positions() + first;
  const T* mask = args.mask == nullptr ? nullptr : args.mask + (set * shape.taps() + tap) * shape.positions() + first;
  const int64_t tap_row = tap / columns.kernel * rows.dilation - rows.pad_begin;
  const int64_t tap_column = tap % columns.kernel * columns.dilation - columns.pad_begin;
  corners.inside = true;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t out_row = (first + i) / shape.out[1], out_column = (first + i) % shape.out[1];
    const T y = static_cast<T>(out_row * rows.stride + tap_row) + offsets[i];
    const T x = static_cast<T>(out_column * columns.stride + tap_column) + offsets[shape.positions() + i];
    const bool near = y > T(-1) && y < static_cast<T>(height) && x > T(-1) && x < static_cast<T>(width);
    const T top = near ? std::floor(y) : T(-2), left = near ? std::floor(x) : T(-2);
    const int64_t row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
    const T low = near ? y - top : T(0), right = near ? x - left : T(0), whole = mask == nullptr ? T(1) : mask[i];
    for (int64_t corner = 0; corner < 4; ++corner) {
      const int64_t r = row + corner / 2, c = column + corner % 2;
      const bool known = r >= 0 && r < height && c >= 0 && c < width;
      corners.pixels[corner][i] = known ? r * width + c : -1;
      corners.weights[corner][i] = (corner / 2 == 0 ? 1 - low : low) * (corner % 2 == 0 ? 1 - right : right) * whole;
      corners.inside = corners.inside && known;
    }
  }
}

template <class T>
void SampleCorners(const Corners<T>& corners, int64_t count, const T* plane, T* to) {
  const auto& [pixels, weights, inside] = corners;
  if (inside) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = weights[0][i] * plane[pixels[0][i]] + weights[1][i] * plane[pixels[1][i]] +
              weights[2][i] * plane[pixels[2][i]] + weights[3][i] * plane[pixels[3][i]];
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i] = 0;
    for (int64_t corner = 0; corner < 4; ++corner)
      if (pixels[corner][i] >= 0) to[i] += weights[corner][i] * plane[pixels[corner][i]];
  }
}

// A block of positions of all rows of the columns for one tap.
template <class T>
void FillBlock(const DeformableArgs<T>& args, int64_t image, int64_t group, int64_t tap, int64_t first, T* columns) {
  const DeformableShape& shape = args.shape;
  const int64_t channels = shape.in_channels / shape.group, sharing = shape.in_channels / shape.offset_groups;
  const int64_t count = std::min(kSampleBlock, shape.positions() - first);
  Corners<T> corners;
  constexpr int64_t kStepsOfSample = 8;
  ForEachUntilEnd(0, channels, count * kStepsOfSample, [&](int64_t c) {
    const int64_t channel = group * channels + c;
    if (c == 0 || channel % sharing == 0)
      FindCorners(args, image * shape.offset_groups + channel / sharing, tap, first, count, corners);
    const T* plane = args.x + (image * shape.in_channels + channel) * shape.in[0] * shape.in[1];
    SampleCorners(corners, count, plane, columns + (c * shape.taps() + tap) * shape.positions() + first);
  });
}

// The product of one group's filters and the sampled columns, without its data.
template <class T>
linalg::GemmArgs<T> ProductOf(const DeformableShape& shape) {
  linalg::GemmArgs<T> product;
  product.m = shape.out_channels / shape.group;
  product.k = product.lda = shape.in_channels / shape.group * shape.taps();
  product.n = product.ldb = product.ldc = shape.positions();
  return product;
}

template <class T>
size_t ColumnBytes(const DeformableShape& shape) {
  const linalg::GemmArgs<T> product = ProductOf<T>(shape);
  return AlignUp(static_cast<size_t>(product.k * product.n) * sizeof(T));
}

}  // namespace

template <class T>
size_t DeformableMemory(const DeformableShape& shape, const ThreadPool& pool) {
  return ColumnBytes<T>(shape) + ProductWorkspace(ProductOf<T>(shape), pool);
}

template <class T>
void ConvolveDeformed(const DeformableArgs<T>& args, void* workspace, ThreadPool& pool) {
  T* const memory = static_cast<T*>(workspace);
  const DeformableShape& shape = args.shape;
  const int64_t channels = shape.in_channels / shape.group, filters = shape.out_channels / shape.group;
  const int64_t depth = channels * shape.taps(), positions = shape.positions();
  const int64_t blocks = (positions + kSampleBlock - 1) / kSampleBlock;
  // The products of many small images take less than one step of the pool's loop.
  const int64_t steps = StepsOf(depth, positions, filters + 8);
  ForEachUntilEnd(0, shape.batch * shape.group, steps, [&](int64_t item) {
    const int64_t image = item / shape.group, group = item % shape.group;
    pool.ParallelFor(shape.taps() * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        FillBlock(args, image, group, i / blocks, i % blocks * kSampleBlock, memory);
    });
    linalg::GemmArgs<T> product = ProductOf<T>(shape);
    product.a = args.weights + group * filters * depth;
    product.b = memory;
    product.c = args.y + (image * shape.out_channels + group * filters) * positions;
    if (args.bias != nullptr) {
      ForEachUntilEnd(0, filters, positions, [&](int64_t filter) {
        std::fill_n(product.c + filter * positions, positions, args.bias[group * filters + filter]);
      });
      product.beta = 1;
    }
    MultiplyMatrices(product, static_cast<char*>(workspace) + ColumnBytes<T>(shape), pool);
  });
}

template size_t DeformableMemory<float>(const DeformableShape&, const ThreadPool&);
template size_t DeformableMemory<double>(const DeformableShape&, const ThreadPool&);
template void ConvolveDeformed<float>(const DeformableArgs<float>&, void*, ThreadPool&);
template void ConvolveDeformed<double>(const DeformableArgs<double>&, void*, ThreadPool&);

}  // namespace deputy::host
