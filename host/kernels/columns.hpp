// Convolutions as matrix products: im2col, the elements under each tap of a sliding window as the rows of a matrix, and
// its inverse col2im.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/convolution.hpp"

namespace deputy::host {

// A window that has a position for each element of `narrow` and covers elements of `wide`. In a convolution the narrow
// side is the output and the wide one the input; in a transposed convolution it is the other way round.
struct ColumnGeometry {
  std::span<const WindowAxis> axes;
  SpatialDims wide = {}, narrow = {};

  int64_t taps() const;
  int64_t wide_size() const;
  int64_t narrow_size() const;
};

// Of a convolution that is not transposed.
inline ColumnGeometry GeometryOf(const ConvolutionShape& shape) { return {shape.window.all(), shape.in, shape.out}; }

// The matrix of rows (channel, tap) and columns [begin, end), positions of the flattened narrow side, in the panels of
// a product (linalg.hpp): wide[channel, element under the tap], zero in the padding.
template <class T>
void GatherPanels(const ColumnGeometry& geometry, const T* wide, int64_t channels, int64_t begin, int64_t end,
                  T* panels);

// wide[channel, element under the tap] += columns[(channel, tap), position - begin].
template <class T>
void ScatterColumns(const ColumnGeometry& geometry, const T* columns, int64_t channels, int64_t begin, int64_t end,
                    T* wide);

// The number of positions to convert into columns at once: whole rows if they fit, so that `rows` rows of the matrix
// stay in the cache of one core.
int64_t ColumnTile(const ColumnGeometry& geometry, int64_t rows, size_t element_bytes);

}  // namespace deputy::host
