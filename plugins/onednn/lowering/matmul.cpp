// Matrix products. Constant matrices are packed; transposed operands and results are strides. With one matrix on the
// right all rows on the left are one matrix as well.
#include <numeric>
#include <optional>

#include "lowering/post_ops.hpp"
#include "lowering/products.hpp"

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

// Row-major float32 matrices, perhaps with gaps between the rows on the left; nothing otherwise.
std::optional<ProductShape> AsPanels(const memory::desc& left, const memory::desc& right, const memory::desc& result) {
  const memory::dims a = left.dims();
  if (a.size() != 2 || !IsStrided(left) || !IsPlain(result) || left.data_type() != memory::data_type::f32 ||
      right.data_type() != memory::data_type::f32 || result.data_type() != memory::data_type::f32)
    return std::nullopt;
  const auto& strides = left.data.format_desc.blocking.strides;
  const ProductShape shape{a[0], a[1], right.dims()[1], strides[0]};
  if ((a[1] > 1 && strides[1] != 1) || !SuitsPanels(shape)) return std::nullopt;
  return shape;
}

void LowerPanels(const Operation& operation, const ProductShape& shape, const Slot& left, const memory::desc& right,
                 const memory::desc& layout, PostOps& rest, Lowering& lowering) {
  const std::shared_ptr<const Constant> given = lowering.program().shared_constant(operation.inputs[1]);
  const int64_t row_step = right.data.format_desc.blocking.strides[0];
  const int64_t column_step = right.data.format_desc.blocking.strides[1];
  const std::string recipe = "panels(" + given->key() + ", " + std::to_string(shape.depth) + ", " +
                             std::to_string(shape.columns) + ", " + std::to_string(row_step) + ", " +
                             std::to_string(column_step) + ")";
  const Constant panels(recipe, {shape.depth * shape.columns},
                        [=] { return PackPanels(given->floats(), shape.depth, shape.columns, row_step, column_step); });
  const bool has_bias = operation.Has(2);
  // left, panels, [bias], operands of sums, y.
  std::vector<Slot> slots = {left, lowering.Made(panels, panels.desc())};
  if (has_bias) slots.push_back(lowering.PlainOf(operation.inputs[2]));
  const OwnPostOps own = FirstOwnPostOps(operation, layout, lowering, slots);
  const Slot result = lowering.Result(operation.output, layout);
  slots.push_back(result);
  lowering.Release(*given);
  lowering.EmitFunction("panels", slots, [=, threads = lowering.step_threads()](const std::vector<char*>& data) {
    const auto floats = [&](size_t i) { return reinterpret_cast<float*>(data[i]); };
    size_t next = has_bias ? 3 : 2;
    const OwnPostOps post_ops = WithOperands(own, data, next);
    MultiplyPanels(shape, {floats(0), floats(1), has_bias ? floats(2) : nullptr, post_ops, floats(data.size() - 1)},
                   threads);
  });
  rest.EmitRestFrom(own.count, result);
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
  if (packed && !operation.integers) {
    if (const auto shape = AsPanels(left.desc, right.desc, as_made))
      return LowerPanels(operation, *shape, left, right.desc, layout, post_ops, lowering);
  }
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
