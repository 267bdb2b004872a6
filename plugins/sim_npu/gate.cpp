// Gate, the device's own operator: y = x * clamp(x * slope + 1/2, 0, 1), which its vector unit computes in one pass.
// The kernel for the CPU computes it in fp32 where no delegate supports the node.
#include <algorithm>
#include <string>

#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::DType;
using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::OutputTypes;
using deputy::sdk::OwnOperator;
using deputy::sdk::OwnOperators;
using deputy::sdk::RunArgs;
using deputy::sdk::Status;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

constexpr float kSlope = 1.0f / 6;
float Gated(float x, float slope) { return x * std::clamp(x * slope + 0.5f, 0.0f, 1.0f); }

void Gate(const Host& host, const float* from, float* to, int64_t count, float slope) {
  host.ParallelFor(count, kElementsPerJob, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = Gated(from[i], slope);
  });
}

Status InferGate(const NodeView& node, OutputTypes& types) {
  const ValueView input = node.input(0);
  if (input.dtype() != DType::kFloat32 && input.dtype() != DType::kFloat16)
    return Status(deputy::sdk::Code::kInvalidArgument,
                  std::string("Gate requires float32 or float16, got ") + NameOf(input.dtype()));
  if (input.rank_known())
    types.Set(0, input.dtype(), input.dims());
  else
    types.SetUnranked(0, input.dtype());
  return {};
}

Status ComputeGate(const Host& host, const NodeView& node, const RunArgs& args) {
  if (args.input(0).dtype() != DType::kFloat32)
    return Status(deputy::sdk::Code::kNotSupported, "the kernel of Gate supports only float32");
  Gate(host, static_cast<const float*>(args.input(0).data()), static_cast<float*>(args.output(0).data()),
       args.input(0).element_count(), node.Float("slope", kSlope));
  return {};
}

class GateLayer final : public Layer {
 public:
  explicit GateLayer(const NodeView& node)
      : slope_(node.Float("slope", kSlope)), count_(node.output(0).element_count()) {
    operands_ = {0};
    macs_ = static_cast<uint64_t>(count_);
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    Gate(host, inputs[0], output, count_, slope_);
  }

 private:
  float slope_;
  int64_t count_;
};

}  // namespace

OwnOperators OwnOperatorsOfTheDevice() {
  OwnOperator gate(kOwnDomain, "Gate", 1);
  gate.Help("x * clamp(x * slope + 1/2, 0, 1)")
      .Attribute("slope", DEPUTY_ATTRIBUTE_FLOAT, "steepness of the gate; 1/6 when absent")
      .Infers(InferGate)
      .Computes(ComputeGate);
  return {gate};
}

Verdict CheckGate(const NodeView& node) {
  if (deputy::sdk::SameExtents(node.input(0).dims(), node.output(0).dims())) return Verdict::Yes();
  return Verdict::No(deputy::sdk::Reason::kShape, "input and output differ in extents");
}

std::unique_ptr<Layer> MakeGate(const NodeView& node, Constants&) { return std::make_unique<GateLayer>(node); }

}  // namespace sim_npu
