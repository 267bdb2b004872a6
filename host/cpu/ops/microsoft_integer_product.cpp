// MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm of com.microsoft on the CPU.
#include <algorithm>

#include "cpu/makers.hpp"
#include "cpu/ops/arena.hpp"
#include "cpu/ops/integer_product.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "cpu/ops/typed.hpp"
#include "kernels/cast.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

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
  if (!fits) return Error(StatusCode::kInvalidArgument, "C of shape {} does not fit", ShapeToString(c.dims()));
  for (int64_t i = 0; i < product.rows(); ++i)
    for (int64_t j = 0; j < product.columns(); ++j) {
      int32_t& sum = sums[i * product.columns() + j];
      __builtin_add_overflow(sum, c.data<int32_t>()[i * row_step + j * step], &sum);  // wraps, like the sums
    }
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

Status RunInteger(const KernelArgs& args, const IntegerFactors& how, const Tensor& packed) {
  const Places& at = how.at;
  const bool dynamic = at.a_scale == kAbsent;
  const ConstView bias = args.input(at.bias);
  DEPUTY_ASSIGN_OR_RETURN(ByteMatrices a, ReadByteMatrices(args, at.a, at.a_zero, how.turn_a));
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices b, ReadByteMatrices(args, at.b, at.b_zero, how.turn_b));
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, y.dtype(), y.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const IntegerProduct product, IntegerProduct::Plan(a, b, y.dims(), args.pool));
  const int64_t columns = product.columns(), given = args.input(at.b_scale).element_count();
  if (given != 1 && given != columns)
    return Error(StatusCode::kInvalidArgument, "{} scales for {} columns", given, columns);
  Arena arena;
  const size_t bytes_at = arena.Reserve<uint8_t>(dynamic ? ElementCount(a.dims) : 0);
  const size_t sums_at = arena.Reserve<int32_t>(y.element_count());
  const size_t factors_at = arena.Reserve<float>(columns + 1), bias_at = arena.Reserve<float>(columns);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(arena.bytes() + product.workspace_bytes(!packed.empty())));
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
  DEPUTY_RETURN_IF_ERROR(product.Compute(a, b, packed.data(), sums, base + arena.bytes(), args.pool));

  DEPUTY_ASSIGN_OR_RETURN(const float* const b_scales, ReadScales(args, at.b_scale, factors));
  const float single = given == 1 ? b_scales[0] * a_scale * how.alpha : 0;
  for (int64_t i = 0; i < columns; ++i) factors[i] = given == 1 ? single : b_scales[i] * a_scale * how.alpha;
  const bool integers = bias.present() && at.y_scale != kAbsent;
  if (integers) DEPUTY_RETURN_IF_ERROR(AddIntegers(bias, product, sums));
  Finishing finishing{factors, nullptr};
  if (bias.present() && !integers) {
    if (bias.element_count() != columns)
      return Error(StatusCode::kInvalidArgument, "a bias of shape {}", ShapeToString(bias.dims()));
    DEPUTY_ASSIGN_OR_RETURN(finishing.bias, ReadScales(args, at.bias, reinterpret_cast<float*>(base + bias_at)));
  }
  if (IsFloating(y.dtype())) return WriteFloats(args, sums, columns, finishing);
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  for (int64_t i = 0; i < columns; ++i) factors[i] /= y_scale;
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, at.y_zero, y.dtype(), 1));
  const ScaleLayout layout{1, product.rows(), columns, 0, 1, 0, 1};
  if (Requantize(layout, sums, factors, y.dtype(), zero, y.data<void>(), args.pool)) return {};
  return Error(StatusCode::kNotSupported, "a product of {}", NameOf(y.dtype()));
}

KernelResult MakeInteger(const KernelSpec& spec, const IntegerFactors& how) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor packed, PackRight(spec, how.at.b, how.at.b_zero, how.turn_b));
  return KernelOf([how, packed](const KernelArgs& args) { return RunInteger(args, how, packed); });
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
