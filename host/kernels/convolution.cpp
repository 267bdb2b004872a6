#include "kernels/convolution.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/columns.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

constexpr size_t AlignUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

ColumnGeometry GeometryOf(const ConvolutionShape& shape) { return {shape.window.all(), shape.in, shape.out}; }

// How the output of one image and group is cut into products that threads take one by one.
struct ProductTiles {
  bool in_place;  // the input is the matrix already
  int64_t columns, column_tiles, rows, row_tiles;
  int64_t items;

  ProductTiles(const ConvolutionShape& shape, const ColumnGeometry& geometry, int64_t depth, size_t element_bytes,
               uint32_t threads)
      : in_place(shape.window.IsPointwise()) {
    const int64_t filters = shape.out_channels / shape.group, positions = geometry.narrow_size();
    columns = ColumnTile(geometry, depth, element_bytes);
    column_tiles = (positions + columns - 1) / columns;
    const int64_t images = shape.batch * shape.group;
    // Small images are cut along the filters too, for all threads to have something to do.
    constexpr int64_t kFewestRows = 16;
    const int64_t wanted = threads == 1 ? 1 : 2 * int64_t{threads} / std::max<int64_t>(1, images * column_tiles);
    row_tiles = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, filters / kFewestRows));
    // Rows that do not fill a register block are computed in another order: at most the last ones of all, so that equal
    // filters give equal results.
    constexpr int64_t kRegisterBlock = 8;
    rows = ((filters + row_tiles - 1) / row_tiles + kRegisterBlock - 1) / kRegisterBlock * kRegisterBlock;
    row_tiles = (filters + rows - 1) / rows;
    items = images * column_tiles * row_tiles;
  }
};

template <class T>
void ConvolveByProducts(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.wide_size(), out_size = geometry.narrow_size();
  const int64_t channels = shape.in_channels / shape.group, filters = shape.out_channels / shape.group;
  const int64_t depth = channels * geometry.taps();
  const ProductTiles tiles(shape, geometry, depth, sizeof(T), pool.thread_count());
  const size_t slot_bytes = AlignUp(static_cast<size_t>(depth * tiles.columns) * sizeof(T));
  ForEachInSlots(pool, tiles.items, [&](int64_t item, int64_t slot) {
    const int64_t image = item / (tiles.column_tiles * tiles.row_tiles);  // batch and group in one
    const int64_t group = image % shape.group;
    const int64_t first_row = item % tiles.row_tiles * tiles.rows;
    const int64_t begin = item / tiles.row_tiles % tiles.column_tiles * tiles.columns;
    const int64_t end = std::min(begin + tiles.columns, out_size);
    const T* image_x = x + image * channels * in_size;

    linalg::GemmArgs<T> product;
    product.m = std::min(tiles.rows, filters - first_row);
    product.n = end - begin;
    product.k = depth;
    product.a = weights + (group * filters + first_row) * depth;
    product.lda = depth;
    if (tiles.in_place) {
      product.b = image_x + begin;
      product.ldb = in_size;
    } else {
      T* columns = reinterpret_cast<T*>(static_cast<char*>(workspace) + static_cast<size_t>(slot) * slot_bytes);
      GatherColumns(geometry, image_x, channels, begin, end, columns);
      product.b = columns;
      product.ldb = product.n;
    }
    product.c = y + (image * filters + first_row) * out_size + begin;
    product.ldc = out_size;
    if (bias != nullptr) {
      for (int64_t i = 0; i < product.m; ++i)
        std::fill_n(product.c + i * out_size, product.n, bias[group * filters + first_row + i]);
      product.beta = 1;
    }
    linalg::Gemm(product);
  });
}

// Depthwise: one channel with its padding, cut to what the windows see. The last axis is split by position modulo its
// stride, so that what a tap reads for neighbouring outputs lies in neighbouring elements.
struct PaddedChannel {
  SpatialDims extents = {};  // of the outer axes; the last one is `row`
  int64_t phase = 0;         // elements of a row per position modulo the stride
  int64_t row = 0, size = 0;

  // Empty where this is much larger than the input: strides and dilations that no sensible model has.
  static std::optional<PaddedChannel> Of(const ColumnGeometry& geometry) {
    const size_t last = geometry.axes.size() - 1;
    PaddedChannel channel;
    channel.phase = geometry.narrow[last] + (geometry.axes[last].reach() - 1) / geometry.axes[last].stride;
    channel.row = channel.phase * geometry.axes[last].stride;
    channel.size = channel.row;
    const int64_t limit = 4 * geometry.wide_size() + 4096;
    for (size_t i = 0; i < last; ++i) {
      channel.extents[i] = (geometry.narrow[i] - 1) * geometry.axes[i].stride + geometry.axes[i].reach();
      if (channel.size > limit || channel.extents[i] > limit) return std::nullopt;
      channel.size *= channel.extents[i];
    }
    return channel.size > limit ? std::nullopt : std::optional(channel);
  }
};

struct DepthwiseSizes {
  size_t offsets, slot;  // bytes: one list for all, then each slot's channel

  DepthwiseSizes(const ColumnGeometry& geometry, const PaddedChannel& channel, size_t element_bytes)
      : offsets(AlignUp(static_cast<size_t>(geometry.taps()) * sizeof(int64_t))),
        slot(AlignUp(static_cast<size_t>(channel.size) * element_bytes)) {}
};

// Where each tap reads, relative to what the first tap reads.
void FillOffsets(const ColumnGeometry& geometry, const PaddedChannel& channel, int64_t* offsets) {
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps();
  for (int64_t t = 0; t < taps; ++t) {
    int64_t rest = t, row = 0, stride = 1;
    const int64_t element = rest % geometry.axes[last].kernel * geometry.axes[last].dilation;
    rest /= geometry.axes[last].kernel;
    for (size_t i = last; i-- > 0; rest /= geometry.axes[i].kernel) {
      row += rest % geometry.axes[i].kernel * geometry.axes[i].dilation * stride;
      stride *= channel.extents[i];
    }
    const int64_t step = geometry.axes[last].stride;
    offsets[t] = row * channel.row + element % step * channel.phase + element / step;
  }
}

// Copies a channel into the middle of the zeros.
template <class T>
void PadChannel(const ColumnGeometry& geometry, const PaddedChannel& channel, const T* x, T* padded) {
  const size_t last = geometry.axes.size() - 1;
  const WindowAxis& axis = geometry.axes[last];
  const int64_t width = geometry.wide[last], rows = geometry.wide_size() / width;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t rest = r, row = 0, stride = 1;
    bool seen = true;
    for (size_t i = last; i-- > 0; rest /= geometry.wide[i]) {
      const int64_t at = rest % geometry.wide[i] + geometry.axes[i].pad_begin;
      seen = seen && at < channel.extents[i];
      row += at * stride;
      stride *= channel.extents[i];
    }
    if (!seen) continue;
    for (int64_t phase = 0; phase < axis.stride; ++phase) {
      // Element i of the phase stands at phase + i * stride - pad_begin of the input.
      const int64_t offset = phase - axis.pad_begin;
      const int64_t first = offset < 0 ? (-offset + axis.stride - 1) / axis.stride : 0;
      const int64_t stop = std::min(channel.phase, offset >= width ? 0 : (width - 1 - offset) / axis.stride + 1);
      T* to = padded + row * channel.row + phase * channel.phase;
      const int64_t from = r * width + offset;
      if (axis.stride == 1) {
        if (stop > first) std::copy(x + from + first, x + from + stop, to + first);
      } else {
        for (int64_t i = first; i < stop; ++i) to[i] = x[from + i * axis.stride];
      }
    }
  }
}

// The sums of one channel, slab by slab of the two innermost axes.
template <class T>
void SumChannel(const ColumnGeometry& geometry, const PaddedChannel& channel, linalg::TapsArgs<T> sum) {
  const size_t last = geometry.axes.size() - 1;
  const T* padded = sum.x;
  sum.count = sum.y_step = geometry.narrow[last];
  sum.taps = geometry.taps();
  sum.rows = last == 0 ? 1 : geometry.narrow[last - 1];
  sum.x_step = last == 0 ? 0 : geometry.axes[last - 1].stride * channel.row;
  const int64_t slabs = geometry.narrow_size() / (sum.rows * sum.count);
  for (int64_t slab = 0; slab < slabs; ++slab) {
    int64_t rest = slab, row = 0, stride = last == 0 ? 1 : channel.extents[last - 1];
    for (size_t i = last; i-- > 1; rest /= geometry.narrow[i - 1]) {
      row += rest % geometry.narrow[i - 1] * geometry.axes[i - 1].stride * stride;
      stride *= channel.extents[i - 1];
    }
    sum.x = padded + row * channel.row;
    linalg::SumTaps(sum);
    sum.y += sum.rows * sum.count;
  }
}

template <class T>
void ConvolveDepthwise(const ConvolutionShape& shape, const PaddedChannel& channel, const T* x, const T* weights,
                       const T* bias, T* y, void* workspace, ThreadPool& pool) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.wide_size(), out_size = geometry.narrow_size(), taps = geometry.taps();
  const int64_t filters = shape.out_channels / shape.group, images = shape.batch * shape.group;
  const DepthwiseSizes sizes(geometry, channel, sizeof(T));
  int64_t* offsets = static_cast<int64_t*>(workspace);
  char* slots = static_cast<char*>(workspace) + sizes.offsets;
  FillOffsets(geometry, channel, offsets);
  // The padding stays zero while the channels come and go.
  std::memset(slots, 0, static_cast<size_t>(SlotCount(pool, images)) * sizes.slot);
  ForEachInSlots(pool, images, [&](int64_t image, int64_t slot) {
    T* padded = reinterpret_cast<T*>(slots + static_cast<size_t>(slot) * sizes.slot);
    PadChannel(geometry, channel, x + image * in_size, padded);
    for (int64_t f = 0; f < filters; ++f) {
      const int64_t filter = image % shape.group * filters + f;
      linalg::TapsArgs<T> sum;
      sum.x = padded;
      sum.offsets = offsets;
      sum.weights = weights + filter * taps;
      sum.bias = bias == nullptr ? T(0) : bias[filter];
      sum.y = y + (image * filters + f) * out_size;
      SumChannel(geometry, channel, sum);
    }
  });
}

std::optional<PaddedChannel> DepthwiseLayout(const ConvolutionShape& shape) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const bool depthwise = shape.in_channels == shape.group && shape.group > 1 && geometry.wide_size() > 0;
  return depthwise ? PaddedChannel::Of(geometry) : std::nullopt;
}

bool IsEmpty(const ConvolutionShape& shape) {
  return shape.batch == 0 || shape.out_channels == 0 || GeometryOf(shape).narrow_size() == 0;
}

}  // namespace

template <class T>
size_t ConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool) {
  if (IsEmpty(shape)) return 0;
  const ColumnGeometry geometry = GeometryOf(shape);
  if (const std::optional<PaddedChannel> channel = DepthwiseLayout(shape)) {
    const DepthwiseSizes sizes(geometry, *channel, sizeof(T));
    return sizes.offsets + static_cast<size_t>(SlotCount(pool, shape.batch * shape.group)) * sizes.slot;
  }
  const int64_t depth = shape.in_channels / shape.group * geometry.taps();
  const ProductTiles tiles(shape, geometry, depth, sizeof(T), pool.thread_count());
  if (tiles.in_place) return 0;
  return static_cast<size_t>(SlotCount(pool, tiles.items)) *
         AlignUp(static_cast<size_t>(depth * tiles.columns) * sizeof(T));
}

template <class T>
void Convolve(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y, void* workspace,
              ThreadPool& pool) {
  if (IsEmpty(shape)) return;
  if (const std::optional<PaddedChannel> channel = DepthwiseLayout(shape)) {
    ConvolveDepthwise(shape, *channel, x, weights, bias, y, workspace, pool);
  } else {
    ConvolveByProducts(shape, x, weights, bias, y, workspace, pool);
  }
}

template size_t ConvolutionWorkspace<float>(const ConvolutionShape&, const ThreadPool&);
template size_t ConvolutionWorkspace<double>(const ConvolutionShape&, const ThreadPool&);
template void Convolve(const ConvolutionShape&, const float*, const float*, const float*, float*, void*, ThreadPool&);
template void Convolve(const ConvolutionShape&, const double*, const double*, const double*, double*, void*,
                       ThreadPool&);

}  // namespace deputy::host
