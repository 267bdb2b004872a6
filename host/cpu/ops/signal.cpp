// DFT, STFT, the windows and MelWeightMatrix on the CPU. Transforms are computed in double precision.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/fourier.hpp"
#include "kernels/parts.hpp"
#include "kernels/reduce.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Result<int64_t> ScalarAt(const KernelArgs& args, size_t input, const char* subject) {
  const ConstView view = args.input(input);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(view).status());
  int64_t value = 0;
  const ConvertFunction convert = FindConvert(view.dtype(), DType::kInt64);
  if (view.element_count() != 1 || convert == nullptr)
    return Error(StatusCode::kInvalidArgument, "input '{}' must be a scalar number", subject);
  convert(view.data<char>(), &value, 1);
  return value;
}

struct TransformAttributes {
  int64_t axis;
  bool axis_is_input, inverse, onesided;
};

template <class T>
class FourierTransform {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    AxisView from, to;  // in pairs or numbers
    int64_t length = 0, numbers = 0;
    size_t workspace_bytes = 0;
  };

  explicit FourierTransform(TransformAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    const MutableView y = args.output(0);
    int64_t named = attributes_.axis;
    if (attributes_.axis_is_input && args.input(2).present()) {
      DEPUTY_ASSIGN_OR_RETURN(named, ScalarAt(args, 2, "axis"));
    }
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named, x.rank()));
    if (axis + 1 >= x.rank() || y.rank() != x.rank())
      return Error(StatusCode::kInvalidArgument, "axis must not be the last one, of real and imaginary parts");
    Plan plan;
    plan.numbers = x.dim(x.rank() - 1);
    if (plan.numbers != 1 && plan.numbers != 2)
      return Error(StatusCode::kInvalidArgument, "the last axis has extent {}, expected 1 or 2", plan.numbers);
    plan.from = ViewAlong(x.dims().first(x.rank() - 1), axis);
    plan.to = ViewAlong(y.dims().first(y.rank() - 1), axis);
    const bool half = attributes_.onesided && !attributes_.inverse;
    plan.length = y.dim(axis);
    if (args.input(1).present()) {
      DEPUTY_ASSIGN_OR_RETURN(plan.length, ScalarAt(args, 1, "dft_length"));
    } else if (half) {
      plan.length = x.dim(axis);
    }
    const int64_t bins = half ? plan.length / 2 + 1 : plan.length;
    const int64_t wanted = attributes_.inverse && attributes_.onesided ? 1 : 2;
    if (plan.length < 1 || plan.to.extent != bins || plan.to.outer != plan.from.outer ||
        plan.to.inner != plan.from.inner || y.dim(y.rank() - 1) != wanted)
      return Error(StatusCode::kInvalidArgument, "dft_length {} of shape {} does not match the output shape {}",
                   plan.length, ShapeToString(x.dims()), ShapeToString(y.dims()));
    plan.workspace_bytes = (FourierMemory(plan.length) + 2 * static_cast<size_t>(plan.length)) * sizeof(double);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    double* const line = static_cast<double*>(workspace);
    double* const memory = line + 2 * plan.length;
    PrepareFourier(plan.length, memory);
    const auto transform = [&](int64_t i) {
      const int64_t outer = i / plan.from.inner, inner = i % plan.from.inner;
      Read(plan, args.input(0).data<T>() + (outer * plan.from.extent * plan.from.inner + inner) * plan.numbers, line);
      Transform(plan.length, attributes_.inverse, line, memory);
      const int64_t parts = attributes_.inverse && attributes_.onesided ? 1 : 2;
      T* const target = args.output(0).data<T>() + (outer * plan.to.extent * plan.to.inner + inner) * parts;
      InPartsOf(plan.to.extent, parts, [&](int64_t begin, int64_t end) {
        T* to = target + begin * plan.to.inner * parts;
        for (int64_t k = begin; k < end; ++k, to += plan.to.inner * parts)
          for (int64_t part = 0; part < parts; ++part) to[part] = static_cast<T>(line[2 * k + part]);
      });
    };
    ForEachUntilEnd(0, plan.from.outer * plan.from.inner, FourierSteps(plan.length), transform);
    return Status();
  }

 private:
  // Cut or padded with zeros; half a spectrum is completed by mirroring.
  void Read(const Plan& plan, const T* from, double* line) const {
    const bool mirrored = attributes_.inverse && attributes_.onesided;
    const int64_t most = mirrored ? plan.length / 2 + 1 : plan.length;
    ZeroInParts(line, 2 * static_cast<size_t>(plan.length) * sizeof(double));
    InPartsOf(std::min(plan.from.extent, most), 2, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const T* number = from + n * plan.from.inner * plan.numbers;
        line[2 * n] = static_cast<double>(number[0]);
        if (plan.numbers == 2) line[2 * n + 1] = static_cast<double>(number[1]);
      }
    });
    if (!mirrored) return;
    const int64_t half = plan.length / 2 + 1;
    InPartsOf(plan.length - half, 2, [&](int64_t begin, int64_t end) {
      for (int64_t n = half + begin; n < half + end; ++n) {
        line[2 * n] = line[2 * (plan.length - n)];
        line[2 * n + 1] = -line[2 * (plan.length - n) + 1];
      }
    });
  }

  TransformAttributes attributes_;
};

template <class T>
class ShortTimeTransform {
 public:
  static constexpr uint32_t kTypedInputs = 0b101, kTypedOutputs = 0b1;
  struct Plan {
    int64_t batch = 0, samples = 0, numbers = 1, step = 0, length = 0, frames = 0, bins = 0;
    size_t workspace_bytes = 0;
  };

  explicit ShortTimeTransform(bool onesided) : onesided_(onesided) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView signal = args.input(0), window = args.input(2);
    const MutableView y = args.output(0);
    Plan plan;
    if (signal.rank() < 2 || signal.rank() > 3)
      return Error(StatusCode::kInvalidArgument, "signal has rank {}, expected 2 or 3", signal.rank());
    plan.batch = signal.dim(0);
    plan.samples = signal.dim(1);
    plan.numbers = signal.rank() == 3 ? signal.dim(2) : 1;
    DEPUTY_ASSIGN_OR_RETURN(plan.step, ScalarAt(args, 1, "frame_step"));
    if (args.input(3).present()) {
      DEPUTY_ASSIGN_OR_RETURN(plan.length, ScalarAt(args, 3, "frame_length"));
    } else if (window.present()) {
      plan.length = ElementCount(window.dims());
    }
    if (plan.step < 1 || plan.length < 1 || plan.length > plan.samples || plan.numbers < 1 || plan.numbers > 2 ||
        (window.present() && ElementCount(window.dims()) != plan.length))
      return Error(StatusCode::kInvalidArgument, "frame_length {} and frame_step {} do not match signal {} or window",
                   plan.length, plan.step, ShapeToString(signal.dims()));
    plan.frames = (plan.samples - plan.length) / plan.step + 1;
    plan.bins = onesided_ ? plan.length / 2 + 1 : plan.length;
    const int64_t dims[] = {plan.batch, plan.frames, plan.bins, 2};
    DEPUTY_RETURN_IF_ERROR(CheckDims(y.dims(), dims, "the output"));
    plan.workspace_bytes = (FourierMemory(plan.length) + 2 * static_cast<size_t>(plan.length)) * sizeof(double);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    double* const line = static_cast<double*>(workspace);
    double* const memory = line + 2 * plan.length;
    PrepareFourier(plan.length, memory);
    const T* window = args.input(2).present() ? args.input(2).data<T>() : nullptr;
    const auto transform = [&](int64_t i) {
      const int64_t first = i / plan.frames * plan.samples + i % plan.frames * plan.step;
      const T* from = args.input(0).data<T>() + first * plan.numbers;
      InPartsOf(plan.length, 2, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const double factor = window == nullptr ? 1.0 : static_cast<double>(window[n]);
          line[2 * n] = static_cast<double>(from[n * plan.numbers]) * factor;
          line[2 * n + 1] = plan.numbers == 2 ? static_cast<double>(from[n * plan.numbers + 1]) * factor : 0.0;
        }
      });
      Transform(plan.length, false, line, memory);
      T* const to = args.output(0).data<T>() + i * 2 * plan.bins;
      InPartsOf(2 * plan.bins, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) to[k] = static_cast<T>(line[k]);
      });
    };
    ForEachUntilEnd(0, plan.batch * plan.frames, FourierSteps(plan.length), transform);
    return Status();
  }

 private:
  bool onesided_;
};

// Windows are sums of cosines: a0 - a1 cos(x) + a2 cos(2x).
struct Cosines {
  double a0, a1, a2;
};

KernelResult MakeWindowFunction(const KernelSpec& spec, Cosines cosines) {
  const bool periodic = spec.primitive().GetInt("periodic", 1) != 0;
  return KernelOf([=](const KernelArgs& args) -> Status {
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const int64_t size, ScalarAt(args, 0, "size"));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), {&size, 1}));
    // First as float32, like ONNX: a number that differs from 1 only in the last digits of a double is also 1 as an
    // integer.
    const bool wide = output.dtype() == DType::kFloat64;
    const ConvertFunction convert = FindConvert(wide ? DType::kFloat64 : DType::kFloat32, output.dtype());
    if (convert == nullptr) return Error(StatusCode::kNotSupported, "{} is not supported", NameOf(output.dtype()));
    const double steps = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
    args.pool.ParallelFor(size, 1 << 11, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double x = 2 * std::numbers::pi * static_cast<double>(i) / steps;
        const double value = cosines.a0 - cosines.a1 * std::cos(x) + cosines.a2 * std::cos(2 * x);
        const float narrow = static_cast<float>(value);
        const void* const from = wide ? static_cast<const void*>(&value) : &narrow;
        convert(from, output.data<char>() + static_cast<size_t>(i) * SizeOf(output.dtype()), 1);
      }
    });
    return {};
  });
}

// Triangles between neighbouring points with equal distances on the mel scale (2595 log10(1 + f / 700)).
class MelTriangles {
 public:
  MelTriangles(int64_t bins, int64_t length, int64_t rate, double low, double high)
      : rate_(static_cast<double>(rate)), length_(static_cast<double>(length)), low_(MelOf(low)) {
    step_ = (MelOf(high) - low_) / static_cast<double>(bins + 2);
  }
  int64_t Point(int64_t i) const {
    const double frequency = 700 * (std::pow(10, (low_ + static_cast<double>(i) * step_) / 2595) - 1);
    const double point = std::floor((length_ + 1) * frequency / rate_);
    return point > -1e15 && point < 1e15 ? static_cast<int64_t>(point) : -1;
  }

 private:
  static double MelOf(double frequency) { return 2595 * std::log10(1 + frequency / 700); }
  double rate_, length_, low_, step_;
};

Result<double> RealAt(const KernelArgs& args, size_t input) {
  const ConstView view = args.input(input);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(view).status());
  double value = 0;
  const ConvertFunction convert = FindConvert(view.dtype(), DType::kFloat64);
  if (view.element_count() != 1 || convert == nullptr)
    return Error(StatusCode::kInvalidArgument, "input {} must be a scalar number", input);
  convert(view.data<char>(), &value, 1);
  return value;
}

Status RunMelWeights(const KernelArgs& args) {
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t bins, ScalarAt(args, 0, "num_mel_bins"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t length, ScalarAt(args, 1, "dft_length"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t rate, ScalarAt(args, 2, "sample_rate"));
  DEPUTY_ASSIGN_OR_RETURN(const double low, RealAt(args, 3));
  DEPUTY_ASSIGN_OR_RETURN(const double high, RealAt(args, 4));
  const int64_t dims[] = {length / 2 + 1, bins};
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), dims));
  const ConvertFunction convert = FindConvert(DType::kFloat64, output.dtype());
  if (convert == nullptr || rate < 1)
    return Error(StatusCode::kNotSupported, "{} or sample_rate {} is not supported", NameOf(output.dtype()), rate);
  const MelTriangles triangles(bins, length, rate, low, high);
  const size_t element = SizeOf(output.dtype());
  ZeroInParts(output.data<char>(), output.byte_size());
  const auto put = [&](int64_t row, int64_t column, double value) {
    convert(&value, output.data<char>() + static_cast<size_t>(row * bins + column) * element, 1);
  };
  CancellationScope* const scope = CancellationScope::Current();
  for (int64_t i = 0; i < bins && (scope == nullptr || !scope->Ends()); ++i) {
    const int64_t left = triangles.Point(i), top = triangles.Point(i + 1), right = triangles.Point(i + 2);
    if (left < 0 || top < left || right < top || right > dims[0])
      return Error(StatusCode::kInvalidArgument, "mel bins from {} to {} Hz are out of range for dft_length {}", low,
                   high, length);
    if (top == left && top < dims[0]) put(top, i, 1);
    if (top != left)
      InParts(std::min(top + 1, dims[0]) - left, 1 << 18, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j)
          put(left + j, i, static_cast<double>(j) / static_cast<double>(top - left));
      });
    if (right > top)
      InParts(right - top, 1 << 18, [&](int64_t begin, int64_t end) {
        for (int64_t j = top + begin; j < top + end; ++j)
          put(j, i, static_cast<double>(right - j) / static_cast<double>(right - top));
      });
  }
  return {};
}

}  // namespace

KernelResult MakeDFT(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const bool input = primitive.since_version() >= 20;
  return MakeFloatKernel<FourierTransform>(
      spec, TransformAttributes{input ? -2 : primitive.GetInt("axis", 1), input, primitive.GetInt("inverse", 0) != 0,
                                primitive.GetInt("onesided", 0) != 0});
}

KernelResult MakeSTFT(const KernelSpec& spec) {
  return MakeFloatKernel<ShortTimeTransform>(spec, spec.primitive().GetInt("onesided", 1) != 0);
}

KernelResult MakeHannWindow(const KernelSpec& spec) { return MakeWindowFunction(spec, {0.5, 0.5, 0}); }
KernelResult MakeHammingWindow(const KernelSpec& spec) { return MakeWindowFunction(spec, {25.0 / 46, 21.0 / 46, 0}); }
KernelResult MakeBlackmanWindow(const KernelSpec& spec) { return MakeWindowFunction(spec, {0.42, 0.5, 0.08}); }
KernelResult MakeMelWeightMatrix(const KernelSpec&) { return KernelOf(RunMelWeights); }

}  // namespace deputy::host
