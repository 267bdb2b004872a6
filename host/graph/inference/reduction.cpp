// Inference of the operators that work along axes: reductions, positions of extremes, softmax and running sums.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

// The axes of a reduction: an input since opset 13 or 18, an attribute before. `values` is empty while unknown.
Result<IntList> ReductionAxes(const InferenceContext& context) {
  if (context.has_input(1)) return ReadIntList(context, 1, "axes");
  const std::span<const int64_t> axes = context.primitive().GetInts("axes");
  return IntList{std::vector<int64_t>(axes.begin(), axes.end()), axes.size()};
}

void SetReducedDims(InferenceContext& context, const std::vector<size_t>& axes, bool keep, DType dtype) {
  const std::vector<int64_t>& from = context.input(0).dims;
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced)
      dims.push_back(from[axis]);
    else if (keep)
      dims.push_back(1);
  }
  context.SetOutput(0, dtype, std::move(dims));
}

Status InferReduction(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const bool keep = context.primitive().GetInt("keepdims", 1) != 0;
  const bool empty_is_none = context.primitive().GetInt("noop_with_empty_axes", 0) != 0;
  DEPUTY_ASSIGN_OR_RETURN(const IntList axes, ReductionAxes(context));
  const bool all = axes.count && *axes.count == 0 && !empty_is_none;
  if (axes.count && *axes.count == 0 && empty_is_none) {
    context.SetOutput(0, input);
  } else if (all && !keep) {
    context.SetOutput(0, input.dtype, {});
  } else if (!input.ranked) {
    context.SetOutputUnranked(0, input.dtype);
  } else if (all) {
    context.SetOutput(0, input.dtype, std::vector<int64_t>(input.dims.size(), 1));
  } else if (axes.values) {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<size_t> found, NormalizeAxes(context, *axes.values, input.dims.size()));
    SetReducedDims(context, found, keep, input.dtype);
  } else if (keep) {
    context.SetOutput(0, input.dtype, UnknownDims(input.dims.size()));
  } else if (axes.count && *axes.count <= input.dims.size()) {
    context.SetOutput(0, input.dtype, UnknownDims(input.dims.size() - *axes.count));
  } else {
    context.SetOutputUnranked(0, input.dtype);
  }
  return {};
}

Status InferArgReduction(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked) return context.OutputUnranked(DType::kInt64);
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", 0), input.dims.size()));
  SetReducedDims(context, {axis}, context.primitive().GetInt("keepdims", 1) != 0, DType::kInt64);
  return {};
}

Status InferSoftmaxKind(InferenceContext& context) {
  const ValueType& input = context.input(0);
  // Before 13 the axis splits the tensor into rows and columns, so that it may also be one past the last.
  const bool splits = context.primitive().since_version() < 13;
  const int64_t axis = context.primitive().GetInt("axis", splits ? 1 : -1);
  if (input.ranked && !(splits && axis == static_cast<int64_t>(input.dims.size())))
    DEPUTY_RETURN_IF_ERROR(context.NormalizeAxis(axis, input.dims.size()).status());
  return context.Output(input);
}

}  // namespace

#define DEPUTY_INFER_AS(function, name) \
  Status Infer##name(InferenceContext& context) { return function(context); }
DEPUTY_INFER_AS(InferReduction, ReduceL1)
DEPUTY_INFER_AS(InferReduction, ReduceL2)
DEPUTY_INFER_AS(InferReduction, ReduceLogSum)
DEPUTY_INFER_AS(InferReduction, ReduceLogSumExp)
DEPUTY_INFER_AS(InferReduction, ReduceMax)
DEPUTY_INFER_AS(InferReduction, ReduceMean)
DEPUTY_INFER_AS(InferReduction, ReduceMin)
DEPUTY_INFER_AS(InferReduction, ReduceProd)
DEPUTY_INFER_AS(InferReduction, ReduceSum)
DEPUTY_INFER_AS(InferReduction, ReduceSumSquare)
DEPUTY_INFER_AS(InferArgReduction, ArgMax)
DEPUTY_INFER_AS(InferArgReduction, ArgMin)
DEPUTY_INFER_AS(InferSoftmaxKind, Softmax)
DEPUTY_INFER_AS(InferSoftmaxKind, LogSoftmax)
DEPUTY_INFER_AS(InferSoftmaxKind, Hardmax)
#undef DEPUTY_INFER_AS

namespace {

Status InferCumulative(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "axis"));
  const std::optional<std::vector<int64_t>> axis = context.constant_ints(1);
  if (axis && axis->size() != 1)
    return Error(StatusCode::kModel, "axis must be a scalar, got {} elements", axis->size());
  if (axis && input.ranked) DEPUTY_RETURN_IF_ERROR(context.NormalizeAxis((*axis)[0], input.dims.size()).status());
  return context.Output(input);
}

}  // namespace

Status InferCumProd(InferenceContext& context) { return InferCumulative(context); }
Status InferCumSum(InferenceContext& context) { return InferCumulative(context); }

}  // namespace deputy::host
