#include <algorithm>

#include "base/memory_budget.hpp"
#include "kernels/convolution.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/parts.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kPoints = 16;  // of a tile

constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

linalg::WinogradArgs ArgsOf(const ConvolutionShape& shape) {
  linalg::WinogradArgs args;
  args.channels = shape.in_channels / shape.group;
  args.filters = shape.out_channels / shape.group;
  for (size_t i = 0; i < 2; ++i) {
    args.in[i] = shape.in[i];
    args.out[i] = shape.out[i];
    args.pads[i] = shape.window.axes[i].pad_begin;
  }
  return args;
}

int64_t TilesOf(const ConvolutionShape& shape) { return CeilDivide(shape.out[0], 2) * CeilDivide(shape.out[1], 2); }

// The division of one image and group's output among threads: by tiles, whose transformed inputs stay in the cache, and
// if these are few by filters.
struct WinogradShares {
  int64_t tiles, tile_parts, filters, filter_parts, items;
  size_t slot_bytes;

  WinogradShares(const ConvolutionShape& shape, const ThreadPool& pool) {
    constexpr int64_t kCacheFloats = 256 * 1024, kFewestTiles = 48, kMostTiles = 128;
    linalg::WinogradArgs args = ArgsOf(shape);
    const int64_t images = shape.batch * shape.group, threads = pool.thread_count(), all = TilesOf(shape);
    const int64_t most = std::clamp(kCacheFloats / (kPoints * args.channels), kFewestTiles, kMostTiles);
    const int64_t panel = linalg::PanelWidth<float>();
    tile_parts = CeilDivide(all, most);
    if (images * tile_parts > threads) tile_parts = CeilDivide(tile_parts, threads) * threads;
    tiles = CeilDivide(CeilDivide(all, tile_parts), panel) * panel;
    tile_parts = CeilDivide(all, tiles);
    const int64_t blocks = CeilDivide(args.filters, linalg::kRowBlock);
    const bool even = images * tile_parts % threads == 0 || images * tile_parts >= 4 * threads;
    filters = CeilDivide(blocks, even ? 1 : std::min(threads, blocks)) * linalg::kRowBlock;
    filter_parts = CeilDivide(args.filters, filters);
    items = images * tile_parts * filter_parts;
    args.tiles = tiles;
    args.filter_count = std::min(filters, args.filters);
    slot_bytes = AlignUp(linalg::WinogradWorkspace(args));
  }
};

}  // namespace

bool SuitsWinograd(const ConvolutionShape& shape) {
  constexpr int64_t kFewest = 8;  // channels and filters, for which the transforms cost less than they save
  const std::span<const WindowAxis> axes = shape.window.all();
  const bool fits =
      axes.size() == 2 && shape.in_channels / shape.group >= kFewest && shape.out_channels / shape.group >= kFewest &&
      std::all_of(axes.begin(), axes.end(),
                  [](const WindowAxis& axis) { return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1; });
  const bool known = shape.out[0] >= 0 && shape.out[1] >= 0;
  // Tiles at the edges may be mostly outside.
  return fits && (!known || 16 * TilesOf(shape) < 6 * shape.out[0] * shape.out[1]);
}

AlignedBytes TransformWeights(const ConvolutionShape& shape, const float* weights) {
  const linalg::WinogradArgs args = ArgsOf(shape);
  const int64_t filters = args.filters * args.channels;
  AlignedBytes bytes = AllocateWeights(static_cast<size_t>(shape.group * kPoints * filters) * sizeof(float));
  float* const to = reinterpret_cast<float*>(bytes.get());
  for (int64_t group = 0; to != nullptr && group < shape.group; ++group)
    linalg::PackWinograd(weights + group * 9 * filters, args, to + group * kPoints * filters);
  return bytes;
}

size_t WinogradWorkspace(const ConvolutionShape& shape, const ThreadPool& pool) {
  const WinogradShares shares(shape, pool);
  return static_cast<size_t>(SlotCount(pool, shares.items)) * shares.slot_bytes;
}

void ConvolveWinograd(const ConvolutionShape& shape, const float* x, const PackedWeights& weights, const float* bias,
                      float* y, void* workspace, ThreadPool& pool) {
  const WinogradShares shares(shape, pool);
  const linalg::WinogradArgs args = ArgsOf(shape);
  const int64_t in_size = args.in[0] * args.in[1], out_size = args.out[0] * args.out[1], all = TilesOf(shape);
  ForEachInSlots(pool, shares.items, [&](int64_t item, int64_t slot) {
    const int64_t part = item % shares.filter_parts, rest = item / shares.filter_parts;
    const int64_t image = rest / shares.tile_parts, group = image % shape.group;  // image: of batch and group
    linalg::WinogradArgs share = args;
    share.first_tile = rest % shares.tile_parts * shares.tiles;
    share.tiles = std::min(shares.tiles, all - share.first_tile);
    share.first_filter = part * shares.filters;
    share.filter_count = std::min(shares.filters, args.filters - share.first_filter);
    share.x = x + image * args.channels * in_size;
    share.y = y + image * args.filters * out_size;
    share.weights = weights.group(group, kPoints * args.filters * args.channels);
    share.bias = bias == nullptr ? nullptr : bias + group * args.filters;
    // Long ones in parts by filters, for each of which the inputs are transformed again.
    constexpr int64_t kMostProducts = int64_t{1} << 28;
    const int64_t products = StepsOf(kPoints * linalg::kRowBlock, share.tiles, args.channels);
    const int64_t first = share.first_filter, most = std::max<int64_t>(1, kMostProducts / products) * linalg::kRowBlock;
    InParts(share.filter_count, most, [&](int64_t begin, int64_t end) {
      share.first_filter = first + begin;
      share.filter_count = end - begin;
      linalg::ConvolveWinograd(share, static_cast<char*>(workspace) + static_cast<size_t>(slot) * shares.slot_bytes);
    });
  });
}

}  // namespace deputy::host
