// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul on
// the CPU. Integers of 8 bits without their zero points have 16 bits; these are multiplied in pairs, and the sums are
// int32.
#include <algorithm>
#include <array>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/cast.hpp"
#include "kernels/convolution.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

Result<const float*> ReadScales(const KernelArgs& args, size_t input, float* memory) {
  const ConstView scales = args.input(input);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(scales).status());
  if (scales.dtype() == DType::kFloat32) return scales.data<float>();
  if (!IsFloating(scales.dtype()))
    return Error(StatusCode::kNotSupported, "scale of dtype {} is not supported", NameOf(scales.dtype()));
  FindConvert(scales.dtype(), DType::kFloat32)(scales.data<char>(), memory, scales.element_count());
  return memory;
}

Result<float> ReadScale(const KernelArgs& args, size_t input) {
  float value = 0;
  if (!args.input(input).present() || args.input(input).element_count() != 1)
    return Error(StatusCode::kNotSupported, "input {} must be one scale", input);
  DEPUTY_ASSIGN_OR_RETURN(const float* const scale, ReadScales(args, input, &value));
  return *scale;
}

Result<const void*> ReadZeroPoints(const KernelArgs& args, size_t input, DType dtype, int64_t count) {
  const ConstView zero_points = args.input(input);
  if (!zero_points.present()) return nullptr;
  DEPUTY_RETURN_IF_ERROR(CheckTyped(zero_points, dtype));
  if (zero_points.element_count() != count)
    return Error(StatusCode::kInvalidArgument, "zero point has {} elements, expected {}", zero_points.element_count(),
                 count);
  return zero_points.data<void>();
}

namespace {

struct QuantizationAttributes {
  int64_t axis, block;
};

// The inputs after the first, which quantization and dequantization share.
struct QuantizationInputs {
  ScaleLayout layout;
  const float* scales;
  const void* zero_points;
};

Result<QuantizationInputs> ReadInputs(const KernelArgs& args, QuantizationAttributes attributes, DType quantized) {
  const ConstView x = args.input(0), scales = args.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckStored(x));
  DEPUTY_RETURN_IF_ERROR(CheckStored(scales));
  QuantizationInputs inputs;
  Result<ScaleLayout> layout = LayOutScales(x.dims(), scales.dims(), attributes.axis, attributes.block);
  if (!layout.ok()) return std::move(layout).status().WithCode(StatusCode::kInvalidArgument);
  inputs.layout = *layout;
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(static_cast<size_t>(scales.element_count()) * sizeof(float)));
  DEPUTY_ASSIGN_OR_RETURN(inputs.scales, ReadScales(args, 1, static_cast<float*>(memory)));
  DEPUTY_ASSIGN_OR_RETURN(inputs.zero_points, ReadZeroPoints(args, 2, quantized, scales.element_count()));
  return inputs;
}

QuantizationAttributes AttributesOf(const Primitive& primitive) {
  return {primitive.GetInt("axis", 1), primitive.GetInt("block_size", 0)};
}

Status CannotQuantize(DType from, DType to) {
  return Error(StatusCode::kNotSupported, "conversion of {} to {} is not supported", NameOf(from), NameOf(to));
}

}  // namespace

KernelResult MakeQuantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const QuantizationAttributes attributes = AttributesOf(spec.primitive());
  const bool saturate = spec.primitive().GetInt("saturate", 1) != 0;
  return KernelOf([attributes, saturate](const KernelArgs& args) -> Status {
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const QuantizationInputs inputs, ReadInputs(args, attributes, output.dtype()));
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), x.dims()));
    const bool known = IsStorage(output.dtype())
                           ? QuantizeStorage(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, output.dtype(),
                                             inputs.zero_points, saturate, output.data<void>(), args.pool)
                           : Quantize(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, output.dtype(),
                                      inputs.zero_points, output.data<void>(), args.pool);
    return known ? Status() : CannotQuantize(x.dtype(), output.dtype());
  });
}

KernelResult MakeDequantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const QuantizationAttributes attributes = AttributesOf(spec.primitive());
  return KernelOf([attributes](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const QuantizationInputs inputs, ReadInputs(args, attributes, x.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), x.dims()));
    const bool known = Dequantize(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, inputs.zero_points,
                                  output.dtype(), output.data<void>(), args.pool);
    return known ? Status() : CannotQuantize(x.dtype(), output.dtype());
  });
}

KernelResult MakeDynamicQuantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  return KernelOf([](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, DType::kFloat32));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kUint8, x.dims()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(1), DType::kFloat32, {}));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(2), DType::kUint8, {}));
    QuantizeDynamically(x.data<float>(), x.element_count(), args.output(0).data<uint8_t>(),
                        *args.output(1).data<float>(), *args.output(2).data<uint8_t>(), args.pool);
    return {};
  });
}

namespace {

using linalg::Int16Pair;

// The indices of the operands among a node's inputs; `kAbsent` for those that the operator does not have.
struct OperandIndices {
  size_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
};
constexpr OperandIndices kInteger{0, kAbsent, 2, 1, kAbsent, 3, kAbsent, kAbsent, kAbsent};
constexpr OperandIndices kQLinear{0, 1, 2, 3, 4, 5, 6, 7, 8};

// An operand without its zero points: one, or one for each index of `axis`.
Status Widen(const KernelArgs& args, size_t input, size_t zero_input, int64_t axis, int16_t* target) {
  const ConstView x = args.input(input), zero = args.input(zero_input);
  ScaleLayout layout{1, 1, x.element_count(), 0, 1, 0, 0};
  const void* zeros = nullptr;
  if (zero.present()) {
    DEPUTY_RETURN_IF_ERROR(CheckTyped(zero, x.dtype()));
    Result<ScaleLayout> found = LayOutScales(x.dims(), zero.dims(), axis, 0);
    if (!found.ok()) return std::move(found).status().WithCode(StatusCode::kNotSupported);
    layout = *found;
    zeros = zero.data<void>();
  }
  if (!SubtractZeroPoints(layout, x.dtype(), x.data<void>(), zeros, target, args.pool))
    return Error(StatusCode::kNotSupported, "a quantized operand of {} is not supported", NameOf(x.dtype()));
  return {};
}

// The memory of the sums: an output of int32 holds them itself.
Result<int32_t*> SumsOf(const KernelArgs& args, const OperandIndices& at, void* memory) {
  if (at.y_scale != kAbsent) return static_cast<int32_t*>(memory);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt32, args.output(0).dims()));
  return args.output(0).data<int32_t>();
}

// Scales the sums and converts them to the output's type.
Status Finish(const KernelArgs& args, const OperandIndices& at, const ScaleLayout& layout, const int32_t* sums,
              const float* multipliers) {
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, at.y_zero, output.dtype(), 1));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), output.dims()));
  if (!Requantize(layout, sums, multipliers, output.dtype(), zero, output.data<void>(), args.pool))
    return Error(StatusCode::kNotSupported, "a quantized output of {} is not supported", NameOf(output.dtype()));
  return {};
}

// The scales of the weights, combined with those of input and output.
Status JoinScales(const KernelArgs& args, const OperandIndices& at, float* multipliers) {
  DEPUTY_ASSIGN_OR_RETURN(const float x_scale, ReadScale(args, at.x_scale));
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  DEPUTY_ASSIGN_OR_RETURN(const float* const w_scales, ReadScales(args, at.w_scale, multipliers));
  for (int64_t c = 0; c < args.input(at.w_scale).element_count(); ++c) multipliers[c] = x_scale * w_scales[c] / y_scale;
  return {};
}

struct QuantizedConvolutionAttributes {
  Primitive primitive;  // owns the lists of the window
  WindowOptions window;
  int64_t group;
};

Result<ConvolutionShape> PlanConvolution(const KernelArgs& args, const OperandIndices& at,
                                         const QuantizedConvolutionAttributes& attributes) {
  const ConstView x = args.input(at.x), w = args.input(at.w);
  if (x.rank() < 3 || w.rank() != x.rank())
    return Error(StatusCode::kInvalidArgument, "ranks of x {} and w {} must be equal, 3 or more", x.rank(), w.rank());
  ConvolutionShape shape;
  DEPUTY_ASSIGN_OR_RETURN(shape.window, WindowForWeights(attributes.window, w.dims().subspan(2)));
  shape.batch = x.dim(0);
  shape.group = attributes.group;
  shape.in_channels = x.dim(1);
  shape.out_channels = w.dim(0);
  if (x.dim(1) % shape.group != 0 || x.dim(1) / shape.group != w.dim(1) || w.dim(0) % shape.group != 0)
    return Error(StatusCode::kInvalidArgument, "w of shape {} does not match {} input channels in {} groups",
                 ShapeToString(w.dims()), x.dim(1), shape.group);
  std::copy(x.dims().begin() + 2, x.dims().end(), shape.in.begin());
  DEPUTY_RETURN_IF_ERROR(ResolveWindow(shape.window, x.dims().subspan(2), shape.out));
  std::array<int64_t, kMaxWindowAxes + 2> dims = {shape.batch, shape.out_channels};
  std::copy_n(shape.out.begin(), x.rank() - 2, dims.begin() + 2);
  DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), std::span(dims).first(x.rank()), "the output"));
  DropUnitAxes(shape.window, shape.in, shape.out);
  return shape;
}

// Null without a bias.
Result<const int32_t*> BiasOf(const KernelArgs& args, size_t input, int64_t channels) {
  if (input == kAbsent || !args.input(input).present()) return nullptr;
  const ConstView bias = args.input(input);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(bias, DType::kInt32));
  if (bias.element_count() != channels)
    return Error(StatusCode::kInvalidArgument, "B has {} elements, expected {}", bias.element_count(), channels);
  return bias.data<int32_t>();
}

// The same convolution over pairs of channels.
ConvolutionShape PairChannels(ConvolutionShape shape) {
  shape.in_channels = (shape.in_channels / shape.group + 1) / 2 * shape.group;
  return shape;
}

Status RunConvolution(const KernelArgs& args, const OperandIndices& at,
                      const QuantizedConvolutionAttributes& attributes) {
  const ConstView x = args.input(at.x), w = args.input(at.w);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(x).status());
  DEPUTY_RETURN_IF_ERROR(ElementBytes(w).status());
  DEPUTY_ASSIGN_OR_RETURN(const ConvolutionShape shape, PlanConvolution(args, at, attributes));
  const ConvolutionShape paired = PairChannels(shape);
  const int64_t x_planes = shape.batch * shape.in_channels, x_pairs = shape.batch * paired.in_channels;
  const int64_t plane = x_planes == 0 ? 0 : x.element_count() / x_planes;
  const int64_t channels = shape.in_channels / shape.group, pairs = paired.in_channels / shape.group;
  const int64_t filters = shape.out_channels * channels, taps = filters == 0 ? 0 : w.element_count() / filters;
  Arena arena;
  const size_t wide_at = arena.Reserve<int16_t>(std::max(x.element_count(), w.element_count()));
  const size_t x_at = arena.Reserve<Int16Pair>(x_pairs * plane);
  const size_t w_at = arena.Reserve<Int16Pair>(shape.out_channels * pairs * taps);
  const size_t y_at = arena.Reserve<int32_t>(at.y_scale == kAbsent ? 0 : ElementCount(args.output(0).dims()));
  const size_t scales_at = arena.Reserve<float>(shape.out_channels + 1);
  const size_t workspace_at =
      arena.Reserve<char>(static_cast<int64_t>(ConvolutionWorkspace<Int16Pair>(paired, args.pool)));
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes()));
  char* const base = static_cast<char*>(memory);
  int16_t* const wide = reinterpret_cast<int16_t*>(base + wide_at);
  const auto pairs_at = [base](size_t offset) { return reinterpret_cast<Int16Pair*>(base + offset); };
  DEPUTY_RETURN_IF_ERROR(Widen(args, at.x, at.x_zero, 1, wide));
  PairUp(shape.batch * shape.group, channels, plane, wide, pairs_at(x_at), args.pool);
  DEPUTY_RETURN_IF_ERROR(Widen(args, at.w, at.w_zero, 0, wide));
  PairUp(shape.out_channels, channels, taps, wide, pairs_at(w_at), args.pool);
  DEPUTY_ASSIGN_OR_RETURN(const int32_t* const bias, BiasOf(args, at.bias, shape.out_channels));
  if (at.w_scale != kAbsent && args.input(at.w_scale).present() &&
      args.input(at.w_scale).element_count() > shape.out_channels)
    return Error(StatusCode::kInvalidArgument, "w_scale has more elements than there are output channels");
  DEPUTY_ASSIGN_OR_RETURN(int32_t* const sums, SumsOf(args, at, base + y_at));
  Convolve(paired, pairs_at(x_at), pairs_at(w_at), reinterpret_cast<const Int16Pair*>(bias),
           reinterpret_cast<Int16Pair*>(sums), base + workspace_at, args.pool);
  if (at.y_scale == kAbsent) return {};
  float* const multipliers = reinterpret_cast<float*>(base + scales_at);
  DEPUTY_RETURN_IF_ERROR(JoinScales(args, at, multipliers));
  Result<ScaleLayout> layout = LayOutScales(args.output(0).dims(), args.input(at.w_scale).dims(), 1, 0);
  if (!layout.ok()) return std::move(layout).status().WithCode(StatusCode::kNotSupported);
  return Finish(args, at, *layout, sums, multipliers);
}

int64_t ScaleOf(const ScaleLayout& layout, int64_t element) {
  const int64_t inner = element % layout.inner, row = element / layout.inner;
  return row / layout.extent * layout.outer_step + row % layout.extent / layout.block * layout.axis_step +
         inner * layout.inner_step;
}

// Scales of both factors, by rows and by columns, as one for each element of the result. A factor that is a vector has
// one scale, and its axis is omitted.
Result<ScaleLayout> JoinMatrixScales(const KernelArgs& args, const OperandIndices& at, float* multipliers,
                                     float* widened) {
  const ConstView x = args.input(at.x_scale), w = args.input(at.w_scale);
  const MutableView output = args.output(0);
  const bool row = args.input(at.x).rank() == 1, column = args.input(at.w).rank() == 1;
  if ((row && x.element_count() != 1) || (column && w.element_count() != 1))
    return Error(StatusCode::kNotSupported, "per-axis scale of a vector operand is not supported");
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout columns, LayOutMatrixScales(output.dims(), w.dims(), true));
  if (x.element_count() == 1) {
    DEPUTY_RETURN_IF_ERROR(JoinScales(args, at, multipliers));
    return columns;
  }
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout rows, LayOutMatrixScales(output.dims(), x.dims(), column));
  DEPUTY_ASSIGN_OR_RETURN(const float* const x_scales, ReadScales(args, at.x_scale, widened));
  DEPUTY_ASSIGN_OR_RETURN(const float* const w_scales, ReadScales(args, at.w_scale, widened + x.element_count()));
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  const int64_t count = output.element_count();
  args.pool.ParallelFor(count, 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multipliers[i] = x_scales[ScaleOf(rows, i)] * w_scales[ScaleOf(columns, i)] / y_scale;
  });
  return ScaleLayout{1, 1, count, 0, 1, 0, 1};
}

Status RunProduct(const KernelArgs& args, const OperandIndices& at, const Tensor& packed) {
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices a, ReadByteMatrices(args, at.x, at.x_zero));
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices b, ReadByteMatrices(args, at.w, at.w_zero));
  const std::span<const int64_t> c = args.output(0).dims();
  DEPUTY_ASSIGN_OR_RETURN(const IntegerProduct product, IntegerProduct::Plan(a, b, c, args.pool));
  const bool scaled = at.y_scale != kAbsent;
  const auto scales = [&](size_t input) { return scaled ? args.input(input).element_count() : 0; };
  const int64_t results = scaled ? ElementCount(c) : 0;
  Arena arena;
  const size_t c_at = arena.Reserve<int32_t>(results);
  const size_t widened_at = arena.Reserve<float>(scales(at.x_scale) + scales(at.w_scale));
  const size_t joined_at = arena.Reserve<float>(scales(at.x_scale) > 1 ? results : scales(at.w_scale));
  const size_t workspace_at = arena.bytes();
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(workspace_at + product.workspace_bytes(!packed.empty())));
  char* const base = static_cast<char*>(memory);
  DEPUTY_ASSIGN_OR_RETURN(int32_t* const sums, SumsOf(args, at, base + c_at));
  DEPUTY_RETURN_IF_ERROR(product.Compute(a, b, packed.data(), sums, base + workspace_at, args.pool));
  if (!scaled) return {};
  float* const multipliers = reinterpret_cast<float*>(base + joined_at);
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout layout,
                          JoinMatrixScales(args, at, multipliers, reinterpret_cast<float*>(base + widened_at)));
  return Finish(args, at, layout, sums, multipliers);
}

KernelResult MakeConvolution(const KernelSpec& spec, const OperandIndices& at) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  QuantizedConvolutionAttributes attributes{spec.primitive(), WindowOptionsOf(spec.primitive()),
                                            spec.primitive().GetInt("group", 1)};
  if (attributes.group < 1) return Error(StatusCode::kModel, "group must be at least 1, got {}", attributes.group);
  return KernelOf([attributes, at](const KernelArgs& args) { return RunConvolution(args, at, attributes); });
}

KernelResult MakeProduct(const KernelSpec& spec, const OperandIndices& at) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor packed, PackRight(spec, at.w, at.w_zero));
  return KernelOf([at, packed](const KernelArgs& args) { return RunProduct(args, at, packed); });
}

}  // namespace

KernelResult MakeConvInteger(const KernelSpec& spec) { return MakeConvolution(spec, kInteger); }
KernelResult MakeMatMulInteger(const KernelSpec& spec) { return MakeProduct(spec, kInteger); }
KernelResult MakeQLinearConv(const KernelSpec& spec) { return MakeConvolution(spec, kQLinear); }
KernelResult MakeQLinearMatMul(const KernelSpec& spec) { return MakeProduct(spec, kQLinear); }

}  // namespace deputy::host
