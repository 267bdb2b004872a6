#include <algorithm>

#include "base/aligned.hpp"
#include "base/memory_budget.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

using linalg::Int16Pair;
using linalg::Int8Quad;

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
int64_t Quads(int64_t depth) { return (depth + 3) / 4; }

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

Result<IntegerProduct> IntegerProduct::Plan(const ByteMatrices& a, const ByteMatrices& b, const PackedRight& packed,
                                            std::span<const int64_t> c, const ThreadPool& pool) {
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (a.dims.empty() || b.dims.empty() || (a.turned && row) || (b.turned && column)) return DoNotMultiply(a, b);
  const Stored left(a, Side::kLeft), right(b, Side::kRight);
  IntegerProduct plan(packed);
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
  plan.rows_ = matrices.m;
  plan.columns_ = matrices.n;
  plan.by_quads_ = !packed.quads.empty() && linalg::HasQuads() && !a.turned && depth != 0 &&
                   (a.zeros == nullptr || ElementCount(a.zero_dims) == 1);
  if (!plan.by_quads_) {
    plan.product_bytes_ = BatchWorkspace(plan.product_, pool);
    return plan;
  }
  plan.a_rows_ = ElementCount(left.batch) * left.rows;
  plan.depth_ = depth;
  linalg::GemmArgs<Int8Quad>& quads = plan.quads_.matrices;
  quads.m = matrices.m;
  quads.n = quads.ldc = matrices.n;
  quads.k = quads.lda = Quads(depth);
  quads.ldb = quads.k * linalg::PanelWidth<Int8Quad>();
  quads.b_in_panels = quads.b_is_signed = true;
  quads.beta = Int8Quad{1};
  plan.quads_.a_batch = plan.product_.a_batch;
  plan.quads_.b_batch = plan.product_.b_batch;
  plan.quads_.c_batch = plan.product_.c_batch;
  plan.product_bytes_ = BatchWorkspace(plan.quads_, pool);
  return plan;
}

IntegerProduct::Places IntegerProduct::LayOut() const {
  Arena arena;
  Places at;
  const bool packs = packed_.pairs.empty();
  at.wide = arena.Reserve<int16_t>(by_quads_ ? 0 : packs ? std::max(a_count_, b_count_) : a_count_);
  at.left = arena.Reserve<Int16Pair>(by_quads_ ? a_rows_ * Quads(depth_) : a_pairs_);
  at.right = arena.Reserve<Int16Pair>(by_quads_ || !packs ? 0 : b_pairs_);
  at.product = arena.bytes();
  return at;
}

// The sums of products with the zero point of A are those of the columns of B.
void IntegerProduct::ComputeQuads(const ByteMatrices& a, const int32_t* start, int32_t* sums, char* base,
                                  ThreadPool& pool) const {
  const Places at = LayOut();
  Int8Quad* const left = reinterpret_cast<Int8Quad*>(base + at.left);
  QuadUpRows(a.dtype, a.data, a_rows_, depth_, left, pool);
  const uint32_t zero = static_cast<uint32_t>(a.first_zero() + (a.dtype == DType::kInt8 ? 128 : 0));
  const int32_t* const column_sums = static_cast<const int32_t*>(packed_.sums.data());
  for (int64_t j = 0; a_rows_ != 0 && j < columns_; ++j) {
    const uint32_t given = start == nullptr ? 0 : static_cast<uint32_t>(start[j]);
    sums[j] = static_cast<int32_t>(given - zero * static_cast<uint32_t>(column_sums[j]));
  }
  ForEachUntilEnd(1, a_rows_, columns_, [&](int64_t i) { std::copy_n(sums, columns_, sums + i * columns_); });
  BatchedProduct<Int8Quad> product = quads_;
  product.matrices.a = left;
  product.matrices.b = static_cast<const Int8Quad*>(packed_.quads.data());
  product.matrices.c = reinterpret_cast<Int8Quad*>(sums);
  MultiplyBatch(product, base + at.product, pool);
  constexpr int64_t kSteps = 8;  // of one rest for one row
  ForEachUntilEnd(0, static_cast<int64_t>(packed_.rest.size()), StepsOf(a_rows_, kSteps), [&](int64_t rest) {
    const QuadRest& part = packed_.rest[static_cast<size_t>(rest)];
    ForEachUntilEnd(0, a_rows_, kSteps, [&](int64_t i) {
      linalg::AddQuads(part.quad, reinterpret_cast<const int32_t*>(left) + i * Quads(depth_) + part.step, 1, 1,
                       sums + i * columns_ + part.line);
    });
  });
}

Status IntegerProduct::Compute(const ByteMatrices& a, const ByteMatrices& b, const int32_t* start, int32_t* sums,
                               void* workspace, ThreadPool& pool) const {
  char* const base = static_cast<char*>(workspace);
  if (by_quads_) {
    ComputeQuads(a, start, sums, base, pool);
    return {};
  }
  const Places at = LayOut();
  int16_t* const wide = reinterpret_cast<int16_t*>(base + at.wide);
  Int16Pair* const left = reinterpret_cast<Int16Pair*>(base + at.left);
  Int16Pair* const right = reinterpret_cast<Int16Pair*>(base + at.right);
  const bool packs = packed_.pairs.empty();
  DEPUTY_RETURN_IF_ERROR(Pack(a, Side::kLeft, wide, left, pool));
  if (packs) DEPUTY_RETURN_IF_ERROR(Pack(b, Side::kRight, wide, right, pool));
  BatchedProduct<Int16Pair> product = product_;
  product.matrices.a = left;
  product.matrices.b = packs ? right : static_cast<const Int16Pair*>(packed_.pairs.data());
  product.matrices.c = reinterpret_cast<Int16Pair*>(sums);
  MultiplyBatch(product, base + at.product, pool);
  const int64_t rows = start == nullptr || columns_ == 0 ? 0 : ElementCount(product_.c_batch) * rows_;
  ForEachUntilEnd(0, rows, columns_, [&](int64_t i) {
    for (int64_t j = 0; j < columns_; ++j) {
      int32_t& sum = sums[i * columns_ + j];
      __builtin_add_overflow(sum, start[j], &sum);  // wraps, like the sums
    }
  });
  return {};
}

namespace {

constexpr int64_t kQuadsForEachRest = 64;  // which is added element by element

// Of one matrix [depth, columns], or turned [columns, depth], without zero points.
Status PackQuads(const int16_t* wide, int64_t depth, int64_t columns, bool turned, PackedRight& packed) {
  const int64_t quads = Quads(depth), width = linalg::PanelWidth<Int8Quad>(), panels = (columns + width - 1) / width;
  DEPUTY_ASSIGN_OR_RETURN(packed.quads, AllocateWeights(DType::kInt32, {panels * quads * width}));
  DEPUTY_ASSIGN_OR_RETURN(packed.sums, Tensor::Allocate(DType::kInt32, {columns}));
  int32_t* const to = static_cast<int32_t*>(packed.quads.mutable_data());
  int32_t* const sums = static_cast<int32_t*>(packed.sums.mutable_data());
  std::fill_n(to, panels * quads * width, 0);
  for (int64_t j = 0; j < columns && IsLittle(packed.rest, quads * columns, kQuadsForEachRest); ++j) {
    sums[j] = 0;
    for (int64_t p = 0; p < quads; ++p) {
      int16_t quad[4] = {};
      for (int64_t i = 4 * p; i < std::min(4 * p + 4, depth); ++i) {
        quad[i % 4] = wide[turned ? j * depth + i : i * columns + j];
        sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + static_cast<uint32_t>(quad[i % 4]));
      }
      to[(j / width * quads + p) * width + j % width] = SplitQuad(quad, j, p, packed.rest);
    }
  }
  if (!IsLittle(packed.rest, quads * columns, kQuadsForEachRest)) {
    WeightMemoryScope::Give(packed.quads.byte_size());
    packed.quads = Tensor();
  }
  return {};
}

}  // namespace

Result<PackedRight> PackRight(const KernelSpec& spec, size_t input, size_t zero_input, bool turned) {
  const Tensor* const b = spec.constant(input);
  const Tensor* const zeros = spec.constant(zero_input);
  PackedRight packed;
  const bool known = b != nullptr && (zeros != nullptr || !spec.has_input(zero_input));
  if (!known || SizeOf(b->dtype()) != 1 || b->shape().empty() || (turned && b->shape().size() < 2)) return packed;
  if (zeros != nullptr && zeros->dtype() != b->dtype()) return packed;
  ByteMatrices matrices{b->dtype(), b->shape(), b->data(), nullptr, {}, turned};
  if (zeros != nullptr) {
    matrices.zeros = zeros->data();
    matrices.zero_dims = zeros->shape();
  }
  const AlignedBytes memory = AllocateAligned(static_cast<size_t>(b->element_count()) * sizeof(int16_t));
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "out of memory while packing a constant factor");
  int16_t* const wide = reinterpret_cast<int16_t*>(memory.get());
  ThreadPool alone(1);
  if (linalg::HasQuads() && b->shape().size() == 2 && b->element_count() != 0) {
    ScaleLayout layout{1, 1, b->element_count(), 0, 1, 0, 0};
    if (zeros != nullptr) {
      const Result<ScaleLayout> found = LayOutMatrixScales(b->shape(), zeros->shape(), !turned);
      if (!found.ok()) return packed;
      layout = *found;
    }
    if (!SubtractZeroPoints(layout, b->dtype(), b->data(), matrices.zeros, wide, alone)) return packed;
    const int64_t rows = b->shape()[0], columns = b->shape()[1];
    DEPUTY_RETURN_IF_ERROR(PackQuads(wide, turned ? columns : rows, turned ? rows : columns, turned, packed));
    if (!packed.quads.empty()) return packed;
  }
  DEPUTY_ASSIGN_OR_RETURN(Tensor pairs, AllocateWeights(DType::kInt32, {PairsOf(matrices, Side::kRight)}));
  if (Pack(matrices, Side::kRight, wide, static_cast<Int16Pair*>(pairs.mutable_data()), alone).ok())
    packed.pairs = std::move(pairs);
  return packed;
}

}  // namespace deputy::host
