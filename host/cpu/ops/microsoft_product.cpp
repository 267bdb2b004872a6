// FusedMatMul, TransposeMatMul, MatMulNBits, MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm of com.microsoft on
// the CPU.
#include <algorithm>
#include <array>
#include <utility>

#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/parts.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

struct FactorAttributes {
  bool matrix, batches;  // exchange the last two axes; move the first axis behind the batches before that
};

struct ProductAttributes {
  FactorAttributes a, b;
  float alpha;
};

// A factor of the product.
struct Factor {
  SmallDims batch;
  int64_t rows = 1, columns = 1;
  bool turned = false;  // stored as [columns, rows]
  bool moved = false;   // its first axis is moved behind the batches
};

Factor ReadFactor(std::span<const int64_t> dims, FactorAttributes attributes, bool left) {
  Factor factor;
  if (dims.size() == 1) {  // a row on the left, a column on the right
    (left ? factor.columns : factor.rows) = dims[0];
    return factor;
  }
  factor.moved = attributes.batches && dims.size() > 2;
  factor.batch = SmallDims(dims.subspan(factor.moved ? 1 : 0, dims.size() - 2));
  factor.rows = factor.moved ? dims[0] : dims[dims.size() - 2];
  factor.columns = dims.back();
  factor.turned = attributes.matrix;
  if (factor.turned) std::swap(factor.rows, factor.columns);
  return factor;
}

template <class T>
class TurnedProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    Factor a, b;
    SmallDims batch;
    linalg::GemmArgs<T> matrices;
    size_t places[2] = {}, product = 0;
    size_t workspace_bytes = 0;

    BatchedProduct<T> batched() const {
      const auto all = [](const SmallDims& dims) { return std::span<const int64_t>(dims.data(), dims.size()); };
      return {matrices, all(a.batch), all(b.batch), all(batch)};
    }
  };

  explicit TurnedProduct(ProductAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const std::span<const int64_t> a = args.input(0).dims(), b = args.input(1).dims(), c = args.output(0).dims();
    const auto wrong = [&] {
      return Error(StatusCode::kInvalidArgument, "the product of shapes {} and {} does not have the output shape {}",
                   ShapeToString(a), ShapeToString(b), ShapeToString(c));
    };
    if (a.empty() || b.empty()) return wrong();
    Plan plan;
    plan.a = ReadFactor(a, attributes_.a, true);
    plan.b = ReadFactor(b, attributes_.b, false);
    if (plan.a.columns != plan.b.rows) return wrong();
    SmallDims wanted;
    const size_t rank = std::max(plan.a.batch.size(), plan.b.batch.size());
    for (size_t i = rank; i > 0; --i) {
      const auto extent = [i](const SmallDims& dims) { return i <= dims.size() ? dims[dims.size() - i] : 1; };
      const int64_t x = extent(plan.a.batch), y = extent(plan.b.batch);
      if (x != y && x != 1 && y != 1) return wrong();
      plan.batch.push_back(x == 1 ? y : x);
      wanted.push_back(plan.batch.back());
    }
    if (a.size() > 1) wanted.push_back(plan.a.rows);
    if (b.size() > 1) wanted.push_back(plan.b.columns);
    if (!std::equal(wanted.begin(), wanted.end(), c.begin(), c.end())) return wrong();
    linalg::GemmArgs<T>& matrices = plan.matrices;
    matrices.m = plan.a.rows;
    matrices.k = plan.a.columns;
    matrices.n = matrices.ldc = plan.b.columns;
    matrices.transpose_a = plan.a.turned;
    matrices.transpose_b = plan.b.turned;
    matrices.lda = plan.a.turned ? plan.a.rows : plan.a.columns;
    matrices.ldb = plan.b.turned ? plan.b.rows : plan.b.columns;
    matrices.alpha = static_cast<T>(attributes_.alpha);
    size_t end = 0;
    for (size_t i = 0; i < 2; ++i) {
      plan.places[i] = end;
      if ((i == 0 ? plan.a : plan.b).moved)
        end += AlignUp(static_cast<size_t>(ElementCount(args.input(i).dims())) * sizeof(T));
    }
    plan.product = end;
    plan.workspace_bytes = end + BatchWorkspace(plan.batched(), args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    char* const memory = static_cast<char*>(workspace);
    BatchedProduct<T> product = plan.batched();
    product.matrices.a = Place(args, 0, plan.a, memory + plan.places[0]);
    product.matrices.b = Place(args, 1, plan.b, memory + plan.places[1]);
    product.matrices.c = args.output(0).data<T>();
    MultiplyBatch(product, memory + plan.product, args.pool);
    return {};
  }

 private:
  static const T* Place(const KernelArgs& args, size_t input, const Factor& factor, void* memory) {
    const ConstView x = args.input(input);
    if (!factor.moved) return x.data<T>();
    SmallDims axes;
    for (size_t i = 1; i + 1 < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    axes.push_back(0);
    axes.push_back(static_cast<int64_t>(x.rank() - 1));
    Transpose(x.dims(), {axes.data(), axes.size()}, x.data<T>(), memory, sizeof(T), args.pool);
    return static_cast<const T*>(memory);
  }

  ProductAttributes attributes_;
};

struct BlockAttributes {
  int64_t rows, columns, block, bits;  // of the matrix in the product
};

template <class T>
class BlockProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b100101, kTypedOutputs = 0b1;
  struct Plan {
    BlockMatrix<T> matrix;
    int64_t rows = 0;
    size_t workspace_bytes = 0;
  };

  explicit BlockProduct(BlockAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView a = args.input(0), b = args.input(1), scales = args.input(2), zeros = args.input(3);
    Plan plan;
    BlockMatrix<T>& matrix = plan.matrix;
    matrix.rows = attributes_.rows;
    matrix.columns = attributes_.columns;
    matrix.block = attributes_.block;
    matrix.bits = attributes_.bits;
    if (a.rank() == 0 || a.dims().back() != matrix.rows)
      return Error(StatusCode::kInvalidArgument, "A has shape {}, expected a last axis of K ({})",
                   ShapeToString(a.dims()), matrix.rows);
    SmallDims wanted(a.dims());
    wanted[a.rank() - 1] = matrix.columns;
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), {wanted.data(), wanted.size()}, "the output"));
    const auto holds = [](const ConstView& x, int64_t count) { return x.element_count() == count; };
    if (b.dtype() != DType::kUint8 || !holds(b, matrix.columns * matrix.column_bytes()) ||
        !holds(scales, matrix.columns * matrix.blocks()))
      return Error(StatusCode::kInvalidArgument, "B ({} elements) and scales ({}) do not match N ({}) and {} blocks",
                   b.element_count(), scales.element_count(), matrix.columns, matrix.blocks());
    if (zeros.present()) {
      const bool packed = zeros.dtype() == DType::kUint8;
      if (!packed && zeros.dtype() != a.dtype())
        return Error(StatusCode::kInvalidArgument, "zero_points are {}, not uint8 or A's type", NameOf(zeros.dtype()));
      if (!holds(zeros, matrix.columns * (packed ? matrix.zero_bytes() : matrix.blocks())))
        return Error(StatusCode::kInvalidArgument, "zero_points {} do not match scales", ShapeToString(zeros.dims()));
    }
    if (args.input(5).present() && !holds(args.input(5), matrix.columns))
      return Error(StatusCode::kInvalidArgument, "bias {} must have N elements", ShapeToString(args.input(5).dims()));
    plan.rows = ElementCount(a.dims().first(a.rank() - 1));
    plan.workspace_bytes = BlockProductWorkspace(matrix, plan.rows, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView zeros = args.input(3), bias = args.input(5);
    BlockMatrix<T> matrix = plan.matrix;
    matrix.bytes = args.input(1).data<uint8_t>();
    matrix.scales = args.input(2).data<T>();
    if (zeros.present() && zeros.dtype() == DType::kUint8) matrix.packed_zeros = zeros.data<uint8_t>();
    if (zeros.present() && zeros.dtype() != DType::kUint8) matrix.zero_points = zeros.data<T>();
    MultiplyBlocks(matrix, plan.rows, args.input(0).data<T>(), bias.present() ? bias.data<T>() : nullptr,
                   args.output(0).data<T>(), workspace, args.pool);
    return {};
  }

 private:
  BlockAttributes attributes_;
};

KernelResult MakeTurnedProduct(const KernelSpec& spec) {
  const auto says = [&](std::string_view name) { return spec.primitive().GetInt(name, 0) != 0; };
  const ProductAttributes attributes{{says("transA"), says("transBatchA")},
                                     {says("transB"), says("transBatchB")},
                                     spec.primitive().GetFloat("alpha", 1.0f)};
  return MakeFloatKernel<TurnedProduct>(spec, attributes);
}

// The indices of the operands among a node's inputs; `kAbsent` for those that the operator does not have.
struct Places {
  size_t a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
};
constexpr Places kToFloat{0, 2, 4, 1, 3, 5, 6, kAbsent, kAbsent};
constexpr Places kDynamic{0, kAbsent, kAbsent, 1, 2, 3, 4, kAbsent, kAbsent};
constexpr Places kGeneral{0, 1, 2, 3, 4, 5, 6, 7, 8};

struct IntegerFactors {
  Places at;
  bool turn_a = false, turn_b = false;  // of matrices
  float alpha = 1;
};

// Scales and summands, by column.
struct Finishing {
  const float* factors;
  const float* bias;  // null for none
};

Status AddIntegers(const ConstView& c, const IntegerProduct& product, int32_t* sums) {
  DEPUTY_RETURN_IF_ERROR(CheckTyped(c, DType::kInt32));
  const int64_t row_step = c.rank() == 2 && c.dim(0) != 1 ? c.dim(1) : 0;
  const int64_t step = c.rank() > 0 && c.dims().back() != 1 ? 1 : 0;
  const bool fits = c.rank() <= 2 && (step == 0 || c.dims().back() == product.columns()) &&
                    (c.rank() != 2 || c.dim(0) == 1 || c.dim(0) == product.rows()) && c.element_count() != 0;
  if (!fits) return Error(StatusCode::kInvalidArgument, "C {} does not broadcast to Y", ShapeToString(c.dims()));
  ForEachUntilEnd(0, product.rows(), product.columns(), [&](int64_t i) {
    for (int64_t j = 0; j < product.columns(); ++j) {
      int32_t& sum = sums[i * product.columns() + j];
      __builtin_add_overflow(sum, c.data<int32_t>()[i * row_step + j * step], &sum);  // wraps, like the sums
    }
  });
  return {};
}

Status WriteFloats(const KernelArgs& args, const int32_t* sums, int64_t columns, const Finishing& finishing) {
  const MutableView y = args.output(0);
  const int64_t rows = columns == 0 ? 0 : y.element_count() / columns;
  const ConvertFunction narrow = FindConvert(DType::kFloat32, y.dtype());
  args.pool.ParallelFor(rows, 8192 / std::max<int64_t>(1, columns) + 1, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 512;
    float block[kBlock];
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < columns; column += kBlock) {
        const int64_t count = std::min(kBlock, columns - column), at = row * columns + column;
        ScaleSums(sums + at, finishing.factors + column, finishing.bias == nullptr ? nullptr : finishing.bias + column,
                  count, block);
        narrow(block, y.data<char>() + static_cast<size_t>(at) * SizeOf(y.dtype()), count);
      }
  });
  return {};
}

Status RunInteger(const KernelArgs& args, const IntegerFactors& how, const PackedRight& packed) {
  const Places& at = how.at;
  const bool dynamic = at.a_scale == kAbsent;
  const ConstView bias = args.input(at.bias);
  DEPUTY_ASSIGN_OR_RETURN(ByteMatrices a, ReadByteMatrices(args, at.a, at.a_zero, how.turn_a));
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices b, ReadByteMatrices(args, at.b, at.b_zero, how.turn_b));
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, y.dtype(), y.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const IntegerProduct product, IntegerProduct::Plan(a, b, packed, y.dims(), args.pool));
  const int64_t columns = product.columns(), given = args.input(at.b_scale).element_count();
  if (given != 1 && given != columns)
    return Error(StatusCode::kInvalidArgument, "b_scale has {} elements, expected 1 or {}", given, columns);
  Arena arena;
  const size_t bytes_at = arena.Reserve<uint8_t>(dynamic ? ElementCount(a.dims) : 0);
  const size_t sums_at = arena.Reserve<int32_t>(y.element_count());
  const size_t factors_at = arena.Reserve<float>(columns + 1), bias_at = arena.Reserve<float>(columns);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes() + product.workspace_bytes()));
  char* const base = static_cast<char*>(memory);
  int32_t* const sums = reinterpret_cast<int32_t*>(base + sums_at);
  float* const factors = reinterpret_cast<float*>(base + factors_at);

  float a_scale = 0;
  uint8_t a_zero = 0;
  if (dynamic) {
    DEPUTY_RETURN_IF_ERROR(CheckTyped(args.input(at.a), DType::kFloat32));
    QuantizeDynamically(static_cast<const float*>(a.data), ElementCount(a.dims),
                        reinterpret_cast<uint8_t*>(base + bytes_at), a_scale, a_zero, args.pool);
    a.dtype = DType::kUint8;
    a.data = base + bytes_at;
    a.zeros = &a_zero;
  } else {
    DEPUTY_ASSIGN_OR_RETURN(a_scale, ReadScale(args, at.a_scale));
  }
  // One row of integers is what the sums start with.
  const bool integers = bias.present() && at.y_scale != kAbsent;
  const bool starts = integers && bias.dtype() == DType::kInt32 && bias.rank() <= 1 && bias.element_count() == columns;
  if (starts) DEPUTY_RETURN_IF_ERROR(CheckTyped(bias, DType::kInt32));
  DEPUTY_RETURN_IF_ERROR(
      product.Compute(a, b, starts ? bias.data<int32_t>() : nullptr, sums, base + arena.bytes(), args.pool));

  DEPUTY_ASSIGN_OR_RETURN(const float* const b_scales, ReadScales(args, at.b_scale, factors));
  const float single = given == 1 ? b_scales[0] * a_scale * how.alpha : 0;
  for (int64_t i = 0; i < columns; ++i) factors[i] = given == 1 ? single : b_scales[i] * a_scale * how.alpha;
  if (integers && !starts) DEPUTY_RETURN_IF_ERROR(AddIntegers(bias, product, sums));
  Finishing finishing{factors, nullptr};
  if (bias.present() && !integers) {
    if (bias.element_count() != columns)
      return Error(StatusCode::kInvalidArgument, "bias {} must match the columns", ShapeToString(bias.dims()));
    DEPUTY_ASSIGN_OR_RETURN(finishing.bias, ReadScales(args, at.bias, reinterpret_cast<float*>(base + bias_at)));
  }
  if (IsFloating(y.dtype())) return WriteFloats(args, sums, columns, finishing);
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  for (int64_t i = 0; i < columns; ++i) factors[i] /= y_scale;
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, at.y_zero, y.dtype(), 1));
  const ScaleLayout layout{1, product.rows(), columns, 0, 1, 0, 1};
  if (Requantize(layout, sums, factors, y.dtype(), zero, y.data<void>(), args.pool)) return {};
  return Error(StatusCode::kNotSupported, "integer product to {} is not supported", NameOf(y.dtype()));
}

KernelResult MakeInteger(const KernelSpec& spec, const IntegerFactors& how) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_ASSIGN_OR_RETURN(const PackedRight packed, PackRight(spec, how.at.b, how.at.b_zero, how.turn_b));
  return KernelOf([how, packed](const KernelArgs& args) { return RunInteger(args, how, packed); });
}

}  // namespace

KernelResult MakeMicrosoft_FusedMatMul(const KernelSpec& spec) { return MakeTurnedProduct(spec); }
KernelResult MakeMicrosoft_TransposeMatMul(const KernelSpec& spec) { return MakeTurnedProduct(spec); }

KernelResult MakeMicrosoft_MatMulNBits(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "weight_prepacked", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 4, "g_idx"));
  const BlockAttributes attributes{primitive.GetInt("K", 0), primitive.GetInt("N", 0),
                                   primitive.GetInt("block_size", 0), primitive.GetInt("bits", 4)};
  constexpr int64_t kMost = int64_t{1} << 31;
  const int64_t least = std::min({attributes.rows, attributes.columns, attributes.block});
  if (least < 1 || std::max({attributes.rows, attributes.columns, attributes.block}) > kMost || attributes.block < 16 ||
      (attributes.block & (attributes.block - 1)) != 0)
    return Error(StatusCode::kModel, "K {}, N {} and block_size {} must be 1 to 2^31, block_size a power of 2 from 16",
                 attributes.rows, attributes.columns, attributes.block);
  if (attributes.bits != 2 && attributes.bits != 4 && attributes.bits != 8)
    return Error(StatusCode::kNotSupported, "bits {} is not supported, expected 2, 4 or 8", attributes.bits);
  return MakeFloatKernel<BlockProduct>(spec, attributes);
}

KernelResult MakeMicrosoft_MatMulIntegerToFloat(const KernelSpec& spec) { return MakeInteger(spec, {kToFloat}); }
KernelResult MakeMicrosoft_DynamicQuantizeMatMul(const KernelSpec& spec) { return MakeInteger(spec, {kDynamic}); }
KernelResult MakeMicrosoft_QGemm(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  return MakeInteger(spec, {kGeneral, primitive.GetInt("transA", 0) != 0, primitive.GetInt("transB", 0) != 0,
                            primitive.GetFloat("alpha", 1.0f)});
}

}  // namespace deputy::host
