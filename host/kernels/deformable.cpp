#include "kernels/deformable.hpp"

#include <algorithm>
#include <cmath>

#include "base/aligned.hpp"
#include "kernels/matrix_product.hpp"

namespace deputy::host {
namespace {

// Between four pixels; what lies outside is zero.
template <class T>
T SampleAt(const T* plane, int64_t height, int64_t width, T y, T x) {
  if (!(y > T(-1) && y < static_cast<T>(height) && x > T(-1) && x < static_cast<T>(width))) return 0;
  const T top = std::floor(y), left = std::floor(x);
  const int64_t row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
  const auto pixel = [&](int64_t i, int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? plane[i * width + j] : T(0);
  };
  const T low = y - top, right = x - left;
  return (1 - low) * ((1 - right) * pixel(row, column) + right * pixel(row, column + 1)) +
         low * ((1 - right) * pixel(row + 1, column) + right * pixel(row + 1, column + 1));
}

// One row of the columns: a tap of a channel, for all output positions.
template <class T>
void FillRow(const DeformableArgs<T>& args, int64_t image, int64_t channel, int64_t tap, T* row) {
  const DeformableShape& shape = args.shape;
  const WindowAxis &rows = shape.window.axes[0], &columns = shape.window.axes[1];
  const int64_t set = image * shape.offset_groups + channel / (shape.in_channels / shape.offset_groups);
  const T* offsets = args.offsets + (set * shape.taps() + tap) * 2 * shape.positions();
  const T* mask = args.mask == nullptr ? nullptr : args.mask + (set * shape.taps() + tap) * shape.positions();
  const T* plane = args.x + (image * shape.in_channels + channel) * shape.in[0] * shape.in[1];
  const int64_t tap_row = tap / columns.kernel * rows.dilation - rows.pad_begin;
  const int64_t tap_column = tap % columns.kernel * columns.dilation - columns.pad_begin;
  for (int64_t i = 0; i < shape.positions(); ++i) {
    const T y = static_cast<T>(i / shape.out[1] * rows.stride + tap_row) + offsets[i];
    const T x = static_cast<T>(i % shape.out[1] * columns.stride + tap_column) + offsets[shape.positions() + i];
    row[i] = SampleAt(plane, shape.in[0], shape.in[1], y, x) * (mask == nullptr ? T(1) : mask[i]);
  }
}

// One group's filters by the sampled columns, without its data.
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
  for (int64_t item = 0; item < shape.batch * shape.group; ++item) {
    const int64_t image = item / shape.group, group = item % shape.group;
    pool.ParallelFor(depth, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        FillRow(args, image, group * channels + row / shape.taps(), row % shape.taps(), memory + row * positions);
    });
    linalg::GemmArgs<T> product = ProductOf<T>(shape);
    product.a = args.weights + group * filters * depth;
    product.b = memory;
    product.c = args.y + (image * shape.out_channels + group * filters) * positions;
    if (args.bias != nullptr) {
      for (int64_t filter = 0; filter < filters; ++filter)
        std::fill_n(product.c + filter * positions, positions, args.bias[group * filters + filter]);
      product.beta = 1;
    }
    MultiplyMatrices(product, static_cast<char*>(workspace) + ColumnBytes<T>(shape), pool);
  }
}

template size_t DeformableMemory<float>(const DeformableShape&, const ThreadPool&);
template size_t DeformableMemory<double>(const DeformableShape&, const ThreadPool&);
template void ConvolveDeformed<float>(const DeformableArgs<float>&, void*, ThreadPool&);
template void ConvolveDeformed<double>(const DeformableArgs<double>&, void*, ThreadPool&);

}  // namespace deputy::host
