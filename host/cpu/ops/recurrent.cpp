// LSTM, GRU and RNN on the CPU, and the LSTM with 8-bit weights that quantizes its operands dynamically.
#include "kernels/recurrent.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// An activation in ONNX: its parameters among alpha and beta, and their default values.
struct RecurrentActivation {
  std::string_view name;
  ActivationKind kind;
  bool takes_alpha, takes_beta;
  float alpha, beta;
};
constexpr RecurrentActivation kKnownActivations[] = {
    {"Affine", ActivationKind::kAffine, true, true, 1.0f, 0.0f},
    {"Elu", ActivationKind::kElu, true, false, 1.0f, 0.0f},
    {"HardSigmoid", ActivationKind::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"LeakyRelu", ActivationKind::kLeakyRelu, true, false, 0.01f, 0.0f},
    {"Relu", ActivationKind::kRelu, false, false, 0.0f, 0.0f},
    {"ScaledTanh", ActivationKind::kScaledTanh, true, true, 1.0f, 1.0f},
    {"Sigmoid", ActivationKind::kSigmoid, false, false, 0.0f, 0.0f},
    {"Softplus", ActivationKind::kSoftplus, false, false, 0.0f, 0.0f},
    {"Softsign", ActivationKind::kSoftsign, false, false, 0.0f, 0.0f},
    {"Tanh", ActivationKind::kTanh, false, false, 0.0f, 0.0f},
    {"ThresholdedRelu", ActivationKind::kThresholdedRelu, true, false, 1.0f, 0.0f},
};

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

Activation DefaultActivation(CellKind kind, size_t place) {
  const bool gate = kind != CellKind::kRnn && place == 0;
  return {gate ? ActivationKind::kSigmoid : ActivationKind::kTanh, 0, 0};
}

// The values of activation_alpha and activation_beta are assigned in order to the activations that have one.
Status ReadActivations(const Primitive& primitive, RecurrentCell& cell) {
  const std::vector<std::string_view> names = primitive.GetStrings("activations");
  const size_t each = ActivationCount(cell.kind);
  for (auto& direction : cell.activations)
    for (size_t i = 0; i < each; ++i) direction[i] = DefaultActivation(cell.kind, i);
  if (names.empty()) return Status();
  // The attribute's default has two names for RNN, for any direction.
  if (names.size() < each * static_cast<size_t>(cell.directions))
    return Error(StatusCode::kModel, "activations has {} elements, expected {}", names.size(),
                 each * static_cast<size_t>(cell.directions));
  std::span<const float> alphas = primitive.GetFloats("activation_alpha");
  std::span<const float> betas = primitive.GetFloats("activation_beta");
  for (size_t i = 0; i < each * static_cast<size_t>(cell.directions); ++i) {
    const auto known = std::find_if(std::begin(kKnownActivations), std::end(kKnownActivations),
                                    [&](const RecurrentActivation& k) { return EqualIgnoringCase(k.name, names[i]); });
    if (known == std::end(kKnownActivations))
      return Error(StatusCode::kNotSupported, "activation '{}' is not supported", names[i]);
    Activation& activation = cell.activations[i / each][i % each];
    activation = {known->kind, known->alpha, known->beta};
    if (known->takes_alpha && !alphas.empty()) {
      activation.alpha = alphas.front();
      alphas = alphas.subspan(1);
    }
    if (known->takes_beta && !betas.empty()) {
      activation.beta = betas.front();
      betas = betas.subspan(1);
    }
  }
  return Status();
}

Result<RecurrentCell> ReadCell(const Primitive& primitive, CellKind kind) {
  RecurrentCell cell;
  cell.kind = kind;
  const std::string_view direction = primitive.GetString("direction", "forward");
  if (direction == "bidirectional") {
    cell.directions = 2;
  } else if (direction == "reverse") {
    cell.reverse = true;
  } else if (direction != "forward") {
    return Error(StatusCode::kModel, "direction must be forward, reverse or bidirectional, got '{}'", direction);
  }
  cell.batch_first = primitive.GetInt("layout", 0) != 0;
  cell.input_forget = primitive.GetInt("input_forget", 0) != 0;
  cell.linear_before_reset = primitive.GetInt("linear_before_reset", 0) != 0;
  cell.clip = primitive.GetFloat("clip", 0.0f);
  DEPUTY_RETURN_IF_ERROR(ReadActivations(primitive, cell));
  return cell;
}

// Checks the extents of an optional input or output.
template <class View>
Status CheckOptional(View view, std::initializer_list<int64_t> wanted, const char* subject) {
  return view.present() ? CheckDims(view.dims(), std::span(wanted.begin(), wanted.size()), subject) : Status();
}

template <class T>
class Recurrent {
 public:
  // Input 4 holds the lengths of the sequences.
  static constexpr uint32_t kTypedInputs = 0b11101111, kTypedOutputs = 0b111;
  struct Plan {
    RecurrentShape shape;
    size_t workspace_bytes = 0;
  };

  explicit Recurrent(RecurrentCell cell) : cell_(cell) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), r = args.input(2);
    if (x.rank() != 3 || r.rank() != 3)
      return Error(StatusCode::kInvalidArgument, "X has rank {} and R has rank {}, expected 3", x.rank(), r.rank());
    Plan plan;
    RecurrentShape& shape = plan.shape;
    shape = {x.dim(cell_.batch_first ? 1 : 0), x.dim(cell_.batch_first ? 0 : 1), x.dim(2), r.dim(2)};
    const int64_t directions = cell_.directions, width = GateCount(cell_.kind) * shape.hidden;
    DEPUTY_RETURN_IF_ERROR(CheckOptional(args.input(1), {directions, width, shape.input}, "W"));
    DEPUTY_RETURN_IF_ERROR(CheckOptional(r, {directions, width, shape.hidden}, "R"));
    DEPUTY_RETURN_IF_ERROR(CheckOptional(args.input(3), {directions, 2 * width}, "B"));
    DEPUTY_RETURN_IF_ERROR(CheckLengths(args.input(4), shape));
    DEPUTY_RETURN_IF_ERROR(CheckState(args.input(5), shape, "initial_h"));
    if (cell_.kind == CellKind::kLstm) {
      DEPUTY_RETURN_IF_ERROR(CheckState(args.input(6), shape, "initial_c"));
      DEPUTY_RETURN_IF_ERROR(CheckOptional(args.input(7), {directions, 3 * shape.hidden}, "P"));
      DEPUTY_RETURN_IF_ERROR(CheckState(args.output(2), shape, "Y_c"));
    }
    DEPUTY_RETURN_IF_ERROR(
        cell_.batch_first ? CheckOptional(args.output(0), {shape.batch, shape.steps, directions, shape.hidden}, "Y")
                          : CheckOptional(args.output(0), {shape.steps, directions, shape.batch, shape.hidden}, "Y"));
    DEPUTY_RETURN_IF_ERROR(CheckState(args.output(1), shape, "Y_h"));
    // X without elements does not bound the other extents.
    constexpr int64_t kMost = int64_t{1} << 40;
    const int64_t dims[] = {directions, shape.steps + 4, shape.batch, width, static_cast<int64_t>(sizeof(T))};
    const std::optional<int64_t> bytes = CheckedElementCount(dims);
    if (!bytes || *bytes > kMost)
      return Error(StatusCode::kResourceExhausted,
                   "a sequence length of {} with batch size {} requires too much memory", shape.steps, shape.batch);
    plan.workspace_bytes = RecurrentWorkspace<T>(cell_, shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    RecurrentData<T> data;
    data.x = In<T>(args, 0);
    data.w = In<T>(args, 1);
    data.r = In<T>(args, 2);
    data.bias = In<T>(args, 3);
    data.lengths = In<int32_t>(args, 4);
    data.initial_h = In<T>(args, 5);
    data.initial_c = In<T>(args, 6);
    data.peepholes = In<T>(args, 7);
    data.y = Out(args, 0);
    data.y_h = Out(args, 1);
    data.y_c = Out(args, 2);
    RunRecurrent(cell_, plan.shape, data, workspace, args.pool);
    return Status();
  }

 private:
  template <class U>
  static const U* In(const KernelArgs& args, size_t i) {
    return args.input(i).present() ? args.input(i).data<U>() : nullptr;
  }
  static T* Out(const KernelArgs& args, size_t i) {
    return args.output(i).present() ? args.output(i).data<T>() : nullptr;
  }

  template <class View>
  Status CheckState(View view, const RecurrentShape& shape, const char* subject) const {
    return cell_.batch_first ? CheckOptional(view, {shape.batch, cell_.directions, shape.hidden}, subject)
                             : CheckOptional(view, {cell_.directions, shape.batch, shape.hidden}, subject);
  }

  static Status CheckLengths(ConstView lengths, const RecurrentShape& shape) {
    if (!lengths.present()) return Status();
    if (lengths.dtype() != DType::kInt32)
      return Error(StatusCode::kInvalidArgument, "sequence_lens has dtype {}, expected int32", NameOf(lengths.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOptional(lengths, {shape.batch}, "sequence_lens"));
    for (const int32_t length : lengths.values<int32_t>())
      if (length < 0 || length > shape.steps)
        return Error(StatusCode::kInvalidArgument, "sequence_lens has the value {}, expected 0 to {}", length,
                     shape.steps);
    return Status();
  }

  RecurrentCell cell_;
};

// Inputs of DynamicQuantizeLSTM that dequantize W and R.
constexpr size_t kScaleOfW = 8, kZeroOfW = 9, kScaleOfR = 10, kZeroOfR = 11;

// [directions, inputs, gates * hidden]: the last two axes exchanged compared with LSTM's weights.
using WeightDims = std::array<int64_t, 3>;
WeightDims Exchanged(std::span<const int64_t> dims) { return {dims[0], dims[2], dims[1]}; }

// For each direction one value, or one per column.
Status CheckPerColumn(ConstView view, const WeightDims& weights, const char* subject) {
  if (view.rank() == 1) return CheckDims(view.dims(), std::array{weights[0]}, subject);
  return CheckDims(view.dims(), std::array{weights[0], weights[1]}, subject);
}

Status CheckByteWeights(ConstView bytes, ConstView scales, ConstView zeros, const char* subject) {
  if (bytes.rank() != 3)
    return Error(StatusCode::kInvalidArgument, "{} has rank {}, expected 3", subject, bytes.rank());
  if (bytes.dtype() != DType::kUint8 && bytes.dtype() != DType::kInt8)
    return Error(StatusCode::kInvalidArgument, "{} is {}, expected int8 or uint8", subject, NameOf(bytes.dtype()));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(bytes, bytes.dtype()));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(scales, DType::kFloat32));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(zeros, bytes.dtype()));
  DEPUTY_RETURN_IF_ERROR(CheckPerColumn(scales, Exchanged(bytes.dims()), "a scale"));
  return CheckPerColumn(zeros, Exchanged(bytes.dims()), "a zero point");
}

// target = (byte - zero point) * scale, in the order of LSTM's weights.
template <class Byte>
void ExpandBytes(ConstView bytes, ConstView scales, ConstView zeros, float* target) {
  const auto [directions, width, depth] = Exchanged(bytes.dims());
  const int64_t scale_step = scales.rank() == 1 ? 0 : 1, zero_step = zeros.rank() == 1 ? 0 : 1;
  for (int64_t d = 0; d < directions; ++d) {
    const Byte* const source = bytes.data<Byte>() + d * depth * width;
    const float* const scale = scales.data<float>() + d * (scale_step == 0 ? 1 : width);
    const Byte* const zero = zeros.data<Byte>() + d * (zero_step == 0 ? 1 : width);
    for (int64_t j = 0; j < width; ++j)
      for (int64_t i = 0; i < depth; ++i)
        *target++ = static_cast<float>(source[i * width + j] - zero[j * zero_step]) * scale[j * scale_step];
  }
}

void ExpandWeights(ConstView bytes, ConstView scales, ConstView zeros, float* target) {
  const auto expand = bytes.dtype() == DType::kInt8 ? ExpandBytes<int8_t> : ExpandBytes<uint8_t>;
  expand(bytes, scales, zeros, target);
}

deputy_tensor ViewOf(const Tensor& tensor) {
  deputy_tensor view = {};
  view.struct_size = sizeof view;
  view.dtype = static_cast<deputy_dtype>(tensor.dtype());
  view.rank = static_cast<uint32_t>(tensor.shape().size());
  view.dims = tensor.shape().data();
  view.data = const_cast<void*>(tensor.data());
  view.byte_size = tensor.byte_size();
  return view;
}

// Constant weights; empty if they are not constant or are inconsistent, which the run reports.
Result<Tensor> ExpandConstant(const KernelSpec& spec, size_t bytes, size_t scales, size_t zeros) {
  if (spec.constant(bytes) == nullptr || spec.constant(scales) == nullptr || spec.constant(zeros) == nullptr)
    return Tensor();
  std::array<deputy_tensor, 3> views = {ViewOf(*spec.constant(bytes)), ViewOf(*spec.constant(scales)),
                                        ViewOf(*spec.constant(zeros))};
  const ConstView w(&views[0]), scale(&views[1]), zero(&views[2]);
  if (!CheckByteWeights(w, scale, zero, "the weight").ok()) return Tensor();
  const WeightDims dims = Exchanged(w.dims());
  DEPUTY_ASSIGN_OR_RETURN(Tensor expanded, Tensor::Allocate(DType::kFloat32, Shape(dims.begin(), dims.end())));
  ExpandWeights(w, scale, zero, expanded.mutable_values<float>().data());
  return expanded;
}

// The LSTM of float32 on the dequantized weights. X is rounded to 8 bits for all steps at once, the state in each step;
// the products of the rounded numbers are then those of the integers.
class DynamicQuantizeLstm final : public CpuKernel {
 public:
  DynamicQuantizeLstm(const RecurrentCell& cell, Tensor w, Tensor r)
      : lstm_(cell), w_(std::move(w)), r_(std::move(r)) {}

  Status Run(const KernelArgs& args) const override {
    DEPUTY_RETURN_IF_ERROR(
        CheckDTypes(args, DType::kFloat32, Recurrent<float>::kTypedInputs & ~0b110u, Recurrent<float>::kTypedOutputs));
    DEPUTY_RETURN_IF_ERROR(CheckByteWeights(args.input(1), args.input(kScaleOfW), args.input(kZeroOfW), "W"));
    DEPUTY_RETURN_IF_ERROR(CheckByteWeights(args.input(2), args.input(kScaleOfR), args.input(kZeroOfR), "R"));
    const WeightDims w_dims = Exchanged(args.input(1).dims()), r_dims = Exchanged(args.input(2).dims());
    std::array<deputy_tensor, 3> reals = {*args.inputs[0], Reals(*args.inputs[1], w_dims),
                                          Reals(*args.inputs[2], r_dims)};
    std::array<const deputy_tensor*, kLstmInputs> inputs = {};
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = i < reals.size() ? &reals[i] : args.inputs[i];
    const KernelArgs inner{inputs, args.outputs, args.pool, args.scratch, args.allocator};
    DEPUTY_ASSIGN_OR_RETURN(const Recurrent<float>::Plan plan, lstm_.MakePlan(inner));

    Arena arena;
    const size_t x_at = arena.Reserve<float>(args.input(0).element_count());
    const size_t w_at = arena.Reserve<float>(w_.empty() ? args.input(1).element_count() : 0);
    const size_t r_at = arena.Reserve<float>(r_.empty() ? args.input(2).element_count() : 0);
    DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes() + plan.workspace_bytes));
    char* const base = static_cast<char*>(memory);
    reals[0].data = base + x_at;
    RoundSteps(plan.shape, args, reinterpret_cast<float*>(base + x_at));
    reals[1].data = w_.empty() ? base + w_at : const_cast<void*>(w_.data());
    reals[2].data = r_.empty() ? base + r_at : const_cast<void*>(r_.data());
    if (w_.empty())
      ExpandWeights(args.input(1), args.input(kScaleOfW), args.input(kZeroOfW), reinterpret_cast<float*>(base + w_at));
    if (r_.empty())
      ExpandWeights(args.input(2), args.input(kScaleOfR), args.input(kZeroOfR), reinterpret_cast<float*>(base + r_at));
    return lstm_.Compute(plan, inner, base + arena.bytes());
  }

 private:
  static constexpr size_t kLstmInputs = 8;

  static deputy_tensor Reals(const deputy_tensor& bytes, const WeightDims& dims) {
    deputy_tensor reals = bytes;
    reals.dtype = static_cast<deputy_dtype>(DType::kFloat32);
    reals.dims = dims.data();
    reals.byte_size = bytes.byte_size * sizeof(float);
    reals.data = nullptr;
    return reals;
  }

  // The valid steps of each sequence; those after the longest sequence are ignored.
  static void RoundSteps(const RecurrentShape& shape, const KernelArgs& args, float* target) {
    int64_t steps = shape.steps;
    if (const ConstView lengths = args.input(4); lengths.present()) {
      steps = 0;
      for (const int32_t length : lengths.values<int32_t>()) steps = std::max(steps, int64_t{length});
    }
    const int64_t count = steps * shape.batch * shape.input;
    RoundDynamically(args.input(0).data<float>(), count, target);
    std::fill_n(target + count, args.input(0).element_count() - count, 0.0f);
  }

  Recurrent<float> lstm_;
  Tensor w_, r_;  // as reals, or empty
};

KernelResult MakeRecurrent(const KernelSpec& spec, CellKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const RecurrentCell cell, ReadCell(spec.primitive(), kind));
  return MakeFloatKernel<Recurrent>(spec, cell);
}

}  // namespace

KernelResult MakeRNN(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kRnn); }
KernelResult MakeGRU(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kGru); }
KernelResult MakeLSTM(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kLstm); }

KernelResult MakeMicrosoft_DynamicQuantizeLSTM(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {kScaleOfW, kZeroOfW, kScaleOfR, kZeroOfR}));
  DEPUTY_ASSIGN_OR_RETURN(RecurrentCell cell, ReadCell(spec.primitive(), CellKind::kLstm));
  cell.round_state = true;
  DEPUTY_ASSIGN_OR_RETURN(Tensor w, ExpandConstant(spec, 1, kScaleOfW, kZeroOfW));
  DEPUTY_ASSIGN_OR_RETURN(Tensor r, ExpandConstant(spec, 2, kScaleOfR, kZeroOfR));
  return KernelResult(std::make_unique<DynamicQuantizeLstm>(cell, std::move(w), std::move(r)));
}

}  // namespace deputy::host
