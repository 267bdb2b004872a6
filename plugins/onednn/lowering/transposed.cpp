// Transposed convolutions whose windows do not overlap: each element of the input makes a small block of the result, by
// a product with a matrix. oneDNN's deconvolution takes many times as long, especially with a bias or an activation.
#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

using SharedConstant = std::shared_ptr<const Constant>;

// From [inputs, outputs, rows, columns] to one matrix [inputs, columns x outputs] for each row of the block.
Constant Matrices(const SharedConstant& weights) {
  const memory::dims w = weights->desc().dims();
  const memory::dims dims = {1, w[2], w[0], w[3] * w[1]};
  return Constant("blocks(" + weights->key() + ")", dims, [weights, w] {
    std::vector<float> values;
    values.reserve(static_cast<size_t>(CountOf(w)));
    for (int64_t row = 0; row < w[2]; ++row)
      for (int64_t in = 0; in < w[0]; ++in)
        for (int64_t column = 0; column < w[3]; ++column)
          for (int64_t out = 0; out < w[1]; ++out)
            values.push_back(weights->floats()[((in * w[1] + out) * w[2] + row) * w[3] + column]);
    return values;
  });
}

Constant Repeated(const SharedConstant& bias, int64_t times) {
  const int64_t count = CountOf(bias->desc().dims());
  const std::string recipe = "repeated(" + bias->key() + "," + std::to_string(times) + ")";
  return Constant(recipe, {1, 1, 1, times * count}, [bias, count, times] {
    std::vector<float> values;
    for (int64_t i = 0; i < times; ++i) values.insert(values.end(), bias->floats(), bias->floats() + count);
    return values;
  });
}

}  // namespace

void LowerBlocks(const Operation& operation, Lowering& lowering) {
  const Program& program = lowering.program();
  const memory::dims x = program.dims(operation.inputs[0]), y = program.dims(operation.output);
  const memory::dims w = program.dims(operation.inputs[1]);
  const memory::dims channels_last = {0, 2, 3, 1}, back = Inverse(channels_last);
  // With channels last, rows of the result are rows of products.
  Slot source = lowering.As(operation.inputs[0], Permuted(Plain(Permute(x, channels_last)), back));
  source.desc = Plain({x[0] * x[2], 1, x[3], x[1]});
  const memory::desc as_made = Plain({x[0] * x[2], w[2], x[3], w[3] * w[1]});
  const Constant matrices = Matrices(program.shared_constant(operation.inputs[1]));
  const bool has_bias = operation.Has(2);
  const memory::desc bias = has_bias ? Plain({1, 1, 1, w[3] * w[1]}) : memory::desc();
  PostOps post_ops(operation, lowering, as_made);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    const memory::desc weights = Any(matrices.desc().dims());
    const dnnl::matmul::desc wanted = has_bias ? dnnl::matmul::desc(source.desc, weights, bias, as_made)
                                               : dnnl::matmul::desc(source.desc, weights, as_made);
    return dnnl::matmul::primitive_desc(wanted, attributes, lowering.engine());
  });
  Lowering::Arguments arguments = {{DNNL_ARG_SRC, source},
                                   {DNNL_ARG_WEIGHTS, lowering.Made(matrices, chosen.weights_desc())}};
  if (has_bias)
    arguments.emplace_back(DNNL_ARG_BIAS,
                           lowering.Made(Repeated(program.shared_constant(operation.inputs[2]), w[3]), bias));
  post_ops.Emit<dnnl::matmul>(chosen, std::move(arguments), Permuted(Plain(Permute(y, channels_last)), back), as_made);
}

}  // namespace onednn
