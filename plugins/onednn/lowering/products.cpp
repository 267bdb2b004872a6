#include "lowering/products.hpp"

#include <algorithm>

namespace onednn {
namespace {

constexpr int64_t kMostRows = 96;    // rows of a block: with the depth below, they stay in the L2 cache
constexpr int64_t kMostDepth = 384;  // rows of a panel that stays in the L1 cache

// The work in units of one block of rows by one panel, by block of rows and then by panel.
struct Units {
  int64_t rows, panels, count;

  Units(const ProductShape& shape, int threads) : panels((shape.columns + kPanel - 1) / kPanel) {
    const auto blocks = [&] { return (shape.rows + rows - 1) / rows; };
    rows = kMostRows;
    rows = (shape.rows + blocks() - 1) / blocks();                     // of about the same size
    const auto few = [&] { return blocks() * panels < 8 * threads; };  // threads would end at different times
    while (threads > 1 && rows > kTileRows && few()) rows = (rows + 1) / 2;
    rows = (rows + kTileRows - 1) / kTileRows * kTileRows;
    count = blocks() * panels;
  }
};

#if defined(__x86_64__)
ONEDNN_WIDE void ApplyToPanel(const OwnPostOps& post_ops, float* y, int64_t at, int64_t rows, int64_t columns,
                              int64_t vectors) {
  for (int64_t row = 0; row < rows; ++row, at += columns)
    for (int64_t v = 0; v < vectors; ++v) {
      float* const place = y + at + v * kLanes;
      Store(place, Apply(post_ops, Load(place), at + v * kLanes));
    }
}

// Some panels of one block of rows.
void MultiplyBlock(const ProductShape& shape, const ProductArgs& args, int64_t first_row, int64_t rows,
                   int64_t first_panel, int64_t end_panel) {
  static constexpr float kZeros[kPanel] = {};
  for (int64_t d = 0; d < shape.depth; d += kMostDepth) {
    const int64_t depth = std::min(kMostDepth, shape.depth - d);
    for (int64_t column = first_panel * kPanel; column < std::min(end_panel * kPanel, shape.columns);
         column += kPanel) {
      const int64_t vectors = shape.columns - column < kPanel ? 1 : 2;
      const float* const bias = args.bias == nullptr ? kZeros : args.bias + column;
      const float* const panel = args.panels + d * shape.columns + column * depth;
      for (int64_t row = 0; row < rows; row += kTileRows) {
        float* const to = args.y + (first_row + row) * shape.columns + column;
        MultiplyTile({depth, args.left + (first_row + row) * shape.left_step + d, shape.left_step, panel,
                      d == 0 ? bias : to, d == 0 ? 0 : shape.columns, to, shape.columns},
                     std::min(kTileRows, rows - row), vectors);
      }
      if (d + depth == shape.depth && args.post_ops.count > 0)
        ApplyToPanel(args.post_ops, args.y, first_row * shape.columns + column, rows, shape.columns, vectors);
    }
  }
}
#endif

}  // namespace

bool SuitsPanels(const ProductShape& shape) {
  constexpr int64_t kFewestRows = 2;  // a single one is limited by memory, which oneDNN reads faster
  return HasVectors() && shape.rows >= kFewestRows && shape.depth > 0 && shape.columns % kLanes == 0;
}

std::vector<float> PackPanels(const float* right, int64_t depth, int64_t columns, int64_t row_step,
                              int64_t column_step) {
  std::vector<float> panels(static_cast<size_t>(depth * columns));
  float* to = panels.data();
  for (int64_t first = 0; first < depth; first += kMostDepth)
    for (int64_t column = 0; column < columns; column += kPanel)
      for (int64_t d = first; d < std::min(first + kMostDepth, depth); ++d)
        for (int64_t c = column; c < std::min(column + kPanel, columns); ++c)
          *to++ = right[d * row_step + c * column_step];
  return panels;
}

void MultiplyPanels(const ProductShape& shape, const ProductArgs& args, int threads) {
#if defined(__x86_64__)
  const Units units(shape, threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int part = 0; part < threads; ++part) {
    const int64_t end = units.count * (part + 1) / threads;
    for (int64_t unit = units.count * part / threads; unit < end;) {
      const int64_t row = unit / units.panels * units.rows, panel = unit % units.panels;
      const int64_t panels = std::min(units.panels - panel, end - unit);
      MultiplyBlock(shape, args, row, std::min(units.rows, shape.rows - row), panel, panel + panels);
      unit += panels;
    }
  }
#else
  static_cast<void>(shape), static_cast<void>(args), static_cast<void>(threads);
#endif
}

}  // namespace onednn
