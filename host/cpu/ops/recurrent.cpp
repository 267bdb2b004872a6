// LSTM, GRU and RNN on the CPU.
#include "kernels/recurrent.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/checked.hpp"
#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// What ONNX says about an activation: which of alpha and beta it takes, and their values when the model gives none.
struct KnownActivation {
  std::string_view name;
  ActivationKind kind;
  bool takes_alpha, takes_beta;
  float alpha, beta;
};
constexpr KnownActivation kKnownActivations[] = {
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

// The values of activation_alpha and activation_beta go, in order, to the activations that take one.
Status ReadActivations(const Primitive& primitive, RecurrentCell& cell) {
  const std::vector<std::string_view> names = primitive.GetStrings("activations");
  const size_t each = ActivationCount(cell.kind);
  for (auto& direction : cell.activations)
    for (size_t i = 0; i < each; ++i) direction[i] = DefaultActivation(cell.kind, i);
  if (names.empty()) return Status();
  // The default of the attribute itself names two for RNN, whatever the direction.
  if (names.size() < each * static_cast<size_t>(cell.directions))
    return Error(StatusCode::kModel, "{} activations, {} are needed", names.size(),
                 each * static_cast<size_t>(cell.directions));
  std::span<const float> alphas = primitive.GetFloats("activation_alpha");
  std::span<const float> betas = primitive.GetFloats("activation_beta");
  for (size_t i = 0; i < each * static_cast<size_t>(cell.directions); ++i) {
    const auto known = std::find_if(std::begin(kKnownActivations), std::end(kKnownActivations),
                                    [&](const KnownActivation& k) { return EqualIgnoringCase(k.name, names[i]); });
    if (known == std::end(kKnownActivations)) return Error(StatusCode::kNotSupported, "activation '{}'", names[i]);
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
    return Error(StatusCode::kModel, "direction '{}' is none of forward, reverse, bidirectional", direction);
  }
  cell.batch_first = primitive.GetInt("layout", 0) != 0;
  cell.input_forget = primitive.GetInt("input_forget", 0) != 0;
  cell.linear_before_reset = primitive.GetInt("linear_before_reset", 0) != 0;
  cell.clip = primitive.GetFloat("clip", 0.0f);
  DEPUTY_RETURN_IF_ERROR(ReadActivations(primitive, cell));
  return cell;
}

// Checks the extents of an input or output that may be left out.
template <class View>
Status CheckOptional(View view, std::initializer_list<int64_t> wanted, const char* what) {
  return view.present() ? CheckDims(view.dims(), std::span(wanted.begin(), wanted.size()), what) : Status();
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
      return Error(StatusCode::kInvalidArgument, "X has rank {} and R {}, 3 is needed", x.rank(), r.rank());
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
    // X without elements says nothing about the other extents.
    constexpr int64_t kMost = int64_t{1} << 40;
    const int64_t dims[] = {directions, shape.steps + 4, shape.batch, width, static_cast<int64_t>(sizeof(T))};
    const std::optional<int64_t> bytes = CheckedElementCount(dims);
    if (!bytes || *bytes > kMost)
      return Error(StatusCode::kResourceExhausted, "{} steps of {} sequences need too much memory", shape.steps,
                   shape.batch);
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
  Status CheckState(View view, const RecurrentShape& shape, const char* what) const {
    return cell_.batch_first ? CheckOptional(view, {shape.batch, cell_.directions, shape.hidden}, what)
                             : CheckOptional(view, {cell_.directions, shape.batch, shape.hidden}, what);
  }

  static Status CheckLengths(ConstView lengths, const RecurrentShape& shape) {
    if (!lengths.present()) return Status();
    if (lengths.dtype() != DType::kInt32)
      return Error(StatusCode::kInvalidArgument, "sequence_lens is {}, int32 is needed", NameOf(lengths.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOptional(lengths, {shape.batch}, "sequence_lens"));
    for (const int32_t length : lengths.values<int32_t>())
      if (length < 0 || length > shape.steps)
        return Error(StatusCode::kInvalidArgument, "a sequence length is {}, the input has {} steps", length,
                     shape.steps);
    return Status();
  }

  RecurrentCell cell_;
};

KernelResult MakeRecurrent(const KernelSpec& spec, CellKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const RecurrentCell cell, ReadCell(spec.primitive(), kind));
  return MakeFloatKernel<Recurrent>(spec, cell);
}

}  // namespace

KernelResult MakeRNN(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kRnn); }
KernelResult MakeGRU(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kGru); }
KernelResult MakeLSTM(const KernelSpec& spec) { return MakeRecurrent(spec, CellKind::kLstm); }

}  // namespace deputy::host
