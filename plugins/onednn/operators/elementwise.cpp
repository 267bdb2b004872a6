// Operators of one input that oneDNN has as element-wise algorithms, or that are two of them in sequence.
#include <cmath>
#include <limits>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

void ReadEltwise(const sdk::NodeView& node, Program& program, const Eltwise& eltwise) {
  program.Bind(node.output(0), program.Add(eltwise, {program.Find(node.input(0))}, ToDims(node.output(0).dims())));
}

template <algorithm kAlgorithm, int kAlpha = 0, int kBeta = 0>
void ReadPlain(const sdk::NodeView& node, Program& program) {
  ReadEltwise(node, program, {kAlgorithm, kAlpha, kBeta});
}

void ReadLeakyRelu(const sdk::NodeView& node, Program& program) {
  ReadEltwise(node, program, {algorithm::eltwise_relu, sdk::op::LeakyRelu(node.primitive()).alpha()});
}

void ReadElu(const sdk::NodeView& node, Program& program) {
  ReadEltwise(node, program, {algorithm::eltwise_elu, sdk::op::Elu(node.primitive()).alpha()});
}

void ReadHardSigmoid(const sdk::NodeView& node, Program& program) {
  const sdk::op::HardSigmoid sigmoid(node.primitive());
  const Value line = AddLinear(program, program.Find(node.input(0)), sigmoid.alpha(), sigmoid.beta());
  program.Bind(node.output(0), program.Add(Eltwise{algorithm::eltwise_clip, 0, 1}, {line}, program.dims(line)));
}

sdk::Verdict SupportsGelu(const sdk::NodeView& node) {
  const std::string_view approximate = node.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return sdk::Verdict::No(sdk::Reason::kAttribute, "approximate");
  return sdk::Verdict::Yes();
}

void ReadGelu(const sdk::NodeView& node, Program& program) {
  const bool tanh = node.String("approximate", "none") == "tanh";
  ReadEltwise(node, program, {tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf});
}

void ReadErf(const sdk::NodeView& node, Program& program) {
  program.Bind(node.output(0), program.Add(Erf{}, {program.Find(node.input(0))}, ToDims(node.output(0).dims())));
}

// No value: a limit that is not known before the run.
struct Limits {
  float low = std::numeric_limits<float>::lowest(), high = std::numeric_limits<float>::max();
};
std::optional<Limits> LimitsOf(const sdk::NodeView& node) {
  Limits limits;
  if (node.since_version() < 11) return Limits{node.Float("min", limits.low), node.Float("max", limits.high)};
  for (size_t i = 1; i < 3; ++i) {
    if (!node.input(i).exists()) continue;
    const std::optional<float> limit = ConstantScalar(node.input(i));
    if (!limit) return std::nullopt;
    (i == 1 ? limits.low : limits.high) = *limit;
  }
  return limits;
}

sdk::Verdict SupportsClip(const sdk::NodeView& node) {
  const std::optional<Limits> limits = LimitsOf(node);
  if (!limits) return sdk::Verdict::No(sdk::Reason::kNotConstant, "min and max");
  // ONNX then gives the upper limit everywhere; oneDNN does not promise it. Also refuses NaN.
  if (!(limits->low <= limits->high))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "min must not be greater than max");
  return sdk::Verdict::Yes();
}

void ReadClip(const sdk::NodeView& node, Program& program) {
  const Limits limits = LimitsOf(node).value_or(Limits());
  ReadEltwise(node, program, {algorithm::eltwise_clip, limits.low, limits.high});
}

sdk::Verdict SupportsPow(const sdk::NodeView& node) {
  if (!ConstantScalar(node.input(1))) return sdk::Verdict::No(sdk::Reason::kNotConstant, "the exponent");
  if (node.output(0).rank() != node.input(0).rank())
    return sdk::Verdict::No(sdk::Reason::kShape, "the exponent must not have a higher rank than the base");
  return sdk::Verdict::Yes();
}

void ReadPow(const sdk::NodeView& node, Program& program) {
  const float exponent = ConstantScalar(node.input(1)).value_or(1);
  if (exponent == 2) return ReadEltwise(node, program, {algorithm::eltwise_square});
  ReadEltwise(node, program, {algorithm::eltwise_pow, 1, exponent});
}

constexpr Operator kElementwiseOperators[] = {
    {"Relu", 1, SupportsAll, ReadPlain<algorithm::eltwise_relu>},
    {"LeakyRelu", 1, SupportsAll, ReadLeakyRelu},
    {"Elu", 1, SupportsAll, ReadElu},
    {"Sigmoid", 1, SupportsAll, ReadPlain<algorithm::eltwise_logistic>},
    {"HardSigmoid", 1, SupportsAll, ReadHardSigmoid},
    {"HardSwish", 1, SupportsAll, ReadPlain<algorithm::eltwise_hardswish>},
    {"Tanh", 1, SupportsAll, ReadPlain<algorithm::eltwise_tanh>},
    {"Softplus", 1, SupportsAll, ReadPlain<algorithm::eltwise_soft_relu>},
    {"Mish", 1, SupportsAll, ReadPlain<algorithm::eltwise_mish>},
    {"Gelu", 1, SupportsGelu, ReadGelu},
    {"Erf", 1, SupportsAll, ReadErf},
    {"Exp", 1, SupportsAll, ReadPlain<algorithm::eltwise_exp>},
    {"Sqrt", 1, SupportsAll, ReadPlain<algorithm::eltwise_sqrt>},
    {"Reciprocal", 1, SupportsAll, ReadPlain<algorithm::eltwise_pow, 1, -1>},
    {"Abs", 1, SupportsAll, ReadPlain<algorithm::eltwise_abs>},
    {"Neg", 1, SupportsAll, ReadPlain<algorithm::eltwise_linear, -1>},
    {"Round", 1, SupportsAll, ReadPlain<algorithm::eltwise_round>},
    {"Clip", 1, SupportsClip, ReadClip, {}, kConstantParameters},
    {"Pow", 1, SupportsPow, ReadPow, {}, "constant parameters, an exponent of one element"},
};

}  // namespace

sdk::Span<const Operator> ElementwiseOperators() { return {kElementwiseOperators, std::size(kElementwiseOperators)}; }

}  // namespace onednn
