// ConvInteger and QLinearConv on the CPU. Integers of 8 bits are multiplied in quads where the weights are constant and
// the instruction set has them; else, without their zero points, as pairs of 16 bits. Both are exact, and the sums are
// int32.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/aligned.hpp"
#include "base/memory_budget.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized_operands.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/convolution.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

using linalg::Int16Pair;
using linalg::Int8Quad;

// One zero point for all elements, or one for each index of `axis`.
Result<ScaleLayout> LayOutZeroPoints(const ByteMatrices& of, int64_t axis) {
  if (of.zeros == nullptr) return ScaleLayout{1, 1, ElementCount(of.dims), 0, 1, 0, 0};
  Result<ScaleLayout> found = LayOutScales(of.dims, of.zero_dims, axis, 0);
  if (!found.ok()) return std::move(found).status().WithCode(StatusCode::kNotSupported);
  return found;
}

// Pairs of channels of an operand [outer, channels, inner] without its zero points, of which there may be one for each
// index of `axis`. `wide` has room for all elements; it is used only then.
Status PairChannels(const ByteMatrices& of, int64_t axis, int64_t outer, int64_t channels, int64_t inner, int16_t* wide,
                    Int16Pair* pairs, ThreadPool& pool) {
  if (of.has_one_zero()) {
    PairUpBytes(outer, channels, inner, of.dtype, of.data, of.first_zero(), pairs, pool);
    return {};
  }
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout layout, LayOutZeroPoints(of, axis));
  if (!SubtractZeroPoints(layout, of.dtype, of.data, of.zeros, wide, pool))
    return Error(StatusCode::kNotSupported, "a quantized operand of {} is not supported", NameOf(of.dtype));
  PairUp(outer, channels, inner, wide, pairs, pool);
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
ConvolutionShape PairedShape(ConvolutionShape shape) {
  shape.in_channels = (shape.in_channels / shape.group + 1) / 2 * shape.group;
  return shape;
}

// The same over quads of channels of x, around whose planes there is the padding.
ConvolutionShape QuadShape(ConvolutionShape shape) {
  shape.in_channels = (shape.in_channels / shape.group + 3) / 4 * shape.group;
  for (size_t i = 0; i < shape.window.rank; ++i) {
    WindowAxis& axis = shape.window.axes[i];
    shape.in[i] += axis.pad_begin + axis.pad_end;
    axis.pad_begin = axis.pad_end = 0;
  }
  return shape;
}

// Padding of such a size is copied: no more than a window covers.
bool IsPaddedLittle(const ConvolutionShape& shape) {
  const std::span<const WindowAxis> axes = shape.window.all();
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) {
    return axis.pad_begin >= 0 && axis.pad_end >= 0 && std::max(axis.pad_begin, axis.pad_end) < axis.reach() &&
           axis.reach() < 64;
  });
}

// Constant weights [out, channels, kernel...] without their zero points: of one channel as floats, for depthwise
// convolutions, together with the bias, a number for each filter; of more channels as quads, where these leave little
// and the zero point of x is constant, with the bias less the products of this zero point; else as pairs. Empty if they
// are not constant or inconsistent, which the run reports, and floats where their sums would not be exact.
struct PackedFilters {
  Tensor floats, bias, pairs, quads;
  std::vector<QuadRest> rest;  // of the quads
};

// Sums of integers are exact in float32 in any order while none is larger.
constexpr int64_t kLargestExact = int64_t{1} << 24;

// The bias as floats, zeros where there is none; empty if the sums of so many products of 8-bit integers and the bias
// are not exact, or the bias is not constant.
Result<Tensor> ExactBias(const KernelSpec& spec, size_t input, int64_t filters, int64_t taps) {
  const Tensor* const bias = spec.constant(input);
  if (spec.has_input(input) && (bias == nullptr || bias->dtype() != DType::kInt32 || bias->element_count() != filters))
    return Tensor();
  DEPUTY_ASSIGN_OR_RETURN(Tensor floats, Tensor::Allocate(DType::kFloat32, {filters}));
  float* const to = static_cast<float*>(floats.mutable_data());
  for (int64_t i = 0; i < filters; ++i) {
    const int64_t given = bias == nullptr ? 0 : int64_t{static_cast<const int32_t*>(bias->data())[i]};
    if (taps * 255 * 255 + std::abs(given) > kLargestExact) return Tensor();
    to[i] = static_cast<float>(given);
  }
  return floats;
}

constexpr int64_t kFilterQuadsForEachRest = 16;  // which is added row by row

// Quads of channels of `wide`, [filters, channels, taps], and what they leave; empty where that is much.
Result<Tensor> PackFilterQuads(const int16_t* wide, int64_t filters, int64_t channels, int64_t taps,
                               std::vector<QuadRest>& rest) {
  const int64_t quads = (channels + 3) / 4, count = filters * quads * taps;
  DEPUTY_ASSIGN_OR_RETURN(Tensor packed, AllocateWeights(DType::kInt32, {count}));
  int32_t* const to = static_cast<int32_t*>(packed.mutable_data());
  for (int64_t i = 0; i < count && IsLittle(rest, count, kFilterQuadsForEachRest); ++i) {
    const int64_t filter = i / (quads * taps), step = i % (quads * taps), channel = step / taps * 4;
    int16_t quad[4] = {};
    for (int64_t j = 0; j < std::min<int64_t>(4, channels - channel); ++j)
      quad[j] = wide[(filter * channels + channel + j) * taps + step % taps];
    to[i] = SplitQuad(quad, filter, step, rest);
  }
  if (IsLittle(rest, count, kFilterQuadsForEachRest)) return packed;
  WeightMemoryScope::Give(packed.byte_size());
  return Tensor();
}

// The bias, or zeros, less the products of the zero point of x as uint8 with the weights of each filter; empty if they
// are not constant. Wraps, as the sums do.
Result<Tensor> StartOfQuads(const KernelSpec& spec, const OperandIndices& at, const int16_t* wide, int64_t filters,
                            int64_t count) {
  const Tensor* const bias = at.bias == kAbsent ? nullptr : spec.constant(at.bias);
  const Tensor* const zero = spec.constant(at.x_zero);
  const DType dtype = spec.input_type(at.x).dtype;
  if (at.bias != kAbsent && spec.has_input(at.bias) &&
      (bias == nullptr || bias->dtype() != DType::kInt32 || bias->element_count() != filters))
    return Tensor();
  if (spec.has_input(at.x_zero) && (zero == nullptr || zero->dtype() != dtype || zero->element_count() != 1))
    return Tensor();
  const uint8_t bits = zero == nullptr ? uint8_t{0} : *static_cast<const uint8_t*>(zero->data());
  const uint32_t subtracted = dtype == DType::kInt8 ? bits ^ 0x80u : bits;
  DEPUTY_ASSIGN_OR_RETURN(Tensor start, Tensor::Allocate(DType::kInt32, {filters}));
  for (int64_t i = 0; i < filters; ++i) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += static_cast<uint32_t>(wide[i * count + j]);
    const int32_t given = bias == nullptr ? 0 : static_cast<const int32_t*>(bias->data())[i];
    static_cast<int32_t*>(start.mutable_data())[i] =
        static_cast<int32_t>(static_cast<uint32_t>(given) - subtracted * sum);
  }
  return start;
}

Result<PackedFilters> PackFilters(const KernelSpec& spec, const OperandIndices& at) {
  const Tensor* const w = spec.constant(at.w);
  const Tensor* const zeros = spec.constant(at.w_zero);
  PackedFilters packed;
  if (w == nullptr || (zeros == nullptr && spec.has_input(at.w_zero))) return packed;
  if ((w->dtype() != DType::kUint8 && w->dtype() != DType::kInt8) || w->shape().size() < 3) return packed;
  if ((zeros != nullptr && zeros->dtype() != w->dtype()) || w->element_count() == 0) return packed;
  ByteMatrices bytes{w->dtype(), w->shape(), w->data(), nullptr, {}};
  if (zeros != nullptr) {
    bytes.zeros = zeros->data();
    bytes.zero_dims = zeros->shape();
  }
  const int64_t filters = w->shape()[0], channels = w->shape()[1], taps = w->element_count() / (filters * channels);
  ThreadPool alone(1);
  if (channels == 1) {
    const Result<ScaleLayout> layout = LayOutZeroPoints(bytes, 0);
    DEPUTY_ASSIGN_OR_RETURN(packed.bias, ExactBias(spec, at.bias, filters, taps));
    if (!layout.ok() || packed.bias.empty()) return packed;
    const std::vector<float> ones(static_cast<size_t>(zeros == nullptr ? 1 : zeros->element_count()), 1.0f);
    DEPUTY_ASSIGN_OR_RETURN(packed.floats, AllocateWeights(DType::kFloat32, w->shape()));
    Dequantize(*layout, bytes.dtype, bytes.data, ones.data(), bytes.zeros, DType::kFloat32,
               packed.floats.mutable_data(), alone);
    return packed;
  }
  const AlignedBytes wide = AllocateAligned(static_cast<size_t>(w->element_count()) * sizeof(int16_t));
  if (wide == nullptr) return Error(StatusCode::kResourceExhausted, "out of memory while packing constant weights");
  int16_t* const integers = reinterpret_cast<int16_t*>(wide.get());
  const Result<ScaleLayout> layout = LayOutZeroPoints(bytes, 0);
  if (!layout.ok() || !SubtractZeroPoints(*layout, bytes.dtype, bytes.data, bytes.zeros, integers, alone))
    return packed;
  if (linalg::HasQuads() && channels > 2) {
    DEPUTY_ASSIGN_OR_RETURN(packed.bias, StartOfQuads(spec, at, integers, filters, channels * taps));
    if (!packed.bias.empty()) {
      DEPUTY_ASSIGN_OR_RETURN(packed.quads, PackFilterQuads(integers, filters, channels, taps, packed.rest));
    }
    if (!packed.quads.empty()) return packed;
  }
  DEPUTY_ASSIGN_OR_RETURN(packed.pairs, AllocateWeights(DType::kInt32, {filters * ((channels + 1) / 2) * taps}));
  PairUp(filters, channels, taps, integers, static_cast<Int16Pair*>(packed.pairs.mutable_data()), alone);
  return packed;
}

Status RunConvolution(const KernelArgs& args, const OperandIndices& at,
                      const QuantizedConvolutionAttributes& attributes, const PackedFilters& packed) {
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices x, ReadByteMatrices(args, at.x, at.x_zero));
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices w, ReadByteMatrices(args, at.w, at.w_zero));
  DEPUTY_ASSIGN_OR_RETURN(const ConvolutionShape shape, PlanConvolution(args, at, attributes));
  const ConvolutionShape paired = PairedShape(shape);
  const int64_t x_count = ElementCount(x.dims), w_count = ElementCount(w.dims);
  const int64_t results = ElementCount(args.output(0).dims());
  const int64_t channels = shape.in_channels / shape.group, filters = shape.out_channels * channels;
  const int64_t taps = filters == 0 ? 0 : w_count / filters;
  const bool depthwise =
      !packed.floats.empty() && x.has_one_zero() && x_count != 0 && results != 0 && IsDepthwise(shape);
  const bool by_quads = !packed.quads.empty() && linalg::HasQuads() && x_count != 0 && IsPaddedLittle(shape);
  const bool packs = !depthwise && !by_quads && packed.pairs.empty();
  const ConvolutionShape quads = QuadShape(shape);
  const int64_t x_planes = shape.batch * shape.in_channels, plane = x_planes == 0 ? 0 : x_count / x_planes;
  Arena arena;
  const size_t wide_at = arena.Reserve<int16_t>(depthwise || by_quads ? 0 : std::max(x_count, w_count));
  const size_t x_at = arena.Reserve<Int16Pair>(
      depthwise  ? x_count
      : by_quads ? shape.batch * quads.in_channels * ElementCount(std::span(quads.in).first(quads.window.rank))
                 : shape.batch * paired.in_channels * plane);
  const size_t w_at = arena.Reserve<Int16Pair>(packs ? shape.out_channels * ((channels + 1) / 2) * taps : 0);
  const size_t real_at = arena.Reserve<float>(depthwise ? results : 0);
  const size_t y_at = arena.Reserve<int32_t>(at.y_scale == kAbsent || depthwise ? 0 : results);
  const size_t scales_at = arena.Reserve<float>(shape.out_channels + 1);
  const size_t workspace_at =
      arena.Reserve<char>(static_cast<int64_t>(depthwise  ? ConvolutionWorkspace<float>(shape, args.pool)
                                               : by_quads ? ConvolutionWorkspace<Int8Quad>(quads, args.pool)
                                                          : ConvolutionWorkspace<Int16Pair>(paired, args.pool)));
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes()));
  char* const base = static_cast<char*>(memory);
  DEPUTY_ASSIGN_OR_RETURN(const int32_t* const bias, BiasOf(args, at.bias, shape.out_channels));
  if (at.w_scale != kAbsent && args.input(at.w_scale).present() &&
      args.input(at.w_scale).element_count() > shape.out_channels)
    return Error(StatusCode::kInvalidArgument, "w_scale has more elements than there are output channels");
  DEPUTY_ASSIGN_OR_RETURN(int32_t* const sums, SumsOf(args, at, base + y_at));
  const float one = 1;
  float* const real_x = reinterpret_cast<float*>(base + x_at);
  float* const real_y = reinterpret_cast<float*>(base + real_at);
  if (depthwise) {
    Dequantize({1, 1, x_count, 0, 1, 0, 0}, x.dtype, x.data, &one, x.zeros, DType::kFloat32, real_x, args.pool);
    Convolve(shape, real_x, static_cast<const float*>(packed.floats.data()),
             static_cast<const float*>(packed.bias.data()), real_y, base + workspace_at, args.pool);
  } else if (by_quads) {
    QuadPlanes planes{shape.batch * shape.group, channels, shape.in, shape.window.all(), 0};
    planes.padded_with = static_cast<uint8_t>(x.first_zero() + (x.dtype == DType::kInt8 ? 128 : 0));
    Int8Quad* const x_quads = reinterpret_cast<Int8Quad*>(base + x_at);
    QuadUp(planes, x.dtype, x.data, x_quads, args.pool);
    Convolve(quads, x_quads, static_cast<const Int8Quad*>(packed.quads.data()),
             static_cast<const Int8Quad*>(packed.bias.data()), reinterpret_cast<Int8Quad*>(sums), base + workspace_at,
             args.pool);
    AddRest(quads, x_quads, packed.rest, sums, args.pool);
  } else {
    int16_t* const wide = reinterpret_cast<int16_t*>(base + wide_at);
    Int16Pair* const x_pairs = reinterpret_cast<Int16Pair*>(base + x_at);
    Int16Pair* const w_pairs = reinterpret_cast<Int16Pair*>(base + w_at);
    DEPUTY_RETURN_IF_ERROR(PairChannels(x, 1, shape.batch * shape.group, channels, plane, wide, x_pairs, args.pool));
    if (packs) DEPUTY_RETURN_IF_ERROR(PairChannels(w, 0, shape.out_channels, channels, taps, wide, w_pairs, args.pool));
    Convolve(paired, x_pairs, packs ? w_pairs : static_cast<const Int16Pair*>(packed.pairs.data()),
             reinterpret_cast<const Int16Pair*>(bias), reinterpret_cast<Int16Pair*>(sums), base + workspace_at,
             args.pool);
  }
  if (at.y_scale == kAbsent) {
    constexpr int64_t kGrain = 1 << 14;
    if (depthwise)
      args.pool.ParallelFor(results, kGrain, [&](int64_t begin, int64_t end) {
        linalg::Truncate(real_y + begin, end - begin, sums + begin);
      });
    return {};
  }
  float* const multipliers = reinterpret_cast<float*>(base + scales_at);
  DEPUTY_RETURN_IF_ERROR(JoinScales(args, at, multipliers));
  Result<ScaleLayout> layout = LayOutScales(args.output(0).dims(), args.input(at.w_scale).dims(), 1, 0);
  if (!layout.ok()) return std::move(layout).status().WithCode(StatusCode::kNotSupported);
  return depthwise ? FinishQuantized(args, at, *layout, real_y, multipliers)
                   : FinishQuantized(args, at, *layout, sums, multipliers);
}

KernelResult MakeConvolution(const KernelSpec& spec, const OperandIndices& at) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  QuantizedConvolutionAttributes attributes{spec.primitive(), WindowOptionsOf(spec.primitive()),
                                            spec.primitive().GetInt("group", 1)};
  if (attributes.group < 1) return Error(StatusCode::kModel, "group must be at least 1, got {}", attributes.group);
  DEPUTY_ASSIGN_OR_RETURN(const PackedFilters packed, PackFilters(spec, at));
  return KernelOf(
      [attributes, at, packed](const KernelArgs& args) { return RunConvolution(args, at, attributes, packed); });
}

}  // namespace

KernelResult MakeConvInteger(const KernelSpec& spec) { return MakeConvolution(spec, kIntegerOperands); }
KernelResult MakeQLinearConv(const KernelSpec& spec) { return MakeConvolution(spec, kQLinearOperands); }

}  // namespace deputy::host
