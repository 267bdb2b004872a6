// What works along one dimension: softmax and layer normalization.
#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

template <class Primitive>
void LowerSoftmaxAs(const Operation& operation, int axis, Lowering& lowering) {
  using Descriptor = typename Primitive::primitive_desc;
  Slot source = lowering.Dense(operation.inputs[0]);
  const auto describe = [&] {
    const typename Primitive::desc wanted(dnnl::prop_kind::forward_inference, source.desc, axis);
    return Descriptor(wanted, OwnScratchpad(), lowering.engine());
  };
  Descriptor chosen = describe();
  if (IsSlow(chosen.impl_info_str()) && !IsPlain(source.desc)) {
    source = lowering.PlainOf(operation.inputs[0]);
    chosen = describe();
  }
  const Slot result = lowering.ResultOver(operation.output, source.desc, source);
  lowering.Emit(chosen, Primitive(chosen), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}});
}

}  // namespace

void LowerSoftmax(const Operation& operation, const Softmax& parameters, Lowering& lowering) {
  if (parameters.log)
    LowerSoftmaxAs<dnnl::logsoftmax_forward>(operation, parameters.axis, lowering);
  else
    LowerSoftmaxAs<dnnl::softmax_forward>(operation, parameters.axis, lowering);
}

void LowerLayerNorm(const Operation& operation, const LayerNorm& parameters, Lowering& lowering) {
  using dnnl::normalization_flags;
  Slot source = lowering.PlainOf(operation.inputs[0]);
  const memory::desc layout = source.desc;
  // oneDNN wants at least two dimensions.
  source.desc = Plain(WithRank(layout.dims(), 2));
  normalization_flags flags = normalization_flags::none;
  if (operation.Has(1)) flags |= normalization_flags::use_scale;
  if (operation.Has(2)) flags |= normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc wanted(dnnl::prop_kind::forward_inference, source.desc,
                                                       parameters.epsilon, flags);
  const dnnl::layer_normalization_forward::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  Slot result = lowering.ResultOver(operation.output, layout, source);
  result.desc = source.desc;
  Lowering::Arguments arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}};
  if (operation.Has(1)) arguments.emplace_back(DNNL_ARG_SCALE, lowering.PlainOf(operation.inputs[1]));
  if (operation.Has(2)) arguments.emplace_back(DNNL_ARG_SHIFT, lowering.PlainOf(operation.inputs[2]));
  lowering.Emit(chosen, dnnl::layer_normalization_forward(chosen), std::move(arguments));
}

}  // namespace onednn
