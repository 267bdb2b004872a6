// ReduceMean, ReduceSum, ReduceMax, ReduceMin.
#include <algorithm>

#include "operators/operators.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

// The reduced axes, ascending; nothing where they are not known before the run.
std::optional<std::vector<int64_t>> ReducedAxes(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  std::vector<int64_t> axes = node.Ints("axes", {});
  if (node.input(1).exists()) {
    const auto given = ConstantInts(node.input(1));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) == 0)
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  for (int64_t& axis : axes) axis = FromFront(axis, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

sdk::Verdict SupportsReduction(const sdk::NodeView& node) {
  if (!ReducedAxes(node)) return sdk::Verdict::No(sdk::Reason::kNotConstant, "axes");
  return sdk::Verdict::Yes();
}

template <algorithm kAlgorithm>
void ReadReduction(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const memory::dims dims = program.dims(x);
  const std::vector<int64_t> axes = ReducedAxes(node).value_or(std::vector<int64_t>());
  memory::dims kept = dims;
  // A scalar is [1] here: its axes are none.
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  const Value result = kept == dims ? x : program.Add(Reduction{kAlgorithm}, {x}, kept);
  program.Bind(node.output(0), program.AddReshape(result, ToDims(node.output(0).dims())));
}

constexpr Operator kReductionOperators[] = {
    {"ReduceMean", 1, SupportsReduction, ReadReduction<algorithm::reduction_mean>, {0, 5}, kConstantParameters},
    {"ReduceSum", 1, SupportsReduction, ReadReduction<algorithm::reduction_sum>, {0, 5}, kConstantParameters},
    {"ReduceMax", 1, SupportsReduction, ReadReduction<algorithm::reduction_max>, {0, 5}, kConstantParameters},
    {"ReduceMin", 1, SupportsReduction, ReadReduction<algorithm::reduction_min>, {0, 5}, kConstantParameters},
};

}  // namespace

sdk::Span<const Operator> ReductionOperators() { return {kReductionOperators, std::size(kReductionOperators)}; }

}  // namespace onednn
