#include "kernels/convolution.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "base/cancellation.hpp"
#include "base/memory_budget.hpp"
#include "kernels/columns.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Input channels of a product, whose columns stay in the cache of one core; a matrix that is there already is one
// product.
int64_t ChannelBlock(const Window& window, int64_t channels) {
  constexpr int64_t kDepth = 192;
  if (window.IsPointwise()) return channels;
  int64_t taps = 1;
  for (const WindowAxis& axis : window.all()) taps *= axis.kernel;
  return std::clamp<int64_t>(kDepth / taps, 1, std::max<int64_t>(1, channels));
}

// The division of one image and group's output into products that threads take one by one, and of the input channels of
// each into blocks whose columns stay in the cache of one core.
template <class T>
struct ProductTiles {
  bool in_place;  // the input is the matrix
  int64_t channels, channel_block;
  int64_t columns, column_tiles, rows, row_tiles;
  int64_t items, slots;
  size_t panel_bytes, slot_bytes;

  ProductTiles(const ConvolutionShape& shape, const ColumnGeometry& geometry, const ThreadPool& pool)
      : in_place(shape.window.IsPointwise()), channels(shape.in_channels / shape.group) {
    const int64_t filters = shape.out_channels / shape.group, positions = geometry.narrow_size();
    const int64_t images = shape.batch * shape.group, taps = geometry.taps();
    constexpr int64_t kCacheBytes = 512 * 1024;
    channel_block = ChannelBlock(shape.window, channels);
    const int64_t depth = channel_block * taps;
    CutColumns(positions, in_place ? kMostColumns : kCacheBytes / static_cast<int64_t>(sizeof(T)) / depth);
    const double work = static_cast<double>(images * filters) * static_cast<double>(channels * taps * positions);
    const int64_t threads = work < kLeastWork ? 1 : pool.thread_count();
    CutForThreads(images, filters, positions, threads);
    items = images * column_tiles * row_tiles;
    slots = std::max<int64_t>(1, std::min(threads, items));
    panel_bytes = in_place ? 0 : AlignUp(static_cast<size_t>(depth * columns) * sizeof(T));
    linalg::GemmArgs<T> largest;
    largest.m = rows;
    largest.n = columns;
    largest.k = depth;
    largest.b_in_panels = !in_place;
    slot_bytes = panel_bytes + AlignUp(linalg::GemmWorkspace(largest));
  }

 private:
  static constexpr int64_t kMostColumns = 2048;
  static constexpr double kLeastWork = 65536;  // multiplications that are worth a second thread

  // Whole panels of equal size.
  void CutColumns(int64_t positions, int64_t most) {
    const int64_t panel = linalg::PanelWidth<T>();
    column_tiles = CeilDivide(positions, std::clamp(most, panel, kMostColumns));
    columns = CeilDivide(CeilDivide(positions, column_tiles), panel) * panel;
    column_tiles = CeilDivide(positions, columns);
  }

  // If there are few tiles, makes as many as threads can share evenly: by columns while these stay wide, otherwise
  // along the filters.
  void CutForThreads(int64_t images, int64_t filters, int64_t positions, int64_t threads) {
    constexpr int64_t kFewestPanels = 3, kFewestRows = 16, kEnough = 8;
    row_tiles = 1;
    rows = filters;
    if (threads == 1 || images * column_tiles >= kEnough * threads || images % threads == 0) return;
    const int64_t tiles = CeilDivide(column_tiles, threads) * threads;
    if (CeilDivide(positions, tiles) >= kFewestPanels * linalg::PanelWidth<T>()) {
      CutColumns(positions, CeilDivide(positions, tiles));
    } else if (images * column_tiles % threads != 0) {
      row_tiles = std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, filters / kFewestRows));
      rows = CeilDivide(CeilDivide(filters, row_tiles), linalg::kRowBlock) * linalg::kRowBlock;
      row_tiles = CeilDivide(filters, rows);
    }
  }
};

template <class T>
void ConvolveByProducts(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool, const PackedWeights* packed) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.wide_size(), out_size = geometry.narrow_size(), taps = geometry.taps();
  const int64_t filters = shape.out_channels / shape.group;
  const ProductTiles<T> tiles(shape, geometry, pool);
  const int64_t channels = tiles.channels, depth = channels * taps;
  ForEachInSlots(pool, tiles.items, tiles.slots, [&](int64_t item, int64_t slot) {
    const int64_t image = item / (tiles.column_tiles * tiles.row_tiles);  // combined index of batch and group
    const int64_t first_row = item % tiles.row_tiles * tiles.rows;
    const int64_t begin = item / tiles.row_tiles % tiles.column_tiles * tiles.columns;
    const int64_t end = std::min(begin + tiles.columns, out_size), row = image % shape.group * filters + first_row;
    char* memory = static_cast<char*>(workspace) + static_cast<size_t>(slot) * tiles.slot_bytes;

    linalg::GemmArgs<T> product;
    product.m = std::min(tiles.rows, filters - first_row);
    product.n = end - begin;
    product.lda = depth;
    product.c = y + (image * filters + first_row) * out_size + begin;
    product.ldc = out_size;
    product.row_bias = bias == nullptr ? nullptr : bias + row;
    EndCheck check;
    int64_t c = 0;
    do {  // also without channels: the result is then the bias
      const int64_t block = std::min(tiles.channel_block, channels - c);
      const T* block_x = x + (image * channels + c) * in_size;
      product.k = block * taps;
      product.a = weights + (row * channels + c) * taps;
      if constexpr (std::is_same_v<T, float>) {
        if (packed != nullptr) {
          product.a = packed->group(image % shape.group, filters * depth) + c * taps * filters;
          product.a_is_packed = true;
          product.lda = filters;
          product.first_row = first_row;
        }
      }
      if (tiles.in_place) {
        product.b = block_x + begin;
        product.ldb = in_size;
      } else {
        T* panels = reinterpret_cast<T*>(memory);
        GatherPanels(geometry, block_x, block, begin, end, panels);
        product.b = panels;
        product.ldb = product.k * linalg::PanelWidth<T>();
        product.b_in_panels = true;
      }
      linalg::Gemm(product, memory + tiles.panel_bytes);
      product.beta = T(1);
      c += block;
    } while (c < channels && !check.Ends(StepsOf(product.n, product.k, product.m / 8 + 1)));
  });
}

bool IsEmpty(const ConvolutionShape& shape) {
  return shape.batch == 0 || shape.out_channels == 0 || GeometryOf(shape).narrow_size() == 0;
}

// Products of few columns or filters read the weights themselves faster.
constexpr int64_t kFewestPositions = 8, kFewestFilters = 4;

// Winograd's transforms add inputs: an infinity or NaN would reach outputs beside those that read it, and sums of
// numbers that are larger than this, times weights that are, could overflow where plain sums do not.
constexpr float kLargestTransformed = 1e15f;

bool CanBeTransformed(const ConvolutionShape& shape, const float* x, ThreadPool& pool) {
  std::atomic<bool> can = true;
  const int64_t count = shape.batch * shape.in_channels * GeometryOf(shape).wide_size();
  pool.ParallelFor(count, 1 << 16, [&](int64_t begin, int64_t end) {
    if (!linalg::IsWithin(x + begin, end - begin, kLargestTransformed)) can = false;
  });
  return can;
}

// Null where the order is another one, or would not help.
const PackedWeights* InOrder(const PackedWeights* packed, PackedWeights::Order order, const ConvolutionShape& shape) {
  if (packed == nullptr || packed->order != order || packed->level != linalg::ActiveLevel()) return nullptr;
  if (order == PackedWeights::Order::kWinograd) return SuitsWinograd(shape) ? packed : nullptr;
  const bool fits = packed->channel_block == ChannelBlock(shape.window, shape.in_channels / shape.group);
  return fits && GeometryOf(shape).narrow_size() >= kFewestPositions ? packed : nullptr;
}

ColumnGeometry TransposedGeometryOf(const ConvolutionShape& shape) { return {shape.window.all(), shape.out, shape.in}; }

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

}  // namespace

PackedWeights PackWeights(const ConvolutionShape& shape, const float* weights) {
  constexpr int64_t kMostPositions = 1024;  // so many columns are worth packing the weights in each run
  using Order = PackedWeights::Order;
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t filters = shape.out_channels / shape.group, channels = shape.in_channels / shape.group;
  const int64_t taps = geometry.taps(), depth = channels * taps;
  const bool known = std::all_of(shape.out.begin(), shape.out.begin() + static_cast<int64_t>(shape.window.rank),
                                 [](int64_t extent) { return extent >= 0; });
  const int64_t positions = known ? geometry.narrow_size() : kFewestPositions;
  PackedWeights packed;
  packed.level = linalg::ActiveLevel();
  if (SuitsWinograd(shape) && linalg::IsWithin(weights, shape.out_channels * depth, kLargestTransformed)) {
    packed.elements = TransformWeights(shape, weights);
    packed.order = packed.elements == nullptr ? Order::kUnpacked : Order::kWinograd;
  } else if (channels > 1 && filters >= kFewestFilters && positions >= kFewestPositions &&
             positions <= kMostPositions) {
    packed.elements = AllocateWeights(static_cast<size_t>(shape.out_channels * depth) * sizeof(float));
    if (packed.elements == nullptr) return packed;
    packed.order = Order::kProduct;
    packed.channel_block = ChannelBlock(shape.window, channels);
    float* const elements = reinterpret_cast<float*>(packed.elements.get());
    for (int64_t group = 0; group < shape.group; ++group)
      for (int64_t c = 0; c < channels; c += packed.channel_block) {
        linalg::GemmArgs<float> left;
        left.m = filters;
        left.k = std::min(packed.channel_block, channels - c) * taps;
        left.a = weights + group * filters * depth + c * taps;
        left.lda = depth;
        linalg::PackLeft(left, elements + group * filters * depth + c * taps * filters);
      }
  }
  return packed;
}

template <class T>
size_t ConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool, const PackedWeights* packed) {
  if (IsEmpty(shape)) return 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (IsDepthwise(shape)) return DepthwiseWorkspace<T>(shape, pool);
  }
  const ProductTiles<T> tiles(shape, GeometryOf(shape), pool);
  const size_t bytes = static_cast<size_t>(tiles.slots) * tiles.slot_bytes;
  if (InOrder(packed, PackedWeights::Order::kWinograd, shape) == nullptr) return bytes;
  return std::max(bytes, WinogradWorkspace(shape, pool));
}

template <class T>
void Convolve(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y, void* workspace,
              ThreadPool& pool, const PackedWeights* packed) {
  if (IsEmpty(shape)) return;
  if constexpr (std::is_same_v<T, float>) {
    if (InOrder(packed, PackedWeights::Order::kWinograd, shape) != nullptr && CanBeTransformed(shape, x, pool))
      return ConvolveWinograd(shape, x, *packed, bias, y, workspace, pool);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (IsDepthwise(shape)) return ConvolveDepthwise(shape, x, weights, bias, y, workspace, pool);
  }
  ConvolveByProducts(shape, x, weights, bias, y, workspace, pool,
                     InOrder(packed, PackedWeights::Order::kProduct, shape));
}

void AddRest(const ConvolutionShape& shape, const linalg::Int8Quad* x, std::span<const QuadRest> rest, int32_t* y,
             ThreadPool& pool) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps(), in_size = geometry.wide_size(), out_size = geometry.narrow_size();
  const int64_t channels = shape.in_channels / shape.group, filters = shape.out_channels / shape.group;
  const int64_t width = geometry.narrow[last], rows = width == 0 ? 0 : out_size / width;
  const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(rest.size()) * width);
  pool.ParallelFor(shape.batch * rows, (1 << 16) / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ForEachUntilEnd(0, static_cast<int64_t>(rest.size()), width + 16, [&](int64_t which) {
        const QuadRest& part = rest[static_cast<size_t>(which)];
        const int64_t group = part.line / filters, channel = part.step / taps;
        int64_t tap = part.step % taps, row = i % rows, offset = 0, size = 1;
        for (size_t axis = last + 1; axis-- > 0; size *= geometry.wide[axis]) {
          const WindowAxis& along = geometry.axes[axis];
          const int64_t at = axis == last ? 0 : row % geometry.narrow[axis];
          if (axis != last) row /= geometry.narrow[axis];
          offset += (at * along.stride + tap % along.kernel * along.dilation) * size;
          tap /= along.kernel;
        }
        const int64_t plane = i / rows * shape.in_channels + group * channels + channel;
        linalg::AddQuads(part.quad, reinterpret_cast<const int32_t*>(x) + plane * in_size + offset,
                         geometry.axes[last].stride, width,
                         y + (i / rows * shape.out_channels + part.line) * out_size + i % rows * width);
      });
  });
}

template size_t ConvolutionWorkspace<float>(const ConvolutionShape&, const ThreadPool&, const PackedWeights*);
template size_t ConvolutionWorkspace<double>(const ConvolutionShape&, const ThreadPool&, const PackedWeights*);
template size_t ConvolutionWorkspace<linalg::Int16Pair>(const ConvolutionShape&, const ThreadPool&,
                                                        const PackedWeights*);
template size_t ConvolutionWorkspace<linalg::Int8Quad>(const ConvolutionShape&, const ThreadPool&,
                                                       const PackedWeights*);
template void Convolve(const ConvolutionShape&, const linalg::Int8Quad*, const linalg::Int8Quad*,
                       const linalg::Int8Quad*, linalg::Int8Quad*, void*, ThreadPool&, const PackedWeights*);
template void Convolve(const ConvolutionShape&, const linalg::Int16Pair*, const linalg::Int16Pair*,
                       const linalg::Int16Pair*, linalg::Int16Pair*, void*, ThreadPool&, const PackedWeights*);
template void Convolve(const ConvolutionShape&, const float*, const float*, const float*, float*, void*, ThreadPool&,
                       const PackedWeights*);
template void Convolve(const ConvolutionShape&, const double*, const double*, const double*, double*, void*,
                       ThreadPool&, const PackedWeights*);

template <class T>
size_t TransposedConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool) {
  if (IsEmpty(shape)) return 0;
  const ChannelTiles<T> tiles(shape, TransposedGeometryOf(shape), pool.thread_count());
  return static_cast<size_t>(SlotCount(pool, tiles.items)) * tiles.slot_bytes;
}

template <class T>
void ConvolveTransposed(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool) {
  if (IsEmpty(shape)) return;
  const ColumnGeometry geometry = TransposedGeometryOf(shape);
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
      InParts(out_size, kLongRow, [&](int64_t begin, int64_t end) {
        std::fill(target + f * out_size + begin, target + f * out_size + end,
                  bias == nullptr ? T(0) : bias[group * group_filters + first + f]);
      });
    if (CancellationScope* const scope = CancellationScope::Current(); scope != nullptr && scope->Ends()) return;
    InParts(in_size, tiles.columns, [&](int64_t begin, int64_t end) {
      linalg::GemmArgs<T> product = tiles.Product(shape, geometry, filters, end - begin);
      product.a = weights + (group * channels * group_filters + first) * taps;
      product.b = x + image * channels * in_size + begin;
      product.c = columns;
      linalg::Gemm(product, memory + tiles.column_bytes);
      ScatterColumns(geometry, columns, filters, begin, end, target);
    });
  });
}

template size_t TransposedConvolutionWorkspace<float>(const ConvolutionShape&, const ThreadPool&);
template size_t TransposedConvolutionWorkspace<double>(const ConvolutionShape&, const ThreadPool&);
template void ConvolveTransposed(const ConvolutionShape&, const float*, const float*, const float*, float*, void*,
                                 ThreadPool&);
template void ConvolveTransposed(const ConvolutionShape&, const double*, const double*, const double*, double*, void*,
                                 ThreadPool&);

}  // namespace deputy::host
