// BatchNormalization, InstanceNormalization, LayerNormalization and LRN on the CPU.
#include "kernels/normalization.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/ops/planned_kernel.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

bool IsVector(ConstView view, int64_t length) { return view.rank() == 1 && view.dim(0) == length; }

int64_t ProductFrom(std::span<const int64_t> dims, size_t axis) { return ElementCount(dims.subspan(axis)); }

struct ChannelPlan {
  ChannelShape shape;
  size_t workspace_bytes = 0;
};

// Element `i` of floats that may be wider or narrower than the normalized data.
double Element(ConstView view, int64_t i) {
  switch (view.dtype()) {
    case DType::kFloat64: return view.data<double>()[i];
    case DType::kFloat16: return static_cast<double>(ToFloat(view.data<Half>()[i]));
    case DType::kBFloat16: return static_cast<double>(ToFloat(view.data<BFloat16>()[i]));
    default: return static_cast<double>(view.data<float>()[i]);
  }
}

template <class T>
class BatchNormalization {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = ChannelPlan;

  BatchNormalization(float epsilon, bool by_channel) : epsilon_(epsilon), by_channel_(by_channel) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (x.rank() == 0) return Error(StatusCode::kInvalidArgument, "X must not be a scalar");
    Plan plan;
    plan.shape.batch = x.dim(0);
    plan.shape.channels = x.rank() == 1 ? 1 : by_channel_ ? x.dim(1) : ProductFrom(x.dims(), 1);
    plan.shape.size = by_channel_ && x.rank() > 1 ? ProductFrom(x.dims(), 2) : 1;
    for (size_t i = 1; i <= 4; ++i) {
      const ConstView parameter = args.input(i);
      const DType dtype = ComputeType(parameter.dtype());
      const bool fits = by_channel_ ? IsVector(parameter, plan.shape.channels)
                                    : ElementCount(parameter.dims()) == plan.shape.channels;
      if (!fits || (dtype != DType::kFloat32 && dtype != DType::kFloat64))
        return Error(StatusCode::kInvalidArgument, "input {} has dtype {} and shape {}, expected {} floats", i,
                     NameOf(parameter.dtype()), ShapeToString(parameter.dims()), plan.shape.channels);
    }
    plan.workspace_bytes = 2 * static_cast<size_t>(plan.shape.channels) * sizeof(T);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView scale = args.input(1), bias = args.input(2), mean = args.input(3), variance = args.input(4);
    T* factors = static_cast<T*>(workspace);
    T* offsets = factors + plan.shape.channels;
    ForEachUntilEnd(0, plan.shape.channels, 16, [&](int64_t c) {
      const double factor = Element(scale, c) / std::sqrt(Element(variance, c) + static_cast<double>(epsilon_));
      factors[c] = static_cast<T>(factor);
      offsets[c] = static_cast<T>(Element(bias, c) - Element(mean, c) * factor);
    });
    ScaleChannels(plan.shape, args.input(0).data<T>(), factors, offsets, args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  float epsilon_;
  bool by_channel_;
};

// BatchNormalization with the statistics of this batch, which are also outputs, mixed with the given ones.
template <class T>
class BatchStatistics {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = ChannelPlan;

  BatchStatistics(float epsilon, float momentum) : plain_(epsilon, true), epsilon_(epsilon), momentum_(momentum) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    DEPUTY_ASSIGN_OR_RETURN(Plan plan, plain_.MakePlan(args));
    for (size_t i = 1; i < args.outputs.size(); ++i) {
      const MutableView output = args.output(i);
      if (output.present() && (output.rank() != 1 || output.dim(0) != plan.shape.channels ||
                               ComputeType(output.dtype()) != ComputeType(args.input(i + 2).dtype())))
        return Error(StatusCode::kInternal, "output {} must be a vector of {} elements", i, plan.shape.channels);
    }
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView x = args.input(0), scale = args.input(1), bias = args.input(2);
    T* factors = static_cast<T*>(workspace);
    T* offsets = factors + plan.shape.channels;
    const int64_t count = plan.shape.batch * plan.shape.size;
    ForEachUntilEnd(0, plan.shape.channels, 2 * count + 16, [&](int64_t c) {
      const double mean = count == 0 ? 0 : Sum(plan.shape, x, c, 0, 1) / static_cast<double>(count);
      const double variance = count == 0 ? 0 : Sum(plan.shape, x, c, mean, 2) / static_cast<double>(count);
      const double factor = Element(scale, c) / std::sqrt(variance + static_cast<double>(epsilon_));
      factors[c] = static_cast<T>(factor);
      offsets[c] = static_cast<T>(Element(bias, c) - mean * factor);
      Mix(args, 1, c, mean);
      Mix(args, 2, c, variance);
    });
    ScaleChannels(plan.shape, x.data<T>(), factors, offsets, args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  // Of (x - mean) to the power of 1 or 2, over a channel.
  static double Sum(const ChannelShape& shape, ConstView x, int64_t channel, double mean, int power) {
    double sum = 0;
    ForEachUntilEnd(0, shape.batch, shape.size, [&](int64_t n) {
      const T* from = x.data<T>() + (n * shape.channels + channel) * shape.size;
      InPartsOf(shape.size, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double shifted = static_cast<double>(from[i]) - mean;
          sum += power == 1 ? shifted : shifted * shifted;
        }
      });
    });
    return sum;
  }

  void Mix(const KernelArgs& args, size_t output, int64_t channel, double now) const {
    const MutableView view = args.output(output);
    if (!view.present()) return;
    const double momentum = static_cast<double>(momentum_);
    const double mixed = Element(args.input(output + 2), channel) * momentum + now * (1 - momentum);
    if (view.dtype() == DType::kFloat64)
      view.data<double>()[channel] = mixed;
    else
      view.data<float>()[channel] = static_cast<float>(mixed);
  }

  BatchNormalization<T> plain_;
  float epsilon_, momentum_;
};

template <class T>
class InstanceNormalization {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  using Plan = ChannelPlan;

  explicit InstanceNormalization(float epsilon) : epsilon_(epsilon) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (x.rank() < 3) return Error(StatusCode::kInvalidArgument, "input has rank {}, expected 3 or higher", x.rank());
    Plan plan;
    plan.shape = {x.dim(0), x.dim(1), ProductFrom(x.dims(), 2)};
    if (!IsVector(args.input(1), x.dim(1)) || !IsVector(args.input(2), x.dim(1)))
      return Error(StatusCode::kInvalidArgument, "scale of shape {} and B of shape {} must be vectors of {} channels",
                   ShapeToString(args.input(1).dims()), ShapeToString(args.input(2).dims()), x.dim(1));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    InstanceNormalize(plan.shape, args.input(0).data<T>(), args.input(1).data<T>(), args.input(2).data<T>(),
                      static_cast<double>(epsilon_), args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  float epsilon_;
};

template <class T>
class LayerNormalizationOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  struct Plan {
    LayerNormalization<T> layer;
    bool expand_scale = false, expand_bias = false;
    std::span<const int64_t> dims;  // of a row
    size_t workspace_bytes = 0;
  };

  LayerNormalizationOperation(int64_t axis, float epsilon) : axis_(axis), epsilon_(epsilon) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    const int64_t rank = static_cast<int64_t>(x.rank()), axis = axis_ < 0 ? axis_ + rank : axis_;
    if (axis < 0 || axis >= rank)
      return Error(StatusCode::kInvalidArgument, "axis {} is out of range for rank {}", axis_, rank);
    Plan plan;
    plan.dims = x.dims().subspan(static_cast<size_t>(axis));
    plan.layer.size = ElementCount(plan.dims);
    plan.layer.rows = ElementCount(x.dims().first(static_cast<size_t>(axis)));
    plan.layer.epsilon = static_cast<double>(epsilon_);
    for (size_t i = 1; i <= 2; ++i) {
      const ConstView parameter = args.input(i);
      if (!parameter.present()) continue;
      DEPUTY_RETURN_IF_ERROR(CheckParameter(parameter, plan.dims));
      const bool expand = parameter.element_count() != plan.layer.size;
      (i == 1 ? plan.expand_scale : plan.expand_bias) = expand;
      if (expand) plan.workspace_bytes += static_cast<size_t>(plan.layer.size) * sizeof(T);
    }
    for (size_t i = 1; i <= 2; ++i) {
      const MutableView statistics = args.output(i);
      if (!statistics.present()) continue;
      if (statistics.element_count() != plan.layer.rows)
        return Error(StatusCode::kInvalidArgument, "output {} has {} elements, expected {}", i,
                     statistics.element_count(), plan.layer.rows);
      const bool narrow = IsFloat16(statistics.dtype()) && IsFloat16(x.dtype());
      if (statistics.dtype() != DType::kFloat32 && !narrow)
        return Error(StatusCode::kNotSupported, "Mean or InvStdDev of dtype {} for X of {} is not supported",
                     NameOf(statistics.dtype()), NameOf(x.dtype()));
    }
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    LayerNormalization<T> layer = plan.layer;
    T* next = static_cast<T*>(workspace);
    layer.x = args.input(0).data<T>();
    layer.y = args.output(0).data<T>();
    layer.scale = args.input(1).data<T>();
    if (plan.expand_scale) {
      Expand(args.input(1), plan.dims, next);
      layer.scale = next;
      next += layer.size;
    }
    if (args.input(2).present()) layer.bias = args.input(2).data<T>();
    if (plan.expand_bias) {
      Expand(args.input(2), plan.dims, next);
      layer.bias = next;
    }
    if (args.output(1).present()) layer.means = args.output(1).data<float>();
    if (args.output(2).present()) layer.inverse_deviations = args.output(2).data<float>();
    LayerNormalize(layer, args.pool);
    return Status();
  }

 private:
  // A parameter is one row, or broadcasts to one.
  static Status CheckParameter(ConstView parameter, std::span<const int64_t> row) {
    const std::span<const int64_t> dims = parameter.dims();
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t dim = dims[dims.size() - 1 - i];
      if (dim != 1 && (i >= row.size() || dim != row[row.size() - 1 - i]))
        return Error(StatusCode::kInvalidArgument, "Scale or B of shape {} does not broadcast to {}",
                     ShapeToString(dims), ShapeToString(row));
    }
    return Status();
  }

  static void Expand(ConstView parameter, std::span<const int64_t> row, T* target) {
    const std::span<const int64_t> dims = parameter.dims();
    const int64_t size = ElementCount(row);
    ForEachUntilEnd(0, size, 16, [&](int64_t i) {
      int64_t rest = i, stride = 1, offset = 0;
      for (size_t axis = 0; axis < std::min(row.size(), dims.size()); ++axis) {  // from the innermost
        const int64_t extent = row[row.size() - 1 - axis], own = dims[dims.size() - 1 - axis];
        if (own != 1) offset += rest % extent * stride;
        stride *= own;
        rest /= extent;
      }
      target[i] = parameter.data<T>()[offset];
    });
  }

  int64_t axis_;
  float epsilon_;
};

template <class T>
class LocalResponseNormalization {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = ChannelPlan;

  explicit LocalResponseNormalization(ResponseNormalization how) : how_(how) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (x.rank() < 2) return Error(StatusCode::kInvalidArgument, "X has rank {}, expected 2 or higher", x.rank());
    Plan plan;
    plan.shape = {x.dim(0), x.dim(1), ProductFrom(x.dims(), 2)};
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    NormalizeResponse(plan.shape, how_, args.input(0).data<T>(), args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  ResponseNormalization how_;
};

}  // namespace

KernelResult MakeBatchNormalization(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const bool training = primitive.GetInt("training_mode", 0) != 0;
  for (size_t i = 1; i < spec.node.outputs.size(); ++i)
    if (spec.node.outputs[i] != kNone && (!training || i > 2))
      return Error(StatusCode::kNotSupported, "output {} is not supported; outputs 1 and 2 require training_mode", i);
  if (training)
    return MakeFloatKernel<BatchStatistics>(spec, primitive.GetFloat("epsilon", 1e-5f),
                                            primitive.GetFloat("momentum", 0.9f));
  return MakeFloatKernel<BatchNormalization>(spec, primitive.GetFloat("epsilon", 1e-5f),
                                             primitive.GetInt("spatial", 1) != 0);
}

KernelResult MakeInstanceNormalization(const KernelSpec& spec) {
  return MakeFloatKernel<InstanceNormalization>(spec, spec.primitive().GetFloat("epsilon", 1e-5f));
}

KernelResult MakeLayerNormalization(const KernelSpec& spec) {
  return MakeFloatKernel<LayerNormalizationOperation>(spec, spec.primitive().GetInt("axis", -1),
                                                      spec.primitive().GetFloat("epsilon", 1e-5f));
}

KernelResult MakeLRN(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  ResponseNormalization how;
  how.window = primitive.GetInt("size", 0);
  how.alpha = static_cast<double>(primitive.GetFloat("alpha", 1e-4f));
  how.beta = static_cast<double>(primitive.GetFloat("beta", 0.75f));
  how.bias = static_cast<double>(primitive.GetFloat("bias", 1.0f));
  if (how.window < 1) return Error(StatusCode::kModel, "size must be at least 1");
  return MakeFloatKernel<LocalResponseNormalization>(spec, how);
}

}  // namespace deputy::host
