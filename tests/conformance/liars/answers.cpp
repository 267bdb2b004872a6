// Answers of the support query that are not true, or not always the same.
#include <set>

#include "liars.hpp"

namespace liars {
namespace {

// Counts the nodes to which it has said yes in this graph, for it has room for so many layers.
struct FirstNodesOnly final : Fault {
  bool found_convolution = false;
  void Look(const sdk::GraphView&) override { found_convolution = false; }
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    // An activation is refused when it is asked about before the layer in front of it is known.
    if (node.Is("MatMul") || node.Is("Conv")) found_convolution = true;
    if (node.Is("Sigmoid") && counted_++ % 2 == 1 && !found_convolution)
      return sdk::Verdict::No(sdk::Reason::kOther, "no layer to fuse it with");
    return honest;
  }

 private:
  uint64_t counted_ = 0;
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

}  // namespace

FaultRows AnswerFaults() {
  return {Of<FirstNodesOnly>("order-of-questions"), Of<EarlierGraph>("earlier-graph"), Of<InstanceAge>("instance-age"),
          InArithmetic("dtype-ignored", DtypeIgnored), Of<RefusedAtCompile>("refused-at-compile")};
}

}  // namespace liars
