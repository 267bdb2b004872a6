// Transposed convolution: every input element adds a multiple of one filter to the output. A matrix product computes
// these summands as columns, which col2im adds up.
#include <algorithm>

#include "base/aligned.hpp"
#include "kernels/columns.hpp"
#include "kernels/convolution.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

ColumnGeometry GeometryOf(const ConvolutionShape& shape) { return {shape.window.all(), shape.out, shape.in}; }

// A thread takes some output channels of one image and group: no two threads write the same elements.
template <class T>
struct ChannelTiles {
  int64_t filters, tiles, columns, items;
  size_t column_bytes, slot_bytes;

  ChannelTiles(const ConvolutionShape& shape, const ColumnGeometry& geometry, uint32_t threads) {
    const int64_t group_filters = shape.out_channels / shape.group, images = shape.batch * shape.group;
    const int64_t wanted = (4 * int64_t{threads} + images - 1) / std::max<int64_t>(1, images);
    filters = std::max<int64_t>(1, group_filters / std::max<int64_t>(1, std::min(wanted, group_filters)));
    tiles = (group_filters + filters - 1) / filters;
    columns = ColumnTile(geometry, filters * geometry.taps(), sizeof(T));
    items = images * tiles;
    column_bytes = AlignUp(static_cast<size_t>(filters * geometry.taps() * columns) * sizeof(T));
    slot_bytes = column_bytes + AlignUp(linalg::GemmWorkspace(Product(shape, geometry, filters, columns)));
  }

  // The summands of `count` input elements for the windows of some output channels.
  static linalg::GemmArgs<T> Product(const ConvolutionShape& shape, const ColumnGeometry& geometry, int64_t filters,
                                     int64_t count) {
    linalg::GemmArgs<T> product;
    product.m = filters * geometry.taps();
    product.n = count;
    product.k = shape.in_channels / shape.group;
    product.lda = shape.out_channels / shape.group * geometry.taps();
    product.transpose_a = true;
    product.ldb = geometry.narrow_size();
    product.ldc = count;
    return product;
  }
};

bool IsEmpty(const ConvolutionShape& shape) {
  return shape.batch == 0 || shape.out_channels == 0 || GeometryOf(shape).wide_size() == 0;
}

}  // namespace

template <class T>
size_t TransposedConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool) {
  if (IsEmpty(shape)) return 0;
  const ChannelTiles<T> tiles(shape, GeometryOf(shape), pool.thread_count());
  return static_cast<size_t>(SlotCount(pool, tiles.items)) * tiles.slot_bytes;
}

template <class T>
void ConvolveTransposed(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool) {
  if (IsEmpty(shape)) return;
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.narrow_size(), out_size = geometry.wide_size(), taps = geometry.taps();
  const int64_t channels = shape.in_channels / shape.group, group_filters = shape.out_channels / shape.group;
  const ChannelTiles<T> tiles(shape, geometry, pool.thread_count());
  ForEachInSlots(pool, tiles.items, [&](int64_t item, int64_t slot) {
    const int64_t image = item / tiles.tiles, group = image % shape.group;
    const int64_t first = item % tiles.tiles * tiles.filters;
    const int64_t filters = std::min(tiles.filters, group_filters - first);
    char* memory = static_cast<char*>(workspace) + static_cast<size_t>(slot) * tiles.slot_bytes;
    T* columns = reinterpret_cast<T*>(memory);
    T* target = y + (image * group_filters + first) * out_size;
    for (int64_t f = 0; f < filters; ++f)
      std::fill_n(target + f * out_size, out_size, bias == nullptr ? T(0) : bias[group * group_filters + first + f]);
    for (int64_t begin = 0; begin < in_size; begin += tiles.columns) {
      linalg::GemmArgs<T> product = tiles.Product(shape, geometry, filters, std::min(tiles.columns, in_size - begin));
      product.a = weights + (group * channels * group_filters + first) * taps;
      product.b = x + image * channels * in_size + begin;
      product.c = columns;
      linalg::Gemm(product, memory + tiles.column_bytes);
      ScatterColumns(geometry, columns, filters, begin, begin + product.n, target);
    }
  });
}

template size_t TransposedConvolutionWorkspace<float>(const ConvolutionShape&, const ThreadPool&);
template size_t TransposedConvolutionWorkspace<double>(const ConvolutionShape&, const ThreadPool&);
template void ConvolveTransposed(const ConvolutionShape&, const float*, const float*, const float*, float*, void*,
                                 ThreadPool&);
template void ConvolveTransposed(const ConvolutionShape&, const double*, const double*, const double*, double*, void*,
                                 ThreadPool&);

}  // namespace deputy::host
