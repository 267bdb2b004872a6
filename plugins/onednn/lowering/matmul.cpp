// Matrix products. Constant matrices are packed; transposed operands and results are strides. With one matrix on the
// right all rows on the left are one matrix as well.
#include <numeric>

#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

memory::dims SwapLastTwo(size_t rank) {
  memory::dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

memory::desc Transposed(const memory::desc& desc, bool transposed) {
  return transposed ? Permuted(desc, SwapLastTwo(desc.dims().size())) : desc;
}

int64_t BatchOf(const memory::dims& dims) {
  return std::accumulate(dims.begin(), dims.end() - 2, int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

// Does an operand of a post-op mean the same when all dimensions but the last are one?
bool CountsByRows(const memory::dims& operand, const memory::dims& result) {
  const int64_t rows = CountOf(operand) / operand.back();
  return rows == 1 || rows == CountOf(result) / result.back();
}

}  // namespace

void LowerMatmul(const Operation& operation, const Matmul& parameters, Lowering& lowering) {
  const Program& program = lowering.program();
  const Value a = operation.inputs[0], b = operation.inputs[1];
  const memory::dims out = program.dims(operation.output);
  const bool reordered = !parameters.output_order.empty();
  const memory::dims y = reordered ? Permute(out, Inverse(parameters.output_order)) : out;

  bool rows = !reordered && !parameters.transpose_a && y.size() > 2 && BatchOf(program.dims(b)) == 1;
  for (const PostOp& post_op : operation.post_ops)
    if (post_op.operand != kNoValue) rows = rows && CountsByRows(program.dims(post_op.operand), y);

  // Both sides as they are, if they are matrices; row-major otherwise.
  const auto matrices_of = [&](Value value, bool flat) {
    const auto seen = [flat](const memory::desc& desc) {
      const memory::dims dims = desc.dims();
      const int64_t columns = dims.back();
      const auto counted = flat ? Reshaped(desc, {CountOf(dims) / columns, columns}) : desc;
      return counted ? AsMatrices(*counted) : std::nullopt;
    };
    Slot slot = lowering.Native(value);
    if (!seen(slot.desc)) slot = lowering.PlainOf(value);
    slot.desc = *seen(slot.desc);
    return slot;
  };
  Slot left = matrices_of(a, rows), right = matrices_of(b, rows);
  left.desc = Transposed(left.desc, parameters.transpose_a);
  right.desc = Transposed(right.desc, parameters.transpose_b);

  const bool packed = program.constant(b) != nullptr;
  const memory::desc layout = Plain(out, program.facts(operation.output).type);
  const memory::desc as_made = rows        ? Plain({CountOf(y) / y.back(), y.back()}, layout.data_type())
                               : reordered ? Permuted(layout, Inverse(parameters.output_order))
                                           : layout;
  const bool has_bias = operation.Has(2);
  const size_t rank = as_made.dims().size();
  const memory::desc bias = has_bias ? Plain(WithRank({y.back()}, rank)) : memory::desc();
  PostOps post_ops(operation, lowering, as_made, rows);
  if (operation.integers) post_ops.UseIntegers(*operation.integers, rank - 1);
  const auto chosen = post_ops.Fit([&](const dnnl::primitive_attr& attributes) {
    const memory::desc weights = packed ? Any(right.desc.dims(), right.desc.data_type()) : right.desc;
    const dnnl::matmul::desc wanted = has_bias ? dnnl::matmul::desc(left.desc, weights, bias, as_made)
                                               : dnnl::matmul::desc(left.desc, weights, as_made);
    return dnnl::matmul::primitive_desc(wanted, attributes, lowering.engine());
  });
  if (packed) right = lowering.Converted(b, right.desc, chosen.weights_desc());
  Lowering::Arguments arguments = {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}};
  if (has_bias) {
    Slot slot = lowering.PlainOf(operation.inputs[2]);
    slot.desc = bias;
    arguments.emplace_back(DNNL_ARG_BIAS, slot);
  }
  post_ops.Emit<dnnl::matmul>(chosen, std::move(arguments), layout, as_made);
}

}  // namespace onednn
