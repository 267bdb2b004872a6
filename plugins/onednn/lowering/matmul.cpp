// Matrix products. Constant matrices are packed; transposed operands and results are strides. With one matrix on the
// right all rows on the left are one matrix, too.
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

// Are rows or columns without gaps, as matrix kernels like it?
bool IsMatrix(const memory::desc& desc) {
  if (!IsStrided(desc)) return false;
  const auto* strides = desc.data.format_desc.blocking.strides;
  const int last = desc.data.ndims - 1;
  const auto is_unit = [&](int at) { return strides[at] == 1 || desc.data.dims[at] == 1; };
  return is_unit(last) || is_unit(last - 1);
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

  // Both sides as they are, if they are matrices; the left one as rows without gaps otherwise.
  Slot left = lowering.Native(a);
  if (!IsMatrix(left.desc)) left = lowering.PlainOf(a);
  Slot right = lowering.Native(b);
  if (!IsMatrix(right.desc)) right = lowering.PlainOf(b);
  memory::desc seen = right.desc;
  if (rows) {
    const memory::dims flat = {CountOf(left.desc.dims()) / left.desc.dims().back(), left.desc.dims().back()};
    if (!Reshaped(left.desc, flat)) left = lowering.PlainOf(a);
    left.desc = *Reshaped(left.desc, flat);
    const memory::dims b_dims = seen.dims(), matrix(b_dims.end() - 2, b_dims.end());
    if (!Reshaped(seen, matrix)) seen = (right = lowering.PlainOf(b)).desc;
    seen = *Reshaped(seen, matrix);
  }
  left.desc = Transposed(left.desc, parameters.transpose_a);
  seen = Transposed(seen, parameters.transpose_b);

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
    const memory::desc weights = packed ? Any(seen.dims(), seen.data_type()) : seen;
    const dnnl::matmul::desc wanted = has_bias ? dnnl::matmul::desc(left.desc, weights, bias, as_made)
                                               : dnnl::matmul::desc(left.desc, weights, as_made);
    return dnnl::matmul::primitive_desc(wanted, attributes, lowering.engine());
  });
  right.desc = seen;
  if (packed) right = lowering.Converted(b, seen, chosen.weights_desc());
  Lowering::Arguments arguments = {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}};
  if (has_bias) {
    Slot slot = lowering.PlainOf(operation.inputs[2]);
    slot.desc = bias;
    arguments.emplace_back(DNNL_ARG_BIAS, slot);
  }
  post_ops.Emit(chosen, dnnl::matmul(chosen), std::move(arguments), layout, as_made);
}

}  // namespace onednn
