// Convolutions choose the layouts of their operands; the existing layout is kept where that is as fast.
#include <optional>
#include <string_view>
#include <vector>

#include "lowering/post_ops.hpp"
#include "lowering/winograd.hpp"

namespace onednn {
namespace {

// Images of rank 4, their channels in whole blocks of 8.
bool IsInBlocksOf8(const memory::desc& desc) {
  return desc == memory::desc(desc.dims(), memory::data_type::f32, memory::format_tag::nChw8c) && !IsPadded(desc);
}

// Nothing where the filtering does not compute this convolution between these layouts, or is slower.
std::optional<WinogradShape> AsWinograd(const Operation& operation, const Convolution& parameters,
                                        const Program& program, const memory::desc& source,
                                        const memory::desc& result) {
  if (!HasVectors() || parameters.groups != 1 || operation.integers || program.constant(operation.inputs[1]) == nullptr)
    return std::nullopt;
  const memory::dims x = source.dims(), y = result.dims(), weights = program.dims(operation.inputs[1]);
  const Window& window = parameters.window;
  if (x.size() != 4 || weights[2] != 3 || weights[3] != 3 || window.strides != memory::dims{1, 1} ||
      window.dilations != memory::dims{0, 0} || !IsInBlocksOf8(source) || !IsInBlocksOf8(result))
    return std::nullopt;
  const WinogradShape shape{x[0],         x[1],         y[1],
                            {x[2], x[3]}, {y[2], y[3]}, {window.pads_before[0], window.pads_before[1]}};
  return SuitsWinograd(shape) ? std::optional(shape) : std::nullopt;
}

void LowerWinograd(const Operation& operation, const WinogradShape& shape, const memory::desc& source,
                   const memory::desc& layout, PostOps& rest, Lowering& lowering) {
  const std::shared_ptr<const Constant> weights = lowering.program().shared_constant(operation.inputs[1]);
  const int64_t filters = shape.filters, channels = shape.channels;
  const Constant transformed("winograd(" + weights->key() + ")", {WinogradWeights(filters, channels)},
                             [=] { return TransformWeights(weights->floats(), filters, channels); });
  const int threads = lowering.step_threads();
  const bool has_bias = operation.Has(2);
  // x, transformed and plain weights, scratch, [bias], operands of sums, y.
  std::vector<Slot> slots = {lowering.As(operation.inputs[0], source), lowering.Made(transformed, transformed.desc()),
                             lowering.Native(operation.inputs[1]),
                             lowering.Temporary(Plain({WinogradScratch(shape, threads)}))};
  if (has_bias) slots.push_back(lowering.PlainOf(operation.inputs[2]));
  const OwnPostOps own = FirstOwnPostOps(operation, layout, lowering, slots);
  const Slot result = lowering.Result(operation.output, layout);
  slots.push_back(result);
  lowering.Release(*weights);
  lowering.EmitFunction("winograd", slots, [=](const std::vector<char*>& data) {
    const auto floats = [&](size_t i) { return reinterpret_cast<float*>(data[i]); };
    size_t next = has_bias ? 5 : 4;
    const OwnPostOps post_ops = WithOperands(own, data, next);
    const float* const bias = has_bias ? floats(4) : nullptr;
    ConvolveWinograd(shape, {floats(0), floats(1), floats(2), bias, post_ops, floats(data.size() - 1), floats(3)},
                     threads);
  });
  rest.EmitRestFrom(own.count, result);
}

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
  if (std::string_view(chosen.impl_info_str()) == "jit:avx2") {
    if (const auto shape = AsWinograd(operation, parameters, program, chosen.src_desc(), chosen.dst_desc()))
      return LowerWinograd(operation, *shape, chosen.src_desc(), chosen.dst_desc(), post_ops, lowering);
  }
  const bool by_products = std::string_view(chosen.impl_info_str()).find("gemm") != std::string_view::npos;
  if (parameters.transposed && parameters.groups != 1 && by_products) lowering.NoteSlow();
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
