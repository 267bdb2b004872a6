#include <algorithm>

#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

using linalg::Int16Pair;

enum class Side { kLeft, kRight };

// One factor as a batch of matrices [rows, columns], as they are stored.
struct Stored {
  std::span<const int64_t> batch;
  int64_t rows, columns;

  Stored(const ByteMatrices& of, Side side) {
    const size_t rank = of.dims.size();
    batch = of.dims.first(rank < 2 ? 0 : rank - 2);
    rows = rank >= 2 ? of.dims[rank - 2] : (side == Side::kLeft ? 1 : of.dims[0]);
    columns = rank >= 2 || side == Side::kLeft ? of.dims[rank - 1] : 1;
  }
};

Status DoNotMultiply(const ByteMatrices& a, const ByteMatrices& b) {
  return Error(StatusCode::kInvalidArgument, "shapes {} and {} cannot be multiplied", ShapeToString(a.dims),
               ShapeToString(b.dims));
}

int64_t Pairs(int64_t depth) { return depth / 2 + depth % 2; }

// Without zero points, in pairs along the summed axis. `wide` has room for all elements.
Status Pack(const ByteMatrices& of, Side side, int16_t* wide, Int16Pair* pairs, ThreadPool& pool) {
  const Stored stored(of, side);
  const int64_t count = ElementCount(stored.batch);
  const bool along_rows = (side == Side::kLeft) != of.turned;
  if (of.has_one_zero()) {
    if (along_rows)
      PairUpBytes(count * stored.rows, stored.columns, 1, of.dtype, of.data, of.first_zero(), pairs, pool);
    else
      PairUpBytes(count, stored.rows, stored.columns, of.dtype, of.data, of.first_zero(), pairs, pool);
    return {};
  }
  ScaleLayout layout{1, 1, ElementCount(of.dims), 0, 1, 0, 0};
  if (of.zeros != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(layout, LayOutMatrixScales(of.dims, of.zero_dims, (side == Side::kRight) != of.turned));
  }
  if (!SubtractZeroPoints(layout, of.dtype, of.data, of.zeros, wide, pool))
    return Error(StatusCode::kNotSupported, "an integer product of {} is not supported", NameOf(of.dtype));
  if (along_rows)
    PairUp(count * stored.rows, stored.columns, 1, wide, pairs, pool);
  else
    PairUp(count, stored.rows, stored.columns, wide, pairs, pool);
  return {};
}

int64_t PairsOf(const ByteMatrices& of, Side side) {
  const Stored stored(of, side);
  const bool along_rows = (side == Side::kLeft) != of.turned;
  const int64_t one = along_rows ? stored.rows * Pairs(stored.columns) : Pairs(stored.rows) * stored.columns;
  return ElementCount(stored.batch) * one;
}

}  // namespace

Result<ScaleLayout> LayOutMatrixScales(std::span<const int64_t> dims, std::span<const int64_t> scale_dims,
                                       bool columns) {
  const size_t rank = dims.size();
  if (rank >= 2 && scale_dims.size() == rank && ElementCount(scale_dims) != 1) {
    SmallDims wanted(dims);
    wanted[columns ? rank - 2 : rank - 1] = 1;
    if (std::equal(wanted.begin(), wanted.end(), scale_dims.begin())) {
      const int64_t batch = ElementCount(dims.first(rank - 2)), height = dims[rank - 2], width = dims[rank - 1];
      if (columns) return ScaleLayout{batch, height, width, width, std::max<int64_t>(height, 1), 0, 1};
      return ScaleLayout{batch * height, 1, width, 1, 1, 0, 0};
    }
  }
  Result<ScaleLayout> found = LayOutScales(dims, scale_dims, columns || rank == 1 ? -1 : -2, 0);
  if (!found.ok()) return std::move(found).status().WithCode(StatusCode::kNotSupported);
  return found;
}

Result<ByteMatrices> ReadByteMatrices(const KernelArgs& args, size_t input, size_t zero_input, bool turned) {
  const ConstView x = args.input(input), zeros = args.input(zero_input);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(x).status());
  if (zeros.present()) DEPUTY_RETURN_IF_ERROR(CheckTyped(zeros, x.dtype()));
  return ByteMatrices{x.dtype(),
                      x.dims(),
                      x.data<void>(),
                      zeros.present() ? zeros.data<void>() : nullptr,
                      zeros.present() ? zeros.dims() : std::span<const int64_t>(),
                      turned};
}

Result<IntegerProduct> IntegerProduct::Plan(const ByteMatrices& a, const ByteMatrices& b, std::span<const int64_t> c,
                                            const ThreadPool& pool) {
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (a.dims.empty() || b.dims.empty() || (a.turned && row) || (b.turned && column)) return DoNotMultiply(a, b);
  const Stored left(a, Side::kLeft), right(b, Side::kRight);
  IntegerProduct plan;
  linalg::GemmArgs<Int16Pair>& matrices = plan.product_.matrices;
  const int64_t depth = a.turned ? left.rows : left.columns;
  if (depth != (b.turned ? right.columns : right.rows)) return DoNotMultiply(a, b);
  matrices.m = a.turned ? left.columns : left.rows;
  matrices.n = b.turned ? right.rows : right.columns;
  matrices.k = Pairs(depth);
  matrices.transpose_a = a.turned;
  matrices.transpose_b = b.turned;
  matrices.lda = a.turned ? matrices.m : matrices.k;
  matrices.ldb = b.turned ? matrices.k : matrices.n;
  matrices.ldc = matrices.n;
  plan.product_.a_batch = left.batch;
  plan.product_.b_batch = right.batch;
  const size_t matrix_axes = (row ? 0u : 1u) + (column ? 0u : 1u);
  plan.product_.c_batch = c.first(c.size() < matrix_axes ? 0 : c.size() - matrix_axes);
  const std::span<const int64_t> own = c.subspan(plan.product_.c_batch.size());
  const bool fits = own.size() == matrix_axes && BroadcastGives(left.batch, right.batch, plan.product_.c_batch) &&
                    (row || own.front() == matrices.m) && (column || own.back() == matrices.n);
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "the product of shapes {} and {} does not have the output shape {}",
                 ShapeToString(a.dims), ShapeToString(b.dims), ShapeToString(c));
  plan.a_count_ = ElementCount(a.dims);
  plan.b_count_ = ElementCount(b.dims);
  plan.a_pairs_ = PairsOf(a, Side::kLeft);
  plan.b_pairs_ = PairsOf(b, Side::kRight);
  plan.product_bytes_ = BatchWorkspace(plan.product_, pool);
  return plan;
}

IntegerProduct::Places IntegerProduct::LayOut(bool packed_right) const {
  Arena arena;
  Places at;
  at.wide = arena.Reserve<int16_t>(packed_right ? a_count_ : std::max(a_count_, b_count_));
  at.left = arena.Reserve<Int16Pair>(a_pairs_);
  at.right = arena.Reserve<Int16Pair>(packed_right ? 0 : b_pairs_);
  at.product = arena.bytes();
  return at;
}

size_t IntegerProduct::workspace_bytes(bool packed_right) const {
  return LayOut(packed_right).product + product_bytes_;
}

Status IntegerProduct::Compute(const ByteMatrices& a, const ByteMatrices& b, const void* packed_right, int32_t* sums,
                               void* workspace, ThreadPool& pool) const {
  char* const base = static_cast<char*>(workspace);
  const Places at = LayOut(packed_right != nullptr);
  int16_t* const wide = reinterpret_cast<int16_t*>(base + at.wide);
  Int16Pair* const left = reinterpret_cast<Int16Pair*>(base + at.left);
  Int16Pair* const right = reinterpret_cast<Int16Pair*>(base + at.right);
  DEPUTY_RETURN_IF_ERROR(Pack(a, Side::kLeft, wide, left, pool));
  if (packed_right == nullptr) DEPUTY_RETURN_IF_ERROR(Pack(b, Side::kRight, wide, right, pool));
  BatchedProduct<Int16Pair> product = product_;
  product.matrices.a = left;
  product.matrices.b = packed_right == nullptr ? right : static_cast<const Int16Pair*>(packed_right);
  product.matrices.c = reinterpret_cast<Int16Pair*>(sums);
  MultiplyBatch(product, base + at.product, pool);
  return {};
}

Result<Tensor> PackRight(const KernelSpec& spec, size_t input, size_t zero_input, bool turned) {
  const Tensor* const b = spec.constant(input);
  const Tensor* const zeros = spec.constant(zero_input);
  const bool known = b != nullptr && (zeros != nullptr || !spec.has_input(zero_input));
  if (!known || SizeOf(b->dtype()) != 1 || b->shape().empty() || (turned && b->shape().size() < 2)) return Tensor();
  if (zeros != nullptr && zeros->dtype() != b->dtype()) return Tensor();
  ByteMatrices matrices{b->dtype(), b->shape(), b->data(), nullptr, {}, turned};
  if (zeros != nullptr) {
    matrices.zeros = zeros->data();
    matrices.zero_dims = zeros->shape();
  }
  const AlignedBytes wide = AllocateAligned(static_cast<size_t>(b->element_count()) * sizeof(int16_t));
  if (wide == nullptr) return Error(StatusCode::kResourceExhausted, "out of memory while packing a constant factor");
  DEPUTY_ASSIGN_OR_RETURN(Tensor packed, Tensor::Allocate(DType::kInt32, {PairsOf(matrices, Side::kRight)}));
  ThreadPool alone(1);
  const Status status = Pack(matrices, Side::kRight, reinterpret_cast<int16_t*>(wide.get()),
                             static_cast<Int16Pair*>(packed.mutable_data()), alone);
  return status.ok() ? packed : Tensor();
}

}  // namespace deputy::host
