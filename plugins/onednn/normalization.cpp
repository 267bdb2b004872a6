// BatchNormalization as at inference, and Softmax.
#include "deputy/sdk/operators.hpp"
#include "lowering.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsBatchNormalization(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  if (rank < 2 || rank > 5) return sdk::Verdict::No(sdk::Reason::kRank, "up to three spatial dimensions");
  if (node.output(1).exists() || node.Int("training_mode", 0) != 0)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "training");
  // Before 9 `spatial` could ask for statistics per element.
  if (node.Int("spatial", 1) != 1) return sdk::Verdict::No(sdk::Reason::kAttribute, "spatial");
  for (size_t i = 1; i < 5; ++i)
    if (!node.input(i).is_constant()) return sdk::Verdict::No(sdk::Reason::kNotConstant, "statistics");
  return sdk::Verdict::Yes();
}

void LowerBatchNormalization(const sdk::NodeView& node, ProgramBuilder& builder) {
  using dnnl::normalization_flags;
  const Slot source = builder.Find(node.input(0));
  const float epsilon = sdk::op::BatchNormalization(node.primitive()).epsilon();
  const dnnl::batch_normalization_forward::desc wanted(
      dnnl::prop_kind::forward_inference, builder.DescOf(source), epsilon,
      normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift);
  const dnnl::batch_normalization_forward::primitive_desc chosen(wanted, builder.engine());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  builder.Add(dnnl::batch_normalization_forward(chosen), {{DNNL_ARG_SRC, source},
                                                          {DNNL_ARG_SCALE, builder.Find(node.input(1))},
                                                          {DNNL_ARG_SHIFT, builder.Find(node.input(2))},
                                                          {DNNL_ARG_MEAN, builder.Find(node.input(3))},
                                                          {DNNL_ARG_VARIANCE, builder.Find(node.input(4))},
                                                          {DNNL_ARG_DST, result}});
}

sdk::Verdict SupportsSoftmax(const sdk::NodeView& node) {
  const int64_t rank = static_cast<int64_t>(node.input(0).rank());
  if (rank < 1 || rank > 6) return sdk::Verdict::No(sdk::Reason::kRank, "rank 1 to 6");
  // Before 13 everything behind the axis was one row, and the axis was 1 by default.
  const int64_t axis = node.Int("axis", node.since_version() < 13 ? 1 : -1);
  if (node.since_version() < 13 && axis != rank - 1 && axis != -1)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "an axis before the last");
  return sdk::Verdict::Yes();
}

void LowerSoftmax(const sdk::NodeView& node, ProgramBuilder& builder, bool log) {
  const int64_t rank = static_cast<int64_t>(node.input(0).rank());
  int64_t axis = node.Int("axis", -1);
  if (node.since_version() < 13) axis = -1;
  const Slot found = builder.Find(node.input(0));
  const Slot source = builder.Reordered(found, PlainDesc(builder.DescOf(found).dims()));
  const memory::desc& desc = builder.DescOf(source);
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  const Slot result = builder.Result(node.output(0), desc);
  const std::vector<std::pair<int, Slot>> arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}};
  if (log) {
    const dnnl::logsoftmax_forward::desc wanted(dnnl::prop_kind::forward_inference, builder.DescOf(source), at);
    builder.Add(dnnl::logsoftmax_forward({wanted, builder.engine()}), arguments);
  } else {
    const dnnl::softmax_forward::desc wanted(dnnl::prop_kind::forward_inference, builder.DescOf(source), at);
    builder.Add(dnnl::softmax_forward({wanted, builder.engine()}), arguments);
  }
}

void LowerPlainSoftmax(const sdk::NodeView& node, ProgramBuilder& builder) { LowerSoftmax(node, builder, false); }
void LowerLogSoftmax(const sdk::NodeView& node, ProgramBuilder& builder) { LowerSoftmax(node, builder, true); }

constexpr Operator kOperators[] = {
    {"BatchNormalization", SupportsBatchNormalization, LowerBatchNormalization},
    {"Softmax", SupportsSoftmax, LowerPlainSoftmax},
    {"LogSoftmax", SupportsSoftmax, LowerLogSoftmax},
};

}  // namespace

sdk::Span<const Operator> NormalizationOperators() { return {kOperators, std::size(kOperators)}; }

}  // namespace onednn
