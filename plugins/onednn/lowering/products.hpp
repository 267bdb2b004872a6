// Products of a matrix with a constant one of float32, whose columns are packed in panels. The blocks for the caches
// follow K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008; rows on the left are read
// where they are, because they are few in inference. oneDNN 2.6 packs constant matrices for AVX-512 alone.
#pragma once

#include <cstdint>
#include <vector>

#include "lowering/own_post_ops.hpp"

namespace onednn {

// [rows, depth] times [depth, columns], in elements; columns are a multiple of 8.
struct ProductShape {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t left_step = 0;  // from row to row on the left
};

struct ProductArgs {
  const float* left = nullptr;
  const float* panels = nullptr;  // as PackPanels returns them
  const float* bias = nullptr;    // by column; may be null
  OwnPostOps post_ops;
  float* y = nullptr;  // row-major, without gaps
};

// Is this faster than oneDNN's product?
bool SuitsPanels(const ProductShape& shape);

// Of a matrix whose elements are `row_step` and `column_step` apart.
std::vector<float> PackPanels(const float* right, int64_t depth, int64_t columns, int64_t row_step,
                              int64_t column_step);
// Where HasVectors(). On `threads` threads of OpenMP.
void MultiplyPanels(const ProductShape& shape, const ProductArgs& args, int threads);

}  // namespace onednn
