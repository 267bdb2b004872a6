// Operators of one input that oneDNN has as element-wise algorithms, arithmetic of two inputs, and Concat.
#include <algorithm>
#include <limits>

#include "deputy/sdk/operators.hpp"
#include "lowering.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsRank(const sdk::NodeView& node) {
  if (node.input(0).rank() > 6) return sdk::Verdict::No(sdk::Reason::kRank, "rank up to 6");
  return sdk::Verdict::Yes();
}

// Algorithm with its two parameters.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha, beta;
};

Eltwise EltwiseOf(const sdk::NodeView& node) {
  using dnnl::algorithm;
  const std::string_view type = node.op_type();
  if (type == "Relu") return {algorithm::eltwise_relu, 0, 0};
  if (type == "LeakyRelu") return {algorithm::eltwise_relu, sdk::op::LeakyRelu(node.primitive()).alpha(), 0};
  if (type == "Elu") return {algorithm::eltwise_elu, sdk::op::Elu(node.primitive()).alpha(), 0};
  if (type == "Sigmoid") return {algorithm::eltwise_logistic, 0, 0};
  if (type == "Tanh") return {algorithm::eltwise_tanh, 0, 0};
  if (type == "Exp") return {algorithm::eltwise_exp, 0, 0};
  if (type == "Sqrt") return {algorithm::eltwise_sqrt, 0, 0};
  if (type == "Abs") return {algorithm::eltwise_abs, 0, 0};
  if (type == "Neg") return {algorithm::eltwise_linear, -1, 0};
  // Clip: limits are constants of one element, or left out.
  const auto limit = [&](size_t input, float fallback) {
    return node.input(input).exists() ? node.input(input).constant_values<float>()[0] : fallback;
  };
  return {algorithm::eltwise_clip, limit(1, std::numeric_limits<float>::lowest()),
          limit(2, std::numeric_limits<float>::max())};
}

void LowerEltwise(const sdk::NodeView& node, ProgramBuilder& builder) {
  const Eltwise eltwise = EltwiseOf(node);
  const Slot source = builder.Find(node.input(0));
  const dnnl::eltwise_forward::desc wanted(dnnl::prop_kind::forward_inference, eltwise.algorithm,
                                           builder.DescOf(source), eltwise.alpha, eltwise.beta);
  const dnnl::eltwise_forward::primitive_desc chosen(wanted, builder.engine());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  builder.Add(dnnl::eltwise_forward(chosen), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}});
}

sdk::Verdict SupportsClip(const sdk::NodeView& node) {
  float limits[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  for (size_t i = 1; i < 3; ++i) {
    if (!node.input(i).exists()) continue;
    if (!node.input(i).is_constant() || node.input(i).element_count() != 1)
      return sdk::Verdict::No(sdk::Reason::kNotConstant, "limits");
    limits[i - 1] = node.input(i).constant_values<float>()[0];
  }
  // ONNX then gives the upper limit everywhere; oneDNN does not promise it. Also refuses NaN.
  if (!(limits[0] <= limits[1])) return sdk::Verdict::No(sdk::Reason::kAttribute, "limits in the wrong order");
  return SupportsRank(node);
}

// Does `b` broadcast to `a` without `a` growing?
bool BroadcastsTo(const memory::dims& b, const memory::dims& a) {
  if (b.size() > a.size()) return false;
  for (size_t i = 0; i < b.size(); ++i) {
    const int64_t extent = a[a.size() - b.size() + i];
    if (b[i] != extent && b[i] != 1) return false;
  }
  return true;
}

bool Commutes(std::string_view type) { return type == "Add" || type == "Mul"; }

sdk::Verdict SupportsBinary(const sdk::NodeView& node) {
  const memory::dims a = ToDims(node.input(0).dims()), b = ToDims(node.input(1).dims());
  if (std::max(a.size(), b.size()) > 6) return sdk::Verdict::No(sdk::Reason::kRank, "rank up to 6");
  if (BroadcastsTo(b, a) || (Commutes(node.op_type()) && BroadcastsTo(a, b))) return sdk::Verdict::Yes();
  return sdk::Verdict::No(sdk::Reason::kShape, "the first input would have to be broadcast");
}

void LowerBinary(const sdk::NodeView& node, ProgramBuilder& builder) {
  using dnnl::algorithm;
  const std::string_view type = node.op_type();
  const algorithm how = type == "Add"   ? algorithm::binary_add
                        : type == "Sub" ? algorithm::binary_sub
                        : type == "Mul" ? algorithm::binary_mul
                                        : algorithm::binary_div;
  const bool swapped = !BroadcastsTo(ToDims(node.input(1).dims()), ToDims(node.input(0).dims()));
  const Slot full = builder.Find(node.input(swapped ? 1 : 0));
  Slot other = builder.Find(node.input(swapped ? 0 : 1));
  memory::dims dims = builder.DescOf(other).dims();
  dims.insert(dims.begin(), builder.DescOf(full).dims().size() - dims.size(), 1);
  other = builder.Reshaped(other, dims);
  // Of the same extents: the other follows the layout of the first. Broadcast: it is row-major.
  const bool same = dims == builder.DescOf(full).dims();
  other = builder.Reordered(other, same ? builder.DescOf(full) : PlainDesc(dims));
  const dnnl::binary::desc wanted(how, builder.DescOf(full), builder.DescOf(other), builder.DescOf(full));
  const dnnl::binary::primitive_desc chosen(wanted, builder.engine());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  builder.Add(dnnl::binary(chosen), {{DNNL_ARG_SRC_0, full}, {DNNL_ARG_SRC_1, other}, {DNNL_ARG_DST, result}});
}

sdk::Verdict SupportsConcat(const sdk::NodeView& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input(i).element_count() == 0) return sdk::Verdict::No(sdk::Reason::kShape, "an input without elements");
  if (node.input(0).rank() == 0) return sdk::Verdict::No(sdk::Reason::kRank, "scalars");
  return SupportsRank(node);
}

void LowerConcat(const sdk::NodeView& node, ProgramBuilder& builder) {
  const int64_t rank = static_cast<int64_t>(node.input(0).rank());
  const int64_t axis = node.Int("axis", 1);
  std::vector<memory::desc> sources;
  std::vector<std::pair<int, Slot>> arguments;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Slot source = builder.Find(node.input(i));
    sources.push_back(builder.DescOf(source));
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), source);
  }
  const dnnl::concat::primitive_desc chosen(static_cast<int>(axis < 0 ? axis + rank : axis), sources, builder.engine());
  arguments.emplace_back(DNNL_ARG_DST, builder.Result(node.output(0), chosen.dst_desc()));
  builder.Add(dnnl::concat(chosen), std::move(arguments));
}

constexpr Operator kOperators[] = {
    {"Relu", SupportsRank, LowerEltwise},    {"LeakyRelu", SupportsRank, LowerEltwise},
    {"Elu", SupportsRank, LowerEltwise},     {"Sigmoid", SupportsRank, LowerEltwise},
    {"Tanh", SupportsRank, LowerEltwise},    {"Exp", SupportsRank, LowerEltwise},
    {"Sqrt", SupportsRank, LowerEltwise},    {"Abs", SupportsRank, LowerEltwise},
    {"Neg", SupportsRank, LowerEltwise},     {"Clip", SupportsClip, LowerEltwise},
    {"Add", SupportsBinary, LowerBinary},    {"Sub", SupportsBinary, LowerBinary},
    {"Mul", SupportsBinary, LowerBinary},    {"Div", SupportsBinary, LowerBinary},
    {"Concat", SupportsConcat, LowerConcat},
};

}  // namespace

sdk::Span<const Operator> ElementwiseOperators() { return {kOperators, std::size(kOperators)}; }

}  // namespace onednn
