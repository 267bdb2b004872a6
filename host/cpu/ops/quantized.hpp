// The scales and zero points of quantized tensors, and products of matrices of 8-bit integers, batched with numpy
// broadcasting, for MatMulInteger and related operators. A constant right factor is multiplied in quads of 8 bits where
// the instruction set has these; else the integers without their zero points have 16 bits, and are multiplied in pairs.
// The sums are int32, which wrap.
#pragma once

#include <vector>

#include "cpu/ops/function_kernel.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/quantize.hpp"
#include "tensor/scale_layout.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

// The index of an operand that an operator does not have.
constexpr size_t kAbsent = SIZE_MAX;

// Matrices along the last two axes of a tensor; of rank 1: a row on the left, a column on the right.
struct ByteMatrices {
  DType dtype = DType::kUndefined;  // uint8 or int8
  std::span<const int64_t> dims;
  const void* data = nullptr;
  const void* zeros = nullptr;  // of the same type, null for none
  std::span<const int64_t> zero_dims;
  bool turned = false;  // stored transposed

  // Whether these are 8-bit integers with one zero point for all, and its value; without any it is 0.
  bool has_one_zero() const {
    return (dtype == DType::kUint8 || dtype == DType::kInt8) && (zeros == nullptr || ElementCount(zero_dims) == 1);
  }
  int32_t first_zero() const {
    if (zeros == nullptr) return 0;
    return dtype == DType::kInt8 ? int32_t{*static_cast<const int8_t*>(zeros)}
                                 : int32_t{*static_cast<const uint8_t*>(zeros)};
  }
};

// Reads an input and its zero points, an optional input. Fails unless both have the required type and layout.
Result<ByteMatrices> ReadByteMatrices(const KernelArgs& args, size_t input, size_t zero_input, bool turned = false);

// Maps each element of the matrices to its scale or zero point: one for all, one for each row, or for each column; the
// same in all matrices, or different in each: then `scale_dims` are `dims` with 1 instead of the other axis.
Result<ScaleLayout> LayOutMatrixScales(std::span<const int64_t> dims, std::span<const int64_t> scale_dims,
                                       bool columns);

// A constant right factor without its zero points, as quads or else as pairs; both are empty if the node's inputs are
// not constant, or are inconsistent, which the run reports.
struct PackedRight {
  Tensor pairs;
  Tensor quads;                // in panels, of one matrix
  Tensor sums;                 // of the columns of the quads
  std::vector<QuadRest> rest;  // of the quads
};
Result<PackedRight> PackRight(const KernelSpec& spec, size_t input, size_t zero_input, bool turned = false);

class IntegerProduct {
 public:
  // Fails, with the shapes, unless these multiply into `c`. `packed` is the result of PackRight for `b`; it and the
  // memory of all extents must outlive the product.
  static Result<IntegerProduct> Plan(const ByteMatrices& a, const ByteMatrices& b, const PackedRight& packed,
                                     std::span<const int64_t> c, const ThreadPool& pool);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Must be aligned to 64.
  size_t workspace_bytes() const { return LayOut().product + product_bytes_; }
  // The zero points of `a` are per row, those of `b` per column. `start`, a number for each column or null, is added.
  Status Compute(const ByteMatrices& a, const ByteMatrices& b, const int32_t* start, int32_t* sums, void* workspace,
                 ThreadPool& pool) const;

 private:
  explicit IntegerProduct(const PackedRight& packed) : packed_(packed) {}

  // Offsets in the workspace.
  struct Places {
    size_t wide, left, right, product;
  };
  Places LayOut() const;
  void ComputeQuads(const ByteMatrices& a, const int32_t* start, int32_t* sums, char* base, ThreadPool& pool) const;

  const PackedRight& packed_;
  BatchedProduct<linalg::Int16Pair> product_;
  BatchedProduct<linalg::Int8Quad> quads_;
  bool by_quads_ = false;
  int64_t rows_ = 0, columns_ = 0;
  int64_t a_count_ = 0, b_count_ = 0;  // elements
  int64_t a_pairs_ = 0, b_pairs_ = 0;
  int64_t a_rows_ = 0, depth_ = 0;  // of all matrices of A together
  size_t product_bytes_ = 0;
};

// The scales of an input as float32: the tensor's own elements, or their conversion in `memory`, which has the same
// size.
Result<const float*> ReadScales(const KernelArgs& args, size_t input, float* memory);

// The only scale of an input.
Result<float> ReadScale(const KernelArgs& args, size_t input);

// Null when the input is omitted; fails unless it has this type and number of elements.
Result<const void*> ReadZeroPoints(const KernelArgs& args, size_t input, DType dtype, int64_t count);

}  // namespace deputy::host
