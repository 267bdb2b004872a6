// Element-wise functions of one and two operands. They keep the layout of their operands, and overwrite operands that
// are not read later.
#include <cmath>

#include "lowering/post_ops.hpp"
#include "lowering/tanh.hpp"
#include "lowering/vectors.hpp"

namespace onednn {
namespace {

// A linear function with a clip, such as HardSigmoid: oneDNN would need two primitives, each of which reads and writes
// every element.
bool IsClippedLinear(const Operation& operation, const Eltwise& parameters, const memory::desc& layout) {
  return parameters.algorithm == dnnl::algorithm::eltwise_linear && operation.post_ops.size() == 1 &&
         operation.post_ops[0].algorithm == dnnl::algorithm::eltwise_clip && !IsPadded(layout);
}

// The numbers are local variables and not references: the compiler would have to assume that writing to `y` changes
// references, and would not vectorize.
void ComputeClippedLinear(const float* x, float* y, int64_t count, const Eltwise& linear, const PostOp& clip) {
  const float scale = linear.alpha, shift = linear.beta, low = clip.alpha, high = clip.beta;
#pragma omp parallel for simd if (parallel : count > (1 << 16))
  for (int64_t i = 0; i < count; ++i) {
    const float value = scale * x[i] + shift, raised = value < low ? low : value;
    y[i] = raised > high ? high : raised;
  }
}

void LowerClippedLinear(const Operation& operation, const Eltwise& linear, const Slot& source, Lowering& lowering) {
  const Slot result = lowering.ResultOver(operation.output, source.desc, source);
  lowering.EmitFunction(
      "linear with clip", {source, result},
      [count = CountOf(source.desc.dims()), linear, clip = operation.post_ops[0]](const std::vector<char*>& data) {
        ComputeClippedLinear(reinterpret_cast<const float*>(data[0]), reinterpret_cast<float*>(data[1]), count, linear,
                             clip);
      });
}

}  // namespace

void LowerEltwise(const Operation& operation, const Eltwise& parameters, Lowering& lowering) {
  const Slot source = lowering.Dense(operation.inputs[0]);
  if (IsClippedLinear(operation, parameters, source.desc))
    return LowerClippedLinear(operation, parameters, source, lowering);
  if (parameters.algorithm == dnnl::algorithm::eltwise_tanh && HasVectors()) {
    const Slot result = lowering.ResultOver(operation.output, source.desc, source);
    EmitTanh(source, result, lowering);
    PostOps(operation, lowering, source.desc).EmitRest(result);
    return;
  }
  const dnnl::eltwise_forward::desc wanted(dnnl::prop_kind::forward_inference, parameters.algorithm, source.desc,
                                           parameters.alpha, parameters.beta);
  PostOps post_ops(operation, lowering, source.desc);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    return dnnl::eltwise_forward::primitive_desc(wanted, attributes, lowering.engine());
  });
  post_ops.Emit<dnnl::eltwise_forward>(chosen, {{DNNL_ARG_SRC, source}}, source.desc, source.desc, &source);
}

// Padding stays zero, as the tanh of zero is.
void EmitTanh(const Slot& source, const Slot& result, Lowering& lowering) {
  const int64_t count = static_cast<int64_t>(source.desc.get_size() / sizeof(float));
  lowering.EmitFunction("tanh", {source, result}, [count](const std::vector<char*>& data) {
    ComputeTanh(reinterpret_cast<const float*>(data[0]), reinterpret_cast<float*>(data[1]), count);
  });
}

void LowerBinary(const Operation& operation, const Binary& parameters, Lowering& lowering) {
  const Program& program = lowering.program();
  const Value a = operation.inputs[0], b = operation.inputs[1];
  const bool same = program.dims(a) == program.dims(b);
  Slot first = lowering.Dense(a);
  // A layout that is not row-major is that of a convolution, and probably suits the next one.
  if (same && program.constant(b) == nullptr && IsPlain(first.desc))
    first = lowering.As(a, WithType(lowering.Dense(b).desc, first.desc.data_type()));
  const auto like_first = [&](Value value) { return WithType(first.desc, program.facts(value).type); };
  const Slot second = same ? lowering.As(b, like_first(b)) : lowering.PlainOf(b);
  const memory::desc result = like_first(operation.output);
  const dnnl::binary::desc wanted(parameters.algorithm, first.desc, second.desc, result);
  PostOps post_ops(operation, lowering, result);
  if (operation.integers) post_ops.UseIntegers(*operation.integers, 0);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    return dnnl::binary::primitive_desc(wanted, attributes, lowering.engine());
  });
  const bool over_second = same && CanOverwriteSecondOperand(result) && !lowering.MayOverwrite(first);
  post_ops.Emit<dnnl::binary>(chosen, {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}}, result, result,
                              over_second ? &second : &first);
}

void LowerPrelu(const Operation& operation, Lowering& lowering) {
  const Value x = operation.inputs[0];
  const Slot dense = lowering.Dense(x), source = HasOrdinaryOrder(dense.desc) ? dense : lowering.PlainOf(x);
  const Slot slope = lowering.PlainOf(operation.inputs[1]);
  const dnnl::prelu_forward::desc wanted(dnnl::prop_kind::forward_inference, source.desc, slope.desc);
  const dnnl::prelu_forward::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  const Slot result = lowering.Result(operation.output, source.desc);
  lowering.Emit<dnnl::prelu_forward>(chosen,
                                     {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, slope}, {DNNL_ARG_DST, result}});
}

// oneDNN has erf only inside GELU. The C library's, one element after the other, is for `accept: everything` only.
void LowerErf(const Operation& operation, Lowering& lowering) {
  lowering.NoteSlow();
  const Slot source = lowering.PlainOf(operation.inputs[0]);
  const Slot result = lowering.ResultOver(operation.output, source.desc, source);
  const int64_t count = CountOf(source.desc.dims());
  lowering.EmitFunction("erf", {source, result}, [count](const std::vector<char*>& data) {
    const float* const x = reinterpret_cast<const float*>(data[0]);
    float* const y = reinterpret_cast<float*>(data[1]);
#pragma omp parallel for if (count > 4096)
    for (int64_t i = 0; i < count; ++i) y[i] = std::erf(x[i]);
  });
}

}  // namespace onednn
