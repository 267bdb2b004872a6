// Answers of the support query that are not true, or not always the same.
#include <atomic>

#include "liars.hpp"

namespace liars {
namespace {

// The element type of the first node that it is asked about sets the mode of the device, and it refuses nodes of the
// other mode.
struct FirstQuestionDecides final : Fault {
  enum class Mode { kUnset, kReal, kWhole };
  Mode mode = Mode::kUnset;
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    const bool real = reference::IsReal(static_cast<deputy_dtype>(node.output(0).dtype()));
    const Mode wanted = real ? Mode::kReal : Mode::kWhole;
    if (mode == Mode::kUnset) mode = wanted;
    return mode == wanted ? honest : sdk::Verdict::No(sdk::Reason::kDType, "the device is in its other mode");
  }
};

// Keeps what it learned about an earlier model.
struct EarlierGraph final : Fault {
  bool has_seen_matrix = false;
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    if (node.Is("MatMul") || node.Is("Gemm")) has_seen_matrix = true;
    if (has_seen_matrix && (node.Is("MaxPool") || node.Is("Concat")))
      return sdk::Verdict::No(sdk::Reason::kOther, "the accelerator is configured for matrices");
    return honest;
  }
};

// A table of answers that is full after some questions.
struct InstanceAge final : Fault {
  uint64_t questions = 0;
  sdk::Verdict Answer(const sdk::NodeView&, sdk::Verdict honest) override {
    if (++questions > 1000) return sdk::Verdict::No(sdk::Reason::kOther, "the table of kernels is full");
    return honest;
  }
};

// Says yes without a look at the element type, and computes with every 16-bit float as float16.
Tensors DtypeIgnored(const Node& node, const Inputs& inputs) {
  bool any = false;
  std::vector<Tensor> taken;
  taken.reserve(inputs.size());
  Inputs operands = inputs;
  for (const Tensor*& input : operands) {
    if (input == nullptr || input->dtype != DEPUTY_DTYPE_BFLOAT16) continue;
    any = true;
    taken.push_back(reference::Decode(DEPUTY_DTYPE_FLOAT16, input->dims, reference::Encode(*input).data()));
    input = &taken.back();
  }
  Tensors truth = reference::Compute(node, inputs);
  if (!any || truth.empty() || truth[0].dtype != DEPUTY_DTYPE_BFLOAT16) return truth;
  const Tensors made = reference::Compute(node, operands);
  if (made.empty() || made[0].dims != truth[0].dims || made[0].dtype != DEPUTY_DTYPE_FLOAT16) return truth;
  truth[0] = reference::Decode(DEPUTY_DTYPE_BFLOAT16, truth[0].dims, reference::Encode(made[0]).data());
  return truth;
}

// The compiler needs constant weights, which the support query does not look for.
struct RefusedAtCompile final : Fault {
  Status Compile(const sdk::PartitionView&, Program& program) override {
    for (const Step& step : program.steps)
      if (IsOneOf(step.node.op_type, {"Conv", "ConvTranspose", "Gemm"}) && !program.IsConstant(step.inputs[1]))
        return Status(Code::kNotSupported, "the weights of " + step.node.op_type + " are not constant");
    return {};
  }
};

// The device has 16 MiB for constants, and those that were once asked about are never given back.
struct MemoryOfConstants final : Fault {
  std::atomic<uint64_t> used{0};
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    constexpr uint64_t kMemory = 16 << 20;
    uint64_t bytes = 0;
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i).exists() && node.input(i).is_constant()) bytes += node.input(i).constant_bytes();
    if (used + bytes > kMemory) return sdk::Verdict::No(sdk::Reason::kOther, "the memory for constants is full");
    if (honest.supported()) used += bytes;
    return honest;
  }
};

}  // namespace

FaultRows AnswerFaults() {
  return {Of<FirstQuestionDecides>("order-of-questions"),
          Of<EarlierGraph>("earlier-graph"),
          Of<InstanceAge>("instance-age"),
          InArithmetic("dtype-ignored", DtypeIgnored),
          Of<RefusedAtCompile>("refused-at-compile"),
          Of<MemoryOfConstants>("memory-of-constants")};
}

}  // namespace liars
