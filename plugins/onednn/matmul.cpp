// MatMul and Gemm.
#include "deputy/sdk/operators.hpp"
#include "lowering.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsMatMul(const sdk::NodeView& node) {
  const size_t a = node.input(0).rank(), b = node.input(1).rank();
  if (a < 2 || b < 2 || a > 6 || b > 6) return sdk::Verdict::No(sdk::Reason::kRank, "matrices of rank 2 to 6");
  return sdk::Verdict::Yes();
}

memory::dims WithRank(memory::dims dims, size_t rank) {
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

void LowerMatMul(const sdk::NodeView& node, ProgramBuilder& builder) {
  const memory::dims y = ToDims(node.output(0).dims());
  const Slot a = builder.Find(node.input(0)), b = builder.Find(node.input(1));
  const Slot left = builder.Reshaped(a, WithRank(builder.DescOf(a).dims(), y.size()));
  Slot right = builder.Reshaped(b, WithRank(builder.DescOf(b).dims(), y.size()));
  const bool packed = node.input(1).is_constant();
  const memory::desc weights =
      packed ? memory::desc(builder.DescOf(right).dims(), memory::data_type::f32, memory::format_tag::any)
             : PlainDesc(builder.DescOf(right).dims());
  const dnnl::matmul::desc wanted(PlainDesc(builder.DescOf(left).dims()), weights, PlainDesc(y));
  const dnnl::matmul::primitive_desc chosen(wanted, builder.engine());
  const Slot source = builder.Reordered(left, chosen.src_desc());
  right = builder.Reordered(right, chosen.weights_desc());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  builder.Add(dnnl::matmul(chosen), {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
}

sdk::Verdict SupportsGemm(const sdk::NodeView& node) {
  const sdk::op::Gemm gemm(node.primitive());
  if (gemm.alpha() != 1.0f) return sdk::Verdict::No(sdk::Reason::kAttribute, "alpha other than 1");
  if (node.input(2).exists() && gemm.beta() != 1.0f)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "beta other than 1");
  return sdk::Verdict::Yes();
}

void LowerGemm(const sdk::NodeView& node, ProgramBuilder& builder) {
  const sdk::op::Gemm gemm(node.primitive());
  const memory::dims y = ToDims(node.output(0).dims());
  // A transposed matrix is the same bytes with its strides exchanged.
  const auto side = [&](size_t input, bool transposed) {
    memory::dims dims = ToDims(node.input(input).dims());
    if (!transposed) return PlainDesc(dims);
    return memory::desc({dims[1], dims[0]}, memory::data_type::f32, memory::dims{1, dims[1]});
  };
  const auto dense = [&](size_t input) {
    return builder.Reordered(builder.Find(node.input(input)), PlainDesc(ToDims(node.input(input).dims())));
  };
  const bool has_bias = node.input(2).exists();
  const Slot c = has_bias ? builder.Find(node.input(2)) : 0;
  const memory::dims c_dims = has_bias ? WithRank(builder.DescOf(c).dims(), 2) : memory::dims();
  const memory::desc source = side(0, gemm.transA() != 0), weights = side(1, gemm.transB() != 0);
  const dnnl::matmul::desc wanted = has_bias ? dnnl::matmul::desc(source, weights, PlainDesc(c_dims), PlainDesc(y))
                                             : dnnl::matmul::desc(source, weights, PlainDesc(y));
  const dnnl::matmul::primitive_desc chosen(wanted, builder.engine());
  std::vector<std::pair<int, Slot>> arguments = {{DNNL_ARG_SRC, builder.Viewed(dense(0), source)},
                                                 {DNNL_ARG_WEIGHTS, builder.Viewed(dense(1), weights)}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, builder.Reshaped(c, c_dims));
  arguments.emplace_back(DNNL_ARG_DST, builder.Result(node.output(0), chosen.dst_desc()));
  builder.Add(dnnl::matmul(chosen), std::move(arguments));
}

constexpr Operator kOperators[] = {{"MatMul", SupportsMatMul, LowerMatMul}, {"Gemm", SupportsGemm, LowerGemm}};

}  // namespace

sdk::Span<const Operator> MatmulOperators() { return {kOperators, std::size(kOperators)}; }

}  // namespace onednn
