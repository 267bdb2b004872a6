#include "lowering/winograd.hpp"

#include <omp.h>

#include <algorithm>

namespace onednn {
namespace {

constexpr int64_t kPoints = 16;         // products per tile and channel
constexpr int64_t kGroup = 4 * kPanel;  // filters between two transforms of sums, which stay in the L2 cache
constexpr int64_t kMostChannels = 256;  // channels of a panel that stays in the L1 cache
constexpr int64_t kApart = 16;          // elements between two matrices, against conflicts in the caches

constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t TileColumns(const WinogradShape& shape) { return CeilDivide(shape.out[1], 2); }
int64_t TilesOf(const WinogradShape& shape) { return CeilDivide(shape.out[0], 2) * TileColumns(shape); }

// The division of the work among threads: by tiles, and if these are few by filters.
struct Shares {
  int64_t tiles, tile_parts, filters, filter_parts;
  int64_t input_step, sum_step, scratch;  // between the matrices of two points; of a thread

  Shares(const WinogradShape& shape, int threads) {
    constexpr int64_t kMostTiles = 48;  // whose matrices of one point stay in the L2 cache
    const int64_t all = TilesOf(shape);
    tile_parts = CeilDivide(all, kMostTiles);
    if (shape.images * tile_parts > threads) tile_parts = CeilDivide(tile_parts, threads) * threads;
    tiles = CeilDivide(CeilDivide(all, tile_parts), kTileRows) * kTileRows;
    tile_parts = CeilDivide(all, tiles);
    const int64_t items = shape.images * tile_parts, groups = CeilDivide(shape.filters, kGroup);
    const bool even = items % threads == 0 || items >= 4 * threads;
    filters = CeilDivide(groups, even ? 1 : std::min<int64_t>(threads, groups)) * kGroup;
    filter_parts = CeilDivide(shape.filters, filters);
    input_step = tiles * shape.channels + kApart;
    sum_step = tiles * kGroup + kApart;
    scratch = kPoints * (input_step + sum_step);
  }
};

// Transformed filters: in groups; by point; in panels; by channel. The last panel of a group may have one vector.
int64_t PanelAt(int64_t filter, int64_t point, int64_t filters, int64_t channels) {
  const int64_t group = filter / kGroup * kGroup, width = std::min(kGroup, filters - group);
  return (group * kPoints + point * width + (filter - group)) * channels;
}

#if defined(__x86_64__)
struct Block {
  const WinogradShape& shape;
  const WinogradArgs& args;
  const Shares& shares;
  int64_t image, first_tile, tiles, first_filter, filters;
  float *inputs, *sums;

  const float* Channels(int64_t channel) const {
    return args.x + (image * shape.channels + channel) * shape.in[0] * shape.in[1];
  }
  int64_t RowOf(int64_t tile) const { return (first_tile + tile) / TileColumns(shape); }
  int64_t ColumnOf(int64_t tile) const { return (first_tile + tile) % TileColumns(shape); }
};

// The 4 x 4 inputs of a tile, zero outside of the image.
ONEDNN_INLINE void LoadTile(const Block& block, const float* plane, int64_t row, int64_t column, Floats (&tile)[4][4]) {
  const int64_t height = block.shape.in[0], width = block.shape.in[1];
  if (row >= 0 && column >= 0 && row + 4 <= height && column + 4 <= width) {
    const float* const from = plane + (row * width + column) * kLanes;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) tile[i][j] = Load(from + (i * width + j) * kLanes);
    return;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const bool inside = row + i >= 0 && row + i < height && column + j >= 0 && column + j < width;
      tile[i][j] = inside ? Load(plane + ((row + i) * width + column + j) * kLanes) : Floats{};
    }
}

ONEDNN_WIDE void TransformInputs(const Block& block) {
  const int64_t step = block.shares.input_step, channels = block.shape.channels;
  for (int64_t tile = 0; tile < block.tiles; ++tile) {
    const int64_t row = 2 * block.RowOf(tile) - block.shape.pads[0];
    const int64_t column = 2 * block.ColumnOf(tile) - block.shape.pads[1];
    for (int64_t c = 0; c < channels; c += kLanes) {
      Floats x[4][4];
      LoadTile(block, block.Channels(c), row, column, x);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Floats d0 = x[i][0], d1 = x[i][1], d2 = x[i][2], d3 = x[i][3];
        x[i][0] = d0 - d2;
        x[i][1] = d1 + d2;
        x[i][2] = d2 - d1;
        x[i][3] = d1 - d3;
      }
      float* const to = block.inputs + tile * channels + c;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        Store(to + j * step, x[0][j] - x[2][j]);
        Store(to + (4 + j) * step, x[1][j] + x[2][j]);
        Store(to + (8 + j) * step, x[2][j] - x[1][j]);
        Store(to + (12 + j) * step, x[1][j] - x[3][j]);
      }
    }
  }
}

// Filters [first, first + width) of one group.
void MultiplyPoints(const Block& block, int64_t first, int64_t width) {
  static constexpr float kZeros[kPanel] = {};
  const int64_t channels = block.shape.channels;
  for (int64_t point = 0; point < kPoints; ++point)
    for (int64_t f = 0; f < width; f += kPanel) {
      const int vectors = width - f < kPanel ? 1 : 2;
      const float* const panel = block.args.weights + PanelAt(first + f, point, block.shape.filters, channels);
      for (int64_t c = 0; c < channels; c += kMostChannels)
        for (int64_t tile = 0; tile < block.tiles; tile += kTileRows) {
          const float* const inputs = block.inputs + point * block.shares.input_step + tile * channels + c;
          float* const sums = block.sums + point * block.shares.sum_step + tile * width + f;
          MultiplyTile({std::min(kMostChannels, channels - c), inputs, channels, panel + c * vectors * kLanes,
                        c == 0 ? kZeros : sums, c == 0 ? 0 : width, sums, width},
                       std::min(kTileRows, block.tiles - tile), vectors);
        }
    }
}

// Stores 8 filters at one place of the result, `at` elements behind its first.
ONEDNN_INLINE void Finish(const WinogradArgs& args, Floats sum, Floats bias, int64_t at) {
  Store(args.y + at, Apply(args.post_ops, sum + bias, at));
}

// Of 8 filters, the 2 x 2 outputs of a tile.
ONEDNN_INLINE void SumTile(const float* sums, int64_t step, Floats (&y)[4]) {
  Floats rows[2][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Floats s0 = Load(sums + j * step), s1 = Load(sums + (4 + j) * step);
    const Floats s2 = Load(sums + (8 + j) * step), s3 = Load(sums + (12 + j) * step);
    rows[0][j] = s0 + s1 + s2;
    rows[1][j] = s1 - s2 - s3;
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    y[2 * i] = rows[i][0] + rows[i][1] + rows[i][2];
    y[2 * i + 1] = rows[i][1] - rows[i][2] - rows[i][3];
  }
}

ONEDNN_INLINE bool AreFinite(const Floats (&y)[4]) {
  Ints not_finite = {};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) not_finite |= ((Ints)y[i] & 0x7f800000) == 0x7f800000;
  return __builtin_ia32_movmskps256((Floats)not_finite) == 0;
}

// The same outputs without transforms: each reads its own inputs alone.
ONEDNN_WIDE void SumPlainly(const Block& block, int64_t filter, int64_t tile, Floats (&y)[4]) {
  const WinogradShape& shape = block.shape;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t first_row = 2 * block.RowOf(tile) + i / 2 - shape.pads[0];
    const int64_t first_column = 2 * block.ColumnOf(tile) + i % 2 - shape.pads[1];
    y[i] = Floats{};
    for (int64_t c = 0; c < shape.channels; ++c)
      for (int64_t t = 0; t < 9; ++t) {
        const int64_t row = first_row + t / 3, column = first_column + t % 3;
        if (row < 0 || row >= shape.in[0] || column < 0 || column >= shape.in[1]) continue;
        const float* const weight = block.args.plain + (filter * shape.channels + c) * 9 + t;
        Floats weights;
        for (int64_t lane = 0; lane < kLanes; ++lane) weights[lane] = weight[lane * shape.channels * 9];
        const float* const plane = block.Channels(c / kLanes * kLanes) + c % kLanes;
        y[i] += plane[(row * shape.in[1] + column) * kLanes] * weights;
      }
  }
}

// Filters [first, first + width) of one group.
ONEDNN_WIDE void TransformSums(const Block& block, int64_t first, int64_t width) {
  const int64_t* const out = block.shape.out;
  for (int64_t tile = 0; tile < block.tiles; ++tile) {
    const int64_t row = 2 * block.RowOf(tile), column = 2 * block.ColumnOf(tile);
    const bool low = row + 1 < out[0], right = column + 1 < out[1];
    for (int64_t f = 0; f < width; f += kLanes) {
      Floats y[4];
      SumTile(block.sums + tile * width + f, block.shares.sum_step, y);
      if (!AreFinite(y)) SumPlainly(block, first + f, tile, y);
      const Floats bias = block.args.bias == nullptr ? Floats{} : Load(block.args.bias + first + f);
      const int64_t plane = (block.image * block.shape.filters + first + f) * out[0] * out[1];
      const int64_t at = plane + (row * out[1] + column) * kLanes;
      Finish(block.args, y[0], bias, at);
      if (right) Finish(block.args, y[1], bias, at + kLanes);
      if (low) Finish(block.args, y[2], bias, at + out[1] * kLanes);
      if (low && right) Finish(block.args, y[3], bias, at + (out[1] + 1) * kLanes);
    }
  }
}

void Compute(const Block& block) {
  TransformInputs(block);
  for (int64_t f = 0; f < block.filters; f += kGroup) {
    const int64_t width = std::min(kGroup, block.filters - f);
    MultiplyPoints(block, block.first_filter + f, width);
    TransformSums(block, block.first_filter + f, width);
  }
}

#endif

}  // namespace

bool SuitsWinograd(const WinogradShape& shape) {
  constexpr int64_t kFewest = 16;  // channels and filters for which the transforms cost less than they save
  // Tiles at the edges may be mostly outside.
  return shape.channels >= kFewest && shape.filters >= kFewest && shape.channels % kLanes == 0 &&
         shape.filters % kLanes == 0 && kPoints * TilesOf(shape) < 6 * shape.out[0] * shape.out[1];
}

int64_t WinogradWeights(int64_t filters, int64_t channels) { return kPoints * filters * channels; }

std::vector<float> TransformWeights(const float* weights, int64_t filters, int64_t channels) {
  std::vector<float> transformed(static_cast<size_t>(WinogradWeights(filters, channels)));
  for (int64_t f = 0; f < filters; ++f) {
    const int64_t panel = f / kPanel * kPanel, vectors = filters - panel < kPanel ? 1 : 2;
    for (int64_t c = 0; c < channels; ++c) {
      const float* const tap = weights + (f * channels + c) * 9;
      double columns[4][3], points[4][4];  // rounded once, at the end
      for (int i = 0; i < 3; ++i) {
        const double first = tap[i], middle = tap[3 + i], last = tap[6 + i];
        columns[0][i] = first;
        columns[1][i] = (first + middle + last) / 2;
        columns[2][i] = (first - middle + last) / 2;
        columns[3][i] = last;
      }
      for (int i = 0; i < 4; ++i) {
        points[i][0] = columns[i][0];
        points[i][1] = (columns[i][0] + columns[i][1] + columns[i][2]) / 2;
        points[i][2] = (columns[i][0] - columns[i][1] + columns[i][2]) / 2;
        points[i][3] = columns[i][2];
      }
      for (int64_t point = 0; point < kPoints; ++point)
        transformed[static_cast<size_t>(PanelAt(panel, point, filters, channels) + c * vectors * kLanes + f - panel)] =
            static_cast<float>(points[point / 4][point % 4]);
    }
  }
  return transformed;
}

int64_t WinogradScratch(const WinogradShape& shape, int threads) { return threads * Shares(shape, threads).scratch; }

void ConvolveWinograd(const WinogradShape& shape, const WinogradArgs& args, int threads) {
#if defined(__x86_64__)
  const Shares shares(shape, threads);
  const int64_t all = TilesOf(shape), items = shape.images * shares.tile_parts * shares.filter_parts;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t item = 0; item < items; ++item) {
    const int64_t part = item % shares.filter_parts, rest = item / shares.filter_parts;
    float* const scratch = args.scratch + omp_get_thread_num() * shares.scratch;
    const int64_t first_tile = rest % shares.tile_parts * shares.tiles, first_filter = part * shares.filters;
    Compute({shape, args, shares, rest / shares.tile_parts, first_tile, std::min(shares.tiles, all - first_tile),
             first_filter, std::min(shares.filters, shape.filters - first_filter), scratch,
             scratch + kPoints * shares.input_step});
  }
#else
  static_cast<void>(shape), static_cast<void>(args), static_cast<void>(threads);
#endif
}

}  // namespace onednn
