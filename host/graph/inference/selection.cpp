// Inference of the operators whose result depends on the values of elements, not only on their positions: TopK, OneHot,
// NonZero, Compress, the scatters, and ReverseSequence.
#include <algorithm>

#include "graph/inference/functions.hpp"

namespace deputy::host {

Status InferTopK(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList k, ReadIntList(context, 1, "K"));
  if (k.count && *k.count != 1) return Error(StatusCode::kModel, "input 'K' has {} elements, expected 1", *k.count);
  if (!input.ranked) {
    context.SetOutputUnranked(0, input.dtype);
    context.SetOutputUnranked(1, DType::kInt64);
    return {};
  }
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", -1), input.dims.size()));
  std::vector<int64_t> dims = input.dims;
  const int64_t wanted = k.values ? (*k.values)[0] : kUnknownDim;
  if (k.values && (wanted < 0 || (dims[axis] >= 0 && wanted > dims[axis])))
    return Error(StatusCode::kModel, "K ({}) is out of range for axis {} of shape {}", wanted, axis,
                 ShapeToString(input.dims));
  dims[axis] = wanted;
  context.SetOutput(0, input.dtype, dims);
  context.SetOutput(1, DType::kInt64, std::move(dims));
  return {};
}

Status InferOneHot(InferenceContext& context) {
  const ValueType &indices = context.input(0), &values = context.input(2);
  int64_t depth = kUnknownDim;
  if (const Tensor* known = context.constant(1)) {
    DEPUTY_ASSIGN_OR_RETURN(depth, IntOf(*known, "depth"));
    if (depth <= 0) return Error(StatusCode::kModel, "input 'depth' must be at least 1, got {}", depth);
  }
  if (!indices.ranked) return context.OutputUnranked(values.dtype);
  std::vector<int64_t> dims = indices.dims;
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", -1), dims.size() + 1));
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), depth);
  return context.Output(values.dtype, std::move(dims));
}

Status InferNonZero(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const int64_t rank = input.ranked ? static_cast<int64_t>(input.dims.size()) : kUnknownDim;
  return context.Output(DType::kInt64, {rank, kUnknownDim});
}

// Compress, and the first output of Unique: some elements of the flat input, or some entries of an axis.
Status InferCompress(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!context.primitive().Has("axis")) {
    context.SetOutput(0, input.dtype, UnknownDims(1));
  } else if (!input.ranked) {
    context.SetOutputUnranked(0, input.dtype);
  } else {
    std::vector<int64_t> dims = input.dims;
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                            context.NormalizeAxis(context.primitive().GetInt("axis", 0), dims.size()));
    dims[axis] = kUnknownDim;
    context.SetOutput(0, input.dtype, std::move(dims));
  }
  return {};
}

namespace {

// The output of a scatter has the type of its data.
Status InferUpdated(InferenceContext& context) {
  const ValueType &data = context.input(0), &indices = context.input(1), &updates = context.input(2);
  if (indices.dtype != DType::kUndefined && indices.dtype != DType::kInt64 && indices.dtype != DType::kInt32)
    return Error(StatusCode::kModel, "indices has dtype {}, expected int32 or int64", NameOf(indices.dtype));
  if (data.dtype != DType::kUndefined && updates.dtype != DType::kUndefined && data.dtype != updates.dtype)
    return Error(StatusCode::kModel, "updates has dtype {}, but data has dtype {}", NameOf(updates.dtype),
                 NameOf(data.dtype));
  const std::string_view reduction = context.primitive().GetString("reduction", "none");
  if (reduction != "none" && reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min")
    return Error(StatusCode::kModel, "reduction must be none, add, mul, max or min, got '{}'", reduction);
  return context.Output(data);
}

}  // namespace

Status InferScatterElements(InferenceContext& context) {
  const ValueType& data = context.input(0);
  if (data.ranked)
    DEPUTY_RETURN_IF_ERROR(context.NormalizeAxis(context.primitive().GetInt("axis", 0), data.dims.size()).status());
  return InferUpdated(context);
}

Status InferScatter(InferenceContext& context) { return InferScatterElements(context); }

Status InferScatterND(InferenceContext& context) { return InferUpdated(context); }

Status InferReverseSequence(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const int64_t time = context.primitive().GetInt("time_axis", 0), batch = context.primitive().GetInt("batch_axis", 1);
  if (time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch)
    return Error(StatusCode::kModel, "time_axis ({}) and batch_axis ({}) must be 0 and 1, in any order", time, batch);
  if (input.ranked && input.dims.size() < 2)
    return Error(StatusCode::kModel, "input must have at least rank 2, got shape {}", ShapeToString(input.dims));
  return context.Output(input);
}

Status InferUnique(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(InferCompress(context));
  for (size_t i = 1; i <= 3; ++i) context.SetOutput(i, DType::kInt64, UnknownDims(1));
  return {};
}

// The cache keeps its shape; the update has fewer elements along one axis, which is not that of the batch.
Status InferTensorScatter(InferenceContext& context) {
  const ValueType &cache = context.input(0), &update = context.input(1);
  if (!cache.ranked) return context.Output(cache);
  const size_t rank = cache.dims.size();
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, context.NormalizeAxis(context.primitive().GetInt("axis", -2), rank));
  if (axis == 0)
    return Error(StatusCode::kModel, "axis {} is that of the batch", context.primitive().GetInt("axis", -2));
  if (update.ranked) {
    bool fits = update.dims.size() == rank;
    for (size_t i = 0; fits && i < rank; ++i)
      fits = i == axis ? cache.dims[i] < 0 || update.dims[i] <= cache.dims[i]
                       : MergeDim(cache.dims[i], update.dims[i]).ok();
    if (!fits)
      return Error(StatusCode::kModel, "update of shape {} does not fit into a cache of shape {} along axis {}",
                   ShapeToString(update.dims), ShapeToString(cache.dims), axis);
  }
  if (context.has_input(2) && context.input(2).ranked) {
    const std::vector<int64_t>& indices = context.input(2).dims;
    if (indices.size() != 1 || !MergeDim(indices[0], cache.dims[0]).ok())
      return Error(StatusCode::kModel, "write_indices of shape {} has not one index for each of {} samples",
                   ShapeToString(indices), cache.dims[0]);
  }
  return context.Output(cache);
}

}  // namespace deputy::host
