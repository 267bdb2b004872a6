// MatMul and Gemm.
#include <algorithm>
#include <utility>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsMatMul(const sdk::NodeView& node) {
  if (node.input(1).rank() > 6) return sdk::Verdict::No(sdk::Reason::kRank, "rank must be at most 6");
  return sdk::Verdict::Yes();
}

void ReadMatMul(const sdk::NodeView& node, Program& program) {
  Value a = program.Find(node.input(0)), b = program.Find(node.input(1));
  memory::dims a_dims = program.dims(a), b_dims = program.dims(b);
  // A vector is a matrix of one row or one column, which the result then lacks.
  if (a_dims.size() == 1) a_dims.insert(a_dims.begin(), 1);
  if (b_dims.size() == 1) b_dims.push_back(1);
  const size_t rank = std::max(a_dims.size(), b_dims.size());
  a_dims = WithRank(a_dims, rank);
  b_dims = WithRank(b_dims, rank);
  memory::dims y = a_dims;
  for (size_t i = 0; i + 2 < rank; ++i) y[i] = std::max(a_dims[i], b_dims[i]);
  y[rank - 1] = b_dims[rank - 1];
  a = program.AddReshape(a, a_dims);
  b = program.AddReshape(b, b_dims);
  program.Bind(node.output(0), program.AddReshape(program.Add(Matmul{}, {a, b}, y), ToDims(node.output(0).dims())));
}

// C times beta, now if C is constant.
Value Scaled(Program& program, Value c, float beta) {
  if (beta == 1) return c;
  const auto constant = program.constant(c) == nullptr ? nullptr : program.shared_constant(c);
  if (constant == nullptr) return AddLinear(program, c, beta, 0);
  const memory::dims dims = constant->desc().dims();
  return program.AddConstant(
      std::make_shared<Constant>("scaled(" + constant->key() + "," + Exactly(beta) + ")", dims, [constant, beta, dims] {
        std::vector<float> values(constant->floats(), constant->floats() + CountOf(dims));
        for (float& value : values) value *= beta;
        return values;
      }));
}

void ReadGemm(const sdk::NodeView& node, Program& program) {
  const sdk::op::Gemm gemm(node.primitive());
  const memory::dims y = ToDims(node.output(0).dims());
  const Matmul matmul{gemm.transA() != 0, gemm.transB() != 0, {}};
  Value result = program.Add(matmul, {program.Find(node.input(0)), program.Find(node.input(1))}, y);
  if (gemm.alpha() != 1) result = AddLinear(program, result, gemm.alpha(), 0);
  if (node.input(2).exists() && gemm.beta() != 0) {
    const Value c = Scaled(program, program.Find(node.input(2)), gemm.beta());
    const Value aligned = program.AddReshape(c, WithRank(program.dims(c), 2));
    result = program.Add(Binary{dnnl::algorithm::binary_add}, {result, aligned}, y);
  }
  program.Bind(node.output(0), result);
}

constexpr Operator kMatmulOperators[] = {{"MatMul", kAllInputs, SupportsMatMul, ReadMatMul, {1, 6}},
                                         {"Gemm", kAllInputs, SupportsAll, ReadGemm, {2, 2}}};

}  // namespace

sdk::Span<const Operator> MatmulOperators() { return {kMatmulOperators, std::size(kMatmulOperators)}; }

}  // namespace onednn
