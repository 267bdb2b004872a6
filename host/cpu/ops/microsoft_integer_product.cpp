// MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm of com.microsoft on the CPU. Sums of products of 8-bit integers
// are exact in double precision, so that the products of floating point serve them all.
#include <algorithm>
#include <cmath>

#include "base/aligned.hpp"
#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "cpu/ops/typed.hpp"
#include "kernels/cast.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

// Where the operands stand among a node's inputs; `kNowhere` for those that the operator does not have.
constexpr size_t kNowhere = SIZE_MAX;
struct Places {
  size_t a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
};
constexpr Places kToFloat{0, 2, 4, 1, 3, 5, 6, kNowhere, kNowhere};
constexpr Places kDynamic{0, kNowhere, kNowhere, 1, 2, 3, 4, kNowhere, kNowhere};
constexpr Places kGeneral{0, 1, 2, 3, 4, 5, 6, 7, 8};

struct IntegerProduct {
  Places at;
  bool turn_a = false, turn_b = false;  // of matrices
  float alpha = 1;
};

Status DoNotMultiply(const ConstView& a, const ConstView& b) {
  return Error(StatusCode::kInvalidArgument, "shapes {} and {} do not multiply", ShapeToString(a.dims()),
               ShapeToString(b.dims()));
}

// The batches broadcast; `batch` keeps their extents.
Result<BatchedProduct<double>> PlanProduct(const ConstView& a, const ConstView& b, std::span<const int64_t> c,
                                           const IntegerProduct& how) {
  if (a.rank() == 0 || b.rank() == 0) return DoNotMultiply(a, b);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if ((how.turn_a && row) || (how.turn_b && column)) return DoNotMultiply(a, b);
  BatchedProduct<double> product;
  linalg::GemmArgs<double>& matrices = product.matrices;
  matrices.m = row ? 1 : a.dim(a.rank() - (how.turn_a ? 1 : 2));
  matrices.k = how.turn_a ? a.dim(a.rank() - 2) : a.dims().back();
  matrices.n = column ? 1 : b.dim(b.rank() - (how.turn_b ? 2 : 1));
  matrices.transpose_a = how.turn_a;
  matrices.transpose_b = how.turn_b;
  matrices.lda = a.dims().back();
  matrices.ldb = column ? 1 : b.dims().back();
  matrices.ldc = matrices.n;
  if (matrices.k != (column ? b.dim(0) : b.dim(b.rank() - (how.turn_b ? 1 : 2)))) return DoNotMultiply(a, b);
  product.a_batch = a.dims().first(row ? 0 : a.rank() - 2);
  product.b_batch = b.dims().first(column ? 0 : b.rank() - 2);
  SmallDims wanted;
  for (size_t i = std::max(product.a_batch.size(), product.b_batch.size()); i > 0; --i) {
    const auto extent = [i](std::span<const int64_t> dims) { return i <= dims.size() ? dims[dims.size() - i] : 1; };
    const int64_t x = extent(product.a_batch), y = extent(product.b_batch);
    if (x != y && x != 1 && y != 1) return DoNotMultiply(a, b);
    wanted.push_back(x == 1 ? y : x);
  }
  product.c_batch = c.first(std::min(c.size(), wanted.size()));
  if (!row) wanted.push_back(matrices.m);
  if (!column) wanted.push_back(matrices.n);
  DEPUTY_RETURN_IF_ERROR(CheckDims(c, {wanted.data(), wanted.size()}, "the output"));
  return product;
}

// An operand without its zero points: one, or along the last axis, or along the other one of a turned matrix.
// `narrow` has room for as many elements.
Status Widen(const KernelArgs& args, size_t input, size_t zero_input, bool turned, int16_t* narrow, double* target) {
  const ConstView x = args.input(input), zero = args.input(zero_input);
  ScaleLayout layout{1, 1, x.element_count(), 0, 1, 0, 0};
  const void* zeros = nullptr;
  if (zero.present()) {
    DEPUTY_RETURN_IF_ERROR(CheckTyped(zero, x.dtype()));
    Result<ScaleLayout> found = LayOutScales(x.dims(), zero.dims(), turned ? -2 : -1, 0);
    if (!found.ok()) return std::move(found).status().WithCode(StatusCode::kNotSupported);
    layout = *found;
    zeros = zero.data<void>();
  }
  if (SubtractZeroPoints(layout, x.dtype(), x.data<void>(), zeros, narrow, args.pool)) {
    std::copy_n(narrow, x.element_count(), target);
    return {};
  }
  return Error(StatusCode::kNotSupported, "a product of {}", NameOf(x.dtype()));
}

// Floats as integers of 8 bits around a zero point of their own, which is taken away again. Returns the scale.
double QuantizeWhole(const float* x, int64_t count, double* target) {
  float low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
  for (int64_t i = 0; i < count; ++i)
    target[i] = static_cast<double>(std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f) - zero);
  return static_cast<double>(scale);
}

// Scales and what is added, by column.
struct Finishing {
  const float* factors;
  const float* bias;  // null for none
};

Status AddIntegers(const ConstView& c, const linalg::GemmArgs<double>& matrices, double* sums) {
  DEPUTY_RETURN_IF_ERROR(CheckTyped(c, DType::kInt32));
  const int64_t row_step = c.rank() == 2 && c.dim(0) != 1 ? c.dim(1) : 0;
  const int64_t step = c.rank() > 0 && c.dims().back() != 1 ? 1 : 0;
  const bool fits = c.rank() <= 2 && (step == 0 || c.dims().back() == matrices.n) &&
                    (c.rank() != 2 || c.dim(0) == 1 || c.dim(0) == matrices.m) && c.element_count() != 0;
  if (!fits) return Error(StatusCode::kInvalidArgument, "C of shape {} does not fit", ShapeToString(c.dims()));
  for (int64_t i = 0; i < matrices.m; ++i)
    for (int64_t j = 0; j < matrices.n; ++j)
      sums[i * matrices.n + j] += static_cast<double>(c.data<int32_t>()[i * row_step + j * step]);
  return {};
}

Status WriteFloats(const KernelArgs& args, const double* sums, int64_t columns, const Finishing& finishing) {
  const MutableView y = args.output(0);
  const int64_t rows = columns == 0 ? 0 : y.element_count() / columns;
  const ConvertFunction narrow = FindConvert(DType::kFloat32, y.dtype());
  args.pool.ParallelFor(rows, 8192 / std::max<int64_t>(1, columns) + 1, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 512;
    float block[kBlock];
    for (int64_t at = begin * columns; at < end * columns;) {
      const int64_t count = std::min(kBlock, end * columns - at);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t column = (at + i) % columns;
        block[i] = static_cast<float>(sums[at + i]) * finishing.factors[column] +
                   (finishing.bias == nullptr ? 0.0f : finishing.bias[column]);
      }
      narrow(block, y.data<char>() + static_cast<size_t>(at) * SizeOf(y.dtype()), count);
      at += count;
    }
  });
  return {};
}

Result<float> OneScale(const KernelArgs& args, size_t input) {
  float value = 0;
  if (!args.input(input).present() || args.input(input).element_count() != 1)
    return Error(StatusCode::kNotSupported, "input {} is not one scale", input);
  DEPUTY_ASSIGN_OR_RETURN(const float* const scale, ReadScales(args, input, &value));
  return *scale;
}

Status RunInteger(const KernelArgs& args, const IntegerProduct& how) {
  const Places& at = how.at;
  const ConstView a = args.input(at.a), b = args.input(at.b), bias = args.input(at.bias);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(a).status());
  DEPUTY_RETURN_IF_ERROR(ElementBytes(b).status());
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, y.dtype(), y.dims()));
  DEPUTY_ASSIGN_OR_RETURN(BatchedProduct<double> product, PlanProduct(a, b, y.dims(), how));
  const int64_t columns = product.matrices.n, given = args.input(at.b_scale).element_count();
  if (given != 1 && given != columns)
    return Error(StatusCode::kInvalidArgument, "{} scales for {} columns", given, columns);
  size_t end = 0;
  const auto take = [&end](int64_t count, size_t size) {
    const size_t begin = end;
    end += AlignUp(static_cast<size_t>(count) * size);
    return begin;
  };
  const size_t a_at = take(a.element_count(), sizeof(double)), b_at = take(b.element_count(), sizeof(double));
  const size_t c_at = take(y.element_count(), sizeof(double)), factors_at = take(columns + 1, sizeof(float));
  const size_t bias_at = take(columns, sizeof(float));
  const size_t narrow_at = take(std::max(a.element_count(), b.element_count()), sizeof(int16_t));
  const size_t sums_at = take(IsFloating(y.dtype()) ? 0 : y.element_count(), sizeof(int32_t));
  const size_t product_at = take(static_cast<int64_t>(BatchWorkspace(product, args.pool)), 1);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(end));
  char* const base = static_cast<char*>(memory);
  const auto doubles = [base](size_t offset) { return reinterpret_cast<double*>(base + offset); };
  int16_t* const narrow = reinterpret_cast<int16_t*>(base + narrow_at);
  float* const factors = reinterpret_cast<float*>(base + factors_at);

  float a_scale = 0;
  if (at.a_scale == kNowhere) {
    DEPUTY_RETURN_IF_ERROR(CheckTyped(a, DType::kFloat32));
    a_scale = static_cast<float>(QuantizeWhole(a.data<float>(), a.element_count(), doubles(a_at)));
  } else {
    DEPUTY_RETURN_IF_ERROR(Widen(args, at.a, at.a_zero, !how.turn_a, narrow, doubles(a_at)));
    DEPUTY_ASSIGN_OR_RETURN(a_scale, OneScale(args, at.a_scale));
  }
  DEPUTY_RETURN_IF_ERROR(Widen(args, at.b, at.b_zero, how.turn_b, narrow, doubles(b_at)));
  product.matrices.a = doubles(a_at);
  product.matrices.b = doubles(b_at);
  product.matrices.c = doubles(c_at);
  MultiplyBatch(product, base + product_at, args.pool);

  DEPUTY_ASSIGN_OR_RETURN(const float* const b_scales, ReadScales(args, at.b_scale, factors));
  const float single = given == 1 ? b_scales[0] * a_scale * how.alpha : 0;
  for (int64_t i = 0; i < columns; ++i) factors[i] = given == 1 ? single : b_scales[i] * a_scale * how.alpha;
  const bool integers = bias.present() && how.at.y_scale != kNowhere;
  if (integers) DEPUTY_RETURN_IF_ERROR(AddIntegers(bias, product.matrices, doubles(c_at)));
  Finishing finishing{factors, nullptr};
  if (bias.present() && !integers) {
    if (bias.element_count() != columns)
      return Error(StatusCode::kInvalidArgument, "a bias of shape {}", ShapeToString(bias.dims()));
    DEPUTY_ASSIGN_OR_RETURN(finishing.bias, ReadScales(args, at.bias, reinterpret_cast<float*>(base + bias_at)));
  }
  if (IsFloating(y.dtype())) return WriteFloats(args, doubles(c_at), columns, finishing);
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, OneScale(args, at.y_scale));
  for (int64_t i = 0; i < columns; ++i) factors[i] /= y_scale;
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, at.y_zero, y.dtype(), 1));
  const ScaleLayout layout{1, product.matrices.m, columns, 0, 1, 0, 1};
  int32_t* const sums = reinterpret_cast<int32_t*>(base + sums_at);
  for (int64_t i = 0; i < y.element_count(); ++i)
    sums[i] = static_cast<int32_t>(static_cast<int64_t>(doubles(c_at)[i]));
  if (Requantize(layout, sums, factors, y.dtype(), zero, y.data<void>(), args.pool)) return {};
  return Error(StatusCode::kNotSupported, "a product of {}", NameOf(y.dtype()));
}

KernelResult MakeInteger(const KernelSpec& spec, const IntegerProduct& how) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  return KernelOf([how](const KernelArgs& args) { return RunInteger(args, how); });
}

}  // namespace

KernelResult MakeMicrosoft_MatMulIntegerToFloat(const KernelSpec& spec) { return MakeInteger(spec, {kToFloat}); }
KernelResult MakeMicrosoft_DynamicQuantizeMatMul(const KernelSpec& spec) { return MakeInteger(spec, {kDynamic}); }
KernelResult MakeMicrosoft_QGemm(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  return MakeInteger(spec, {kGeneral, primitive.GetInt("transA", 0) != 0, primitive.GetInt("transB", 0) != 0,
                            primitive.GetFloat("alpha", 1.0f)});
}

}  // namespace deputy::host
