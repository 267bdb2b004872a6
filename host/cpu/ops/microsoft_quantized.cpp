// The element-wise operators, pools and Concat of com.microsoft that read and write integers of 8 bits, on the CPU; and
// its QuantizeLinear and DequantizeLinear, which are the same as ONNX's.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/pooling.hpp"
#include "kernels/quantize.hpp"
#include "kernels/reduce.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// One scale, and an optional zero point, of a tensor of this type.
Result<QuantizedRange> ReadRange(const KernelArgs& args, size_t scale_input, size_t zero_input, DType dtype) {
  const ConstView scale = args.input(scale_input);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(scale, DType::kFloat32));
  if (scale.element_count() != 1) return Error(StatusCode::kNotSupported, "input {} must be one scale", scale_input);
  if (dtype != DType::kInt8 && dtype != DType::kUint8)
    return Error(StatusCode::kNotSupported, "dtype {} is not supported, expected int8 or uint8", NameOf(dtype));
  QuantizedRange range{dtype, *scale.data<float>(), 0};
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, zero_input, dtype, 1));
  if (zero != nullptr) range.zero_point = range.IntegerOf(*static_cast<const uint8_t*>(zero));
  return range;
}

// Input 0 and output 0, with the parameters of X at 1 and 2 and those of Y at 3 and 4.
struct Pair {
  QuantizedRange x, y;
};
Result<Pair> ReadPair(const KernelArgs& args) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckStored(x));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, x.dtype(), y.dims()));
  Pair pair;
  DEPUTY_ASSIGN_OR_RETURN(pair.x, ReadRange(args, 1, 2, x.dtype()));
  DEPUTY_ASSIGN_OR_RETURN(pair.y, ReadRange(args, 3, 4, x.dtype()));
  return pair;
}

// fn: float(float)
template <class F>
KernelResult MakeMapped(const KernelSpec& spec, F fn) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {3}));
  return KernelOf([fn](const KernelArgs& args) -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const Pair pair, ReadPair(args));
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    Map(TableOf(pair.x, pair.y, fn), x.data<uint8_t>(), args.output(0).data<uint8_t>(), x.element_count(), args.pool);
    return {};
  });
}

KernelResult MakeCombined(const KernelSpec& spec, decltype(AddQuantized)* combine) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {3, 4, 6}));
  return KernelOf([combine](const KernelArgs& args) -> Status {
    const ConstView a = args.input(0), b = args.input(3);
    const MutableView c = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckStored(a));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(b, a.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(c, a.dtype(), c.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const QuantizedRange a_range, ReadRange(args, 1, 2, a.dtype()));
    DEPUTY_ASSIGN_OR_RETURN(const QuantizedRange b_range, ReadRange(args, 4, 5, a.dtype()));
    DEPUTY_ASSIGN_OR_RETURN(const QuantizedRange c_range, ReadRange(args, 6, 7, a.dtype()));
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({a.dims(), b.dims()}, c.dims()));
    combine(plan, a_range, a.data<uint8_t>(), b_range, b.data<uint8_t>(), c_range, c.data<uint8_t>(), args.pool);
    return {};
  });
}

// Conversion between integers with the channels last and reals with the channels first, [batch, channels, size], or
// without a change of order.
struct ChannelOrder {
  int64_t batch = 1, channels = 1, size = 1;
  bool last = false;

  int64_t count() const { return batch * channels * size; }
  // The index of element `i` of the reals among the integers.
  int64_t At(int64_t i) const {
    if (!last) return i;
    const int64_t plane = i / size;
    return (plane / channels * size + i % size) * channels + plane % channels;
  }
};

void Widen(const ChannelOrder& order, const QuantizedRange& range, const uint8_t* x, float* y, ThreadPool& pool) {
  if (!order.last) {
    pool.ParallelFor(order.count(), 16 << 10, [&](int64_t begin, int64_t end) {
      linalg::Dequantize(x + begin, end - begin, range.dtype == DType::kInt8, range.zero_point, range.scale, y + begin);
    });
    return;
  }
  std::array<float, 256> reals;
  for (size_t i = 0; i < reals.size(); ++i) reals[i] = range.RealOf(static_cast<uint8_t>(i));
  pool.ParallelFor(order.count(), 16 << 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = reals[x[order.At(i)]];
  });
}

void Narrow(const ChannelOrder& order, const QuantizedRange& range, const float* x, uint8_t* y, ThreadPool& pool) {
  pool.ParallelFor(order.count(), 16 << 10, [&](int64_t begin, int64_t end) {
    if (!order.last) return linalg::Quantize(x + begin, end - begin, range.scale, range.bytes(), y + begin);
    for (int64_t i = begin; i < end; ++i) y[order.At(i)] = range.BitsOf(x[i]);
  });
}

struct QuantizedPoolAttributes {
  Window window;  // without axes: the whole plane
  bool last, count_all;
};

// A pool on reals between dequantization and quantization.
Status RunPool(const KernelArgs& args, const QuantizedPoolAttributes& attributes) {
  DEPUTY_ASSIGN_OR_RETURN(const Pair pair, ReadPair(args));
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  const bool global = attributes.window.rank == 0;
  if (x.rank() < 3 || (!global && x.rank() != attributes.window.rank + 2) || x.rank() > kMaxWindowAxes + 2)
    return Error(StatusCode::kInvalidArgument, "X of rank {} does not match the window", x.rank());
  const size_t spatial = x.rank() - 2;
  const std::span<const int64_t> in = x.dims().subspan(attributes.last ? 1 : 2, spatial);
  PoolShape shape;
  shape.window = attributes.window;
  std::copy(in.begin(), in.end(), shape.in.begin());
  std::fill_n(shape.out.begin(), spatial, 1);
  if (!global) DEPUTY_RETURN_IF_ERROR(ResolvePoolWindow(shape.window, in, shape.out));
  const int64_t channels = attributes.last ? x.dims().back() : x.dim(1);
  shape.planes = x.dim(0) * channels;
  SmallDims wanted(x.dims());
  std::copy_n(shape.out.begin(), spatial, wanted.begin() + (attributes.last ? 1 : 2));
  DEPUTY_RETURN_IF_ERROR(CheckDims(y.dims(), {wanted.data(), wanted.size()}, "the output"));
  const ChannelOrder from{x.dim(0), channels, ElementCount(in), attributes.last};
  const ChannelOrder to{x.dim(0), channels, ElementCount(std::span(shape.out).first(spatial)), attributes.last};
  if (from.size == 0 && shape.planes != 0)
    return Error(StatusCode::kInvalidArgument, "X of shape {} has empty spatial axes", ShapeToString(x.dims()));
  const bool direct = global && !attributes.last;
  const size_t wide_bytes = direct ? 0 : AlignUp(static_cast<size_t>(from.count()) * sizeof(float));
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(wide_bytes + static_cast<size_t>(to.count()) * sizeof(float)));
  float* const wide = static_cast<float*>(memory);
  float* const pooled = reinterpret_cast<float*>(static_cast<char*>(memory) + wide_bytes);
  // Sums of integers are exact, so that halves are not changed before they are rounded.
  const QuantizedRange integers{pair.x.dtype, 1, pair.x.zero_point};
  const QuantizedRange steps{pair.y.dtype, pair.y.scale / pair.x.scale, pair.y.zero_point};
  if (!direct) Widen(from, integers, x.data<uint8_t>(), wide, args.pool);
  if (direct && pair.x.dtype == DType::kInt8) {
    GlobalAverageIntegers(shape.planes, from.size, x.data<int8_t>(), pair.x.zero_point, pooled, args.pool);
  } else if (direct) {
    GlobalAverageIntegers(shape.planes, from.size, x.data<uint8_t>(), pair.x.zero_point, pooled, args.pool);
  } else if (global) {
    GlobalAveragePool(shape.planes, from.size, wide, pooled, args.pool);
  } else {
    DropUnitAxes(shape.window, shape.in, shape.out);
    AveragePool(shape, wide, pooled, attributes.count_all ? PoolDivisor::kAll : PoolDivisor::kInside, args.pool);
  }
  Narrow(to, steps, pooled, y.data<uint8_t>(), args.pool);
  return {};
}

KernelResult MakePool(const KernelSpec& spec, Window window) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {3}));
  const QuantizedPoolAttributes attributes{window, spec.primitive().GetInt("channels_last", 0) != 0,
                                           spec.primitive().GetInt("count_include_pad", 0) != 0};
  return KernelOf([attributes](const KernelArgs& args) { return RunPool(args, attributes); });
}

Status RunSoftmax(const KernelArgs& args, int64_t named, bool whole_tail) {
  DEPUTY_ASSIGN_OR_RETURN(const Pair pair, ReadPair(args));
  const ConstView x = args.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named, x.rank()));
  AxisView view = ViewAlong(x.dims(), axis);
  if (whole_tail) view = {view.outer, view.extent * view.inner, 1};
  const ChannelOrder order{1, 1, x.element_count(), false};
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(static_cast<size_t>(order.size) * sizeof(float)));
  float* const wide = static_cast<float*>(memory);
  Widen(order, pair.x, x.data<uint8_t>(), wide, args.pool);
  Softmax(SoftmaxOp::kSoftmax, DType::kFloat32, view, wide, wide, args.pool);
  Narrow(order, pair.y, wide, args.output(0).data<uint8_t>(), args.pool);
  return {};
}

// Inputs with a range for each; they are at 2, 5, 8, ...
Status RunQuantizedConcat(const KernelArgs& args, int64_t named) {
  const MutableView y = args.output(0);
  const ConstView zero = args.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckStored(zero));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, zero.dtype(), y.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const QuantizedRange to, ReadRange(args, 0, 1, y.dtype()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named, y.rank()));
  const int64_t outer = ElementCount(y.dims().first(axis)), inner = ElementCount(y.dims().subspan(axis + 1));
  int64_t before = 0;
  for (size_t i = 2; i < args.inputs.size(); i += 3) {
    const ConstView part = args.input(i);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(part, y.dtype()));
    DEPUTY_ASSIGN_OR_RETURN(const QuantizedRange from, ReadRange(args, i + 1, i + 2, y.dtype()));
    SmallDims wanted(y.dims());
    if (part.rank() == y.rank()) wanted[axis] = part.dim(axis);
    DEPUTY_RETURN_IF_ERROR(CheckDims(part.dims(), {wanted.data(), wanted.size()}, "an input"));
    const QuantizedTable table = TableOf(from, to, [](float real) { return real; });
    const bool same = from.scale == to.scale && from.zero_point == to.zero_point;
    const int64_t run = part.dim(axis) * inner;
    if (before + part.dim(axis) > y.dim(axis)) return Error(StatusCode::kInternal, "the inputs are too long");
    args.pool.ParallelFor(outer, (16 << 10) / std::max<int64_t>(1, run) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const uint8_t* const source = part.data<uint8_t>() + o * run;
        uint8_t* const target = y.data<uint8_t>() + (o * y.dim(axis) + before) * inner;
        if (same)
          std::copy_n(source, run, target);
        else
          for (int64_t k = 0; k < run; ++k) target[k] = table[source[k]];
      }
    });
    before += part.dim(axis);
  }
  return before == y.dim(axis) ? Status() : Error(StatusCode::kInternal, "the inputs are too short");
}

}  // namespace

KernelResult MakeMicrosoft_QuantizeLinear(const KernelSpec& spec) { return MakeQuantizeLinear(spec); }
KernelResult MakeMicrosoft_DequantizeLinear(const KernelSpec& spec) { return MakeDequantizeLinear(spec); }

KernelResult MakeMicrosoft_QLinearAdd(const KernelSpec& spec) { return MakeCombined(spec, AddQuantized); }
KernelResult MakeMicrosoft_QLinearMul(const KernelSpec& spec) { return MakeCombined(spec, MultiplyQuantized); }

KernelResult MakeMicrosoft_QLinearSigmoid(const KernelSpec& spec) {
  return MakeMapped(spec, [](float x) { return 1 / (1 + std::exp(-x)); });
}
KernelResult MakeMicrosoft_QLinearLeakyRelu(const KernelSpec& spec) {
  const float alpha = spec.primitive().GetFloat("alpha", 0.01f);
  return MakeMapped(spec, [alpha](float x) { return x < 0 ? alpha * x : x; });
}

KernelResult MakeMicrosoft_QLinearAveragePool(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const Window window, MakeWindow(WindowOptionsOf(spec.primitive())));
  if (window.rank == 0) return Error(StatusCode::kModel, "attribute kernel_shape is missing");
  return MakePool(spec, window);
}
KernelResult MakeMicrosoft_QLinearGlobalAveragePool(const KernelSpec& spec) { return MakePool(spec, Window()); }

KernelResult MakeMicrosoft_QLinearSoftmax(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {3, 4}));
  if (!spec.primitive().Has("opset")) return Error(StatusCode::kModel, "attribute opset is missing");
  const bool whole_tail = spec.primitive().GetInt("opset", 0) < 13;
  const int64_t axis = spec.primitive().GetInt("axis", -1);
  return KernelOf([axis, whole_tail](const KernelArgs& args) { return RunSoftmax(args, axis, whole_tail); });
}

KernelResult MakeMicrosoft_QLinearConcat(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  if (spec.node.inputs.size() % 3 != 2) return Error(StatusCode::kModel, "an input lacks its scale and zero point");
  for (size_t i = 0; i < spec.node.inputs.size(); ++i) DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {i}));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  return KernelOf([axis](const KernelArgs& args) { return RunQuantizedConcat(args, axis); });
}

}  // namespace deputy::host
