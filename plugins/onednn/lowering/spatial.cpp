// Pools, resampling, normalization over neighbouring channels, and reductions.
#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Are all spatial dimensions reduced and nothing else? That is a pool over everything.
bool AreSpatial(const memory::dims& x, const memory::dims& y) {
  if (x.size() < 3 || x[0] != y[0] || x[1] != y[1]) return false;
  return CountOf(y) == y[0] * y[1];
}

}  // namespace

void LowerPool(const Operation& operation, const Pool& parameters, Lowering& lowering) {
  const Slot source = lowering.Dense(operation.inputs[0]);
  const Window& window = parameters.window;
  const memory::desc any = Any(lowering.program().dims(operation.output));
  const dnnl::pooling_v2_forward::desc wanted(dnnl::prop_kind::forward_inference, parameters.algorithm, source.desc,
                                              any, window.strides, parameters.kernel, window.dilations,
                                              window.pads_before, window.pads_after);
  PostOps post_ops(operation, lowering, any);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    return dnnl::pooling_v2_forward::primitive_desc(wanted, attributes, lowering.engine());
  });
  post_ops.Emit(chosen, dnnl::pooling_v2_forward(chosen), {{DNNL_ARG_SRC, source}}, chosen.dst_desc(),
                chosen.dst_desc());
}

void LowerResample(const Operation& operation, const Resample& parameters, Lowering& lowering) {
  const Slot source = lowering.Dense(operation.inputs[0]);
  const memory::desc any = Any(lowering.program().dims(operation.output));
  const dnnl::resampling_forward::desc wanted(dnnl::prop_kind::forward_inference, parameters.algorithm, source.desc,
                                              any);
  PostOps post_ops(operation, lowering, any);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    return dnnl::resampling_forward::primitive_desc(wanted, attributes, lowering.engine());
  });
  post_ops.Emit(chosen, dnnl::resampling_forward(chosen), {{DNNL_ARG_SRC, source}}, chosen.dst_desc(),
                chosen.dst_desc());
}

void LowerReduction(const Operation& operation, const Reduction& parameters, Lowering& lowering) {
  const memory::dims y = lowering.program().dims(operation.output);
  const memory::dims x = lowering.program().dims(operation.inputs[0]);
  const bool mean = parameters.algorithm == dnnl::algorithm::reduction_mean;
  if (AreSpatial(x, y) && (mean || parameters.algorithm == dnnl::algorithm::reduction_max)) {
    const memory::dims kernel(x.begin() + 2, x.end()), ones(kernel.size(), 1), zeros(kernel.size(), 0);
    const Pool pool{mean ? dnnl::algorithm::pooling_avg_exclude_padding : dnnl::algorithm::pooling_max,
                    kernel,
                    {ones, zeros, zeros, zeros}};
    return LowerPool(operation, pool, lowering);
  }
  const Slot source = lowering.Dense(operation.inputs[0]);
  const memory::desc target = PlainLike(source.desc, y).value_or(Plain(y));
  const dnnl::reduction::desc wanted(parameters.algorithm, source.desc, target, 0, 0);
  PostOps post_ops(operation, lowering, target);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    return dnnl::reduction::primitive_desc(wanted, attributes, lowering.engine());
  });
  post_ops.Emit(chosen, dnnl::reduction(chosen), {{DNNL_ARG_SRC, source}}, target, target);
}

void LowerLrn(const Operation& operation, const Lrn& parameters, Lowering& lowering) {
  const Slot source = lowering.Dense(operation.inputs[0]);
  const dnnl::lrn_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                       source.desc, parameters.size, parameters.alpha, parameters.beta, parameters.k);
  const dnnl::lrn_forward::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  lowering.Emit(chosen, dnnl::lrn_forward(chosen),
                {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, lowering.Result(operation.output, chosen.dst_desc())}});
}

}  // namespace onednn
