// Convolutions choose the layouts of their operands; the existing layout is kept where that is as fast.
#include <string_view>

#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

// ONNX's weights as oneDNN counts them: groups in front, and outputs before inputs.
memory::desc SeenWeights(const memory::desc& given, const Convolution& parameters) {
  memory::dims dims = given.dims();
  if (parameters.groups != 1) {
    dims.insert(dims.begin(), parameters.groups);
    dims[1] /= parameters.groups;
  }
  memory::desc seen = Plain(dims, given.data_type());
  if (!parameters.transposed) return seen;
  memory::dims order;
  for (size_t i = 0; i < dims.size(); ++i) order.push_back(static_cast<int64_t>(i));
  const size_t outputs = parameters.groups == 1 ? 0 : 1;
  std::swap(order[outputs], order[outputs + 1]);
  return Permuted(seen, order);
}

template <class Primitive, dnnl::algorithm kAlgorithm>
void Lower(const Operation& operation, const Convolution& parameters, Lowering& lowering) {
  using Descriptor = typename Primitive::primitive_desc;
  const Program& program = lowering.program();
  const Value x = operation.inputs[0], w = operation.inputs[1];
  const memory::dims y = program.dims(operation.output);
  const bool has_bias = operation.Has(2);
  const memory::desc given = lowering.Native(x).desc;
  const bool packed = program.constant(w) != nullptr;
  const Slot plain = packed ? lowering.Native(w) : lowering.PlainOf(w);
  const memory::desc weights = SeenWeights(plain.desc, parameters);
  const memory::desc bias = has_bias ? Plain({y[1]}) : memory::desc();
  const memory::desc result = Any(y, program.facts(operation.output).type);
  const Window& window = parameters.window;
  const auto with_source = [&](const memory::desc& source, const dnnl::primitive_attr& attributes) {
    const typename Primitive::desc wanted(dnnl::prop_kind::forward_inference, kAlgorithm, source,
                                          Any(weights.dims(), weights.data_type()), bias, result, window.strides,
                                          window.dilations, window.pads_before, window.pads_after);
    return Descriptor(wanted, attributes, lowering.engine());
  };
  PostOps post_ops(operation, lowering, result);
  if (operation.integers) post_ops.UseIntegers(*operation.integers, 1);
  const Descriptor chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    const Descriptor free = with_source(Any(given.dims(), given.data_type()), attributes);
    if (SameLayout(free.src_desc(), given)) return free;
    try {
      const Descriptor kept = with_source(given, attributes);
      if (std::string_view(kept.impl_info_str()) == free.impl_info_str()) return kept;
    } catch (const dnnl::error&) {  // then with a reorder
    }
    return free;
  });
  const auto computed_weights = [&] {
    const Slot seen{plain.buffer, weights, plain.offset};
    if (SameLayout(weights, chosen.weights_desc())) return seen;
    const Slot to = lowering.Temporary(chosen.weights_desc());
    lowering.Copy(seen, to);
    return to;
  };
  Lowering::Arguments arguments = {
      {DNNL_ARG_SRC, lowering.As(x, chosen.src_desc())},
      {DNNL_ARG_WEIGHTS, packed ? lowering.Converted(w, weights, chosen.weights_desc()) : computed_weights()}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, lowering.As(operation.inputs[2], bias));
  post_ops.Emit<Primitive>(chosen, std::move(arguments), chosen.dst_desc(), chosen.dst_desc());
}

}  // namespace

void LowerConvolution(const Operation& operation, const Convolution& parameters, Lowering& lowering) {
  if (IsBlockwise(operation, lowering.program())) return LowerBlocks(operation, lowering);
  if (parameters.transposed)
    Lower<dnnl::deconvolution_forward, dnnl::algorithm::deconvolution_direct>(operation, parameters, lowering);
  else
    Lower<dnnl::convolution_forward, dnnl::algorithm::convolution_direct>(operation, parameters, lowering);
}

}  // namespace onednn
