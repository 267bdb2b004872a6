// Inference of the operators whose result depends on the values of elements, not only on their positions: TopK, OneHot,
// NonZero, Compress, the scatters, and ReverseSequence.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

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
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "depth"));
  DEPUTY_RETURN_IF_ERROR(CheckElements(context, 2, 2, "values"));
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

namespace {

// Of an axis of this extent.
Status CheckSelected(const InferenceContext& context, int64_t extent) {
  const Tensor* const condition = ModelConstant(context, 1);
  if (extent < 0 || condition == nullptr || condition->dtype() != DType::kBool) return {};
  const std::span<const uint8_t> chosen = condition->values<uint8_t>();
  for (size_t i = static_cast<size_t>(extent); i < chosen.size(); ++i)
    if (chosen[i] != 0)
      return Error(StatusCode::kModel, "condition selects index {} of an axis of extent {}", i, extent);
  return {};
}

// Some elements of the flat input, or some entries of an axis.
Status InferChosen(InferenceContext& context, bool has_condition) {
  const ValueType& input = context.input(0);
  if (!context.primitive().Has("axis")) {
    if (has_condition && input.ranked) DEPUTY_RETURN_IF_ERROR(CheckSelected(context, CountOf(input.dims)));
    context.SetOutput(0, input.dtype, UnknownDims(1));
  } else if (!input.ranked) {
    context.SetOutputUnranked(0, input.dtype);
  } else {
    std::vector<int64_t> dims = input.dims;
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                            context.NormalizeAxis(context.primitive().GetInt("axis", 0), dims.size()));
    if (has_condition) DEPUTY_RETURN_IF_ERROR(CheckSelected(context, dims[axis]));
    dims[axis] = kUnknownDim;
    context.SetOutput(0, input.dtype, std::move(dims));
  }
  return {};
}

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

// Along each axis but `axis` the indices have at most as many elements as the data, and as many as the updates.
Status CheckScattered(const InferenceContext& context, size_t axis) {
  const ValueType &data = context.input(0), &indices = context.input(1);
  if (indices.ranked) {
    std::vector<int64_t> most = data.dims;
    most[axis] = kUnknownDim;
    const bool fits =
        std::equal(indices.dims.begin(), indices.dims.end(), most.begin(), most.end(),
                   [](int64_t count, int64_t extent) { return count < 0 || extent < 0 || count <= extent; });
    if (!fits)
      return Error(StatusCode::kModel, "indices with shape {} do not fit data with shape {} along axis {}",
                   ShapeToString(indices.dims), ShapeToString(data.dims), axis);
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, indices.dims, "updates"));
  }
  return CheckIndexValues(context, 1, data.dims[axis], "indices");
}

// The last axis of the indices holds tuples, each of which names a slice of the data.
Status CheckScatteredSlices(const InferenceContext& context) {
  const ValueType &data = context.input(0), &indices = context.input(1);
  if (!data.ranked || !indices.ranked) return {};
  const int64_t rank = static_cast<int64_t>(data.dims.size());
  const int64_t tuple = indices.dims.empty() ? 0 : indices.dims.back();
  if (tuple == 0 || tuple > rank)
    return Error(StatusCode::kModel, "the last extent of indices with shape {} is out of range for data with shape {}",
                 ShapeToString(indices.dims), ShapeToString(data.dims));
  if (tuple < 0) return {};
  const auto behind = data.dims.begin() + tuple;
  std::vector<int64_t> slices(indices.dims.begin(), indices.dims.end() - 1);
  slices.insert(slices.end(), behind, data.dims.end());
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, slices, "updates"));
  return CheckTupleValues(context, 1, std::span(data.dims).first(static_cast<size_t>(tuple)), "indices");
}

}  // namespace

Status InferCompress(InferenceContext& context) { return InferChosen(context, true); }

Status InferScatterElements(InferenceContext& context) {
  const ValueType& data = context.input(0);
  DEPUTY_RETURN_IF_ERROR(InferUpdated(context));
  if (!data.ranked) return {};
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", 0), data.dims.size()));
  return CheckScattered(context, axis);
}

Status InferScatter(InferenceContext& context) { return InferScatterElements(context); }

Status InferScatterND(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(InferUpdated(context));
  return CheckScatteredSlices(context);
}

Status InferReverseSequence(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const int64_t time = context.primitive().GetInt("time_axis", 0), batch = context.primitive().GetInt("batch_axis", 1);
  if (time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch)
    return Error(StatusCode::kModel, "time_axis ({}) and batch_axis ({}) must be 0 and 1, in any order", time, batch);
  if (input.ranked && input.dims.size() < 2)
    return Error(StatusCode::kModel, "input must have at least rank 2, got shape {}", ShapeToString(input.dims));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {DimOf(input, static_cast<size_t>(batch))}, "sequence_lens"));
  if (const int64_t extent = DimOf(input, static_cast<size_t>(time)); extent >= 0)
    DEPUTY_RETURN_IF_ERROR(CheckValues(context, 1, {0, extent}, "sequence_lens"));
  return context.Output(input);
}

Status InferUnique(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(InferChosen(context, false));
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
