// MaxPool, AveragePool and the global pools.
#include <algorithm>

#include "deputy/sdk/operators.hpp"
#include "lowering.hpp"

namespace onednn {
namespace {

memory::dims Spatial(const sdk::NodeView& node) {
  const memory::dims x = ToDims(node.input(0).dims());
  return memory::dims(x.begin() + 2, x.end());
}

sdk::Verdict SupportsSpatial(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  if (rank < 3 || rank > 5) return sdk::Verdict::No(sdk::Reason::kRank, "one to three spatial dimensions");
  return sdk::Verdict::Yes();
}

// A window that lies in the padding alone has no maximum and no mean.
bool HasEmptyWindow(const Window& window, const memory::dims& kernel) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t reach = (kernel[i] - 1) * (window.dilations[i] + 1) + 1;
    if (window.pads_before[i] >= reach || window.pads_after[i] >= reach) return true;
  }
  return false;
}

sdk::Verdict SupportsPool(const sdk::NodeView& node) {
  if (const sdk::Verdict verdict = SupportsSpatial(node); !verdict.supported()) return verdict;
  const memory::dims kernel = node.Ints("kernel_shape", {});
  if (kernel.size() != node.input(0).rank() - 2) return sdk::Verdict::No(sdk::Reason::kAttribute, "kernel_shape");
  const Window window = ReadWindow(node, kernel);
  if (HasEmptyWindow(window, kernel)) return sdk::Verdict::No(sdk::Reason::kAttribute, "a window of padding alone");
  return sdk::Verdict::Yes();
}

sdk::Verdict SupportsMaxPool(const sdk::NodeView& node) {
  if (node.output(1).exists()) return sdk::Verdict::No(sdk::Reason::kAttribute, "the output Indices");
  if (node.Int("storage_order", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "storage_order 1");
  return SupportsPool(node);
}

sdk::Verdict SupportsAveragePool(const sdk::NodeView& node) {
  // Rounding up adds columns that ONNX does not count and oneDNN would.
  if (node.Int("ceil_mode", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "ceil_mode");
  const memory::dims dilations = node.Ints("dilations", {});
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "dilations");
  const sdk::Verdict verdict = SupportsPool(node);
  if (!verdict.supported() || node.Int("count_include_pad", 0) == 0) return verdict;
  const Window window = ReadWindow(node, node.Ints("kernel_shape", {}));
  if (std::any_of(window.pads_after.begin(), window.pads_after.end(), [](int64_t pad) { return pad < 0; }))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "count_include_pad with columns left over");
  return verdict;
}

void LowerPool(const sdk::NodeView& node, ProgramBuilder& builder, dnnl::algorithm algorithm,
               const memory::dims& kernel, const Window& window) {
  const Slot source = builder.Find(node.input(0));
  const memory::desc any(ToDims(node.output(0).dims()), memory::data_type::f32, memory::format_tag::any);
  const dnnl::pooling_v2_forward::desc wanted(dnnl::prop_kind::forward_inference, algorithm, builder.DescOf(source),
                                              any, window.strides, kernel, window.dilations, window.pads_before,
                                              window.pads_after);
  const dnnl::pooling_v2_forward::primitive_desc chosen(wanted, builder.engine());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  builder.Add(dnnl::pooling_v2_forward(chosen), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}});
}

void LowerMaxPool(const sdk::NodeView& node, ProgramBuilder& builder) {
  const memory::dims kernel = node.Ints("kernel_shape", {});
  LowerPool(node, builder, dnnl::algorithm::pooling_max, kernel, ReadWindow(node, kernel));
}

void LowerAveragePool(const sdk::NodeView& node, ProgramBuilder& builder) {
  const memory::dims kernel = node.Ints("kernel_shape", {});
  const bool include = node.Int("count_include_pad", 0) != 0;
  LowerPool(node, builder,
            include ? dnnl::algorithm::pooling_avg_include_padding : dnnl::algorithm::pooling_avg_exclude_padding,
            kernel, ReadWindow(node, kernel));
}

void LowerGlobal(const sdk::NodeView& node, ProgramBuilder& builder, dnnl::algorithm algorithm) {
  const memory::dims kernel = Spatial(node), ones(kernel.size(), 1), zeros(kernel.size(), 0);
  LowerPool(node, builder, algorithm, kernel, {ones, zeros, zeros, zeros});
}

void LowerGlobalAverage(const sdk::NodeView& node, ProgramBuilder& builder) {
  LowerGlobal(node, builder, dnnl::algorithm::pooling_avg_exclude_padding);
}

void LowerGlobalMax(const sdk::NodeView& node, ProgramBuilder& builder) {
  LowerGlobal(node, builder, dnnl::algorithm::pooling_max);
}

constexpr Operator kOperators[] = {{"MaxPool", SupportsMaxPool, LowerMaxPool},
                                   {"AveragePool", SupportsAveragePool, LowerAveragePool},
                                   {"GlobalAveragePool", SupportsSpatial, LowerGlobalAverage},
                                   {"GlobalMaxPool", SupportsSpatial, LowerGlobalMax}};

}  // namespace

sdk::Span<const Operator> PoolingOperators() { return {kOperators, std::size(kOperators)}; }

}  // namespace onednn
