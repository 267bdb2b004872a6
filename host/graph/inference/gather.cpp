// Inference of Gather, GatherElements and GatherND.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

Status CheckIndices(const InferenceContext& context) {
  const DType dtype = context.input(1).dtype;
  if (dtype != DType::kUndefined && dtype != DType::kInt64 && dtype != DType::kInt32)
    return Error(StatusCode::kModel, "indices has dtype {}, expected int32 or int64", NameOf(dtype));
  return {};
}

}  // namespace

Status InferGather(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckIndices(context));
  const ValueType &data = context.input(0), &indices = context.input(1);
  if (!data.ranked || !indices.ranked) return context.OutputUnranked(data.dtype);
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", 0), data.dims.size()));
  DEPUTY_RETURN_IF_ERROR(CheckIndexValues(context, 1, data.dims[axis], "indices"));
  const auto at = data.dims.begin() + static_cast<ptrdiff_t>(axis);
  std::vector<int64_t> dims(data.dims.begin(), at);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), at + 1, data.dims.end());
  return context.Output(data.dtype, std::move(dims));
}

Status InferGatherElements(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckIndices(context));
  const ValueType &data = context.input(0), &indices = context.input(1);
  if (data.ranked && indices.ranked) {
    if (data.dims.size() != indices.dims.size())
      return Error(StatusCode::kModel, "indices with shape {} and data with shape {} must have the same rank",
                   ShapeToString(indices.dims), ShapeToString(data.dims));
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                            context.NormalizeAxis(context.primitive().GetInt("axis", 0), data.dims.size()));
    for (size_t i = 0; i < data.dims.size(); ++i)
      if (i != axis && data.dims[i] >= 0 && indices.dims[i] > data.dims[i])
        return Error(StatusCode::kModel, "the shape of indices {} exceeds the shape of data {} along axis {}",
                     ShapeToString(indices.dims), ShapeToString(data.dims), i);
    DEPUTY_RETURN_IF_ERROR(CheckIndexValues(context, 1, data.dims[axis], "indices"));
  }
  if (indices.ranked) {
    context.SetOutput(0, data.dtype, indices.dims);
  } else if (data.ranked) {
    context.SetOutput(0, data.dtype, UnknownDims(data.dims.size()));
  } else {
    context.SetOutputUnranked(0, data.dtype);
  }
  return {};
}

Status InferGatherND(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckIndices(context));
  const ValueType &data = context.input(0), &indices = context.input(1);
  const int64_t batch = context.primitive().GetInt("batch_dims", 0);
  if (!data.ranked || !indices.ranked || (!indices.dims.empty() && indices.dims.back() < 0))
    return context.OutputUnranked(data.dtype);
  const size_t rank = data.dims.size(), index_rank = indices.dims.size();
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(rank, index_rank)))
    return Error(StatusCode::kModel, "batch_dims {} is out of range for data with shape {} and indices with shape {}",
                 batch, ShapeToString(data.dims), ShapeToString(indices.dims));
  const size_t batches = static_cast<size_t>(batch);
  const int64_t tuple = indices.dims.back();
  if (tuple < 1 || tuple > static_cast<int64_t>(rank - batches))
    return Error(StatusCode::kModel, "the last extent of indices with shape {} is out of range for data with shape {}",
                 ShapeToString(indices.dims), ShapeToString(data.dims));
  DEPUTY_RETURN_IF_ERROR(
      CheckTupleValues(context, 1, std::span(data.dims).subspan(batches, static_cast<size_t>(tuple)), "indices"));
  std::vector<int64_t> dims;
  for (size_t i = 0; i + 1 < index_rank; ++i) {
    if (i >= batches) {
      dims.push_back(indices.dims[i]);
      continue;
    }
    Result<int64_t> merged = MergeDim(data.dims[i], indices.dims[i]);
    if (!merged.ok())
      return Error(StatusCode::kModel, "data with shape {} and indices with shape {} have different batch dimensions",
                   ShapeToString(data.dims), ShapeToString(indices.dims));
    dims.push_back(*merged);
  }
  dims.insert(dims.end(), data.dims.begin() + static_cast<ptrdiff_t>(batches) + tuple, data.dims.end());
  return context.Output(data.dtype, std::move(dims));
}

}  // namespace deputy::host
