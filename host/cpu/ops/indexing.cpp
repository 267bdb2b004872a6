// CPU kernels of Gather, GatherElements and GatherND, and of ScatterElements and ScatterND: a copy of the data, then
// the updates.
#include "kernels/indexing.hpp"

#include <algorithm>

#include "cpu/ops/function_kernel.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Result<IndexList> ReadIndices(const ConstView& indices) {
  DEPUTY_RETURN_IF_ERROR(ElementBytes(indices).status());
  if (indices.dtype() != DType::kInt64 && indices.dtype() != DType::kInt32)
    return Error(StatusCode::kInvalidArgument, "indices are {}, expected int32 or int64", NameOf(indices.dtype()));
  return IndexList{indices.data<void>(), indices.element_count(), indices.dtype()};
}

Status RunGather(const KernelArgs& args, int64_t axis_attribute) {
  const ConstView data = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(data));
  DEPUTY_ASSIGN_OR_RETURN(const IndexList indices, ReadIndices(args.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, data.rank()));
  SmallDims dims(data.dims().first(axis));
  for (const int64_t extent : args.input(1).dims()) dims.push_back(extent);
  for (const int64_t extent : data.dims().subspan(axis + 1)) dims.push_back(extent);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), data.dtype(), dims));
  DEPUTY_RETURN_IF_ERROR(CheckIndices(indices, data.dim(axis), axis));
  const GatherExtents extents{ElementCount(data.dims().first(axis)), data.dim(axis),
                              ElementCount(data.dims().subspan(axis + 1))};
  Gather(extents, indices, data.data<char>(), args.output(0).data<char>(), element, args.pool);
  return {};
}

Status RunGatherElements(const KernelArgs& args, int64_t axis_attribute) {
  const ConstView data = args.input(0), positions = args.input(1);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(data));
  DEPUTY_ASSIGN_OR_RETURN(const IndexList indices, ReadIndices(positions));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, data.rank()));
  bool fits = positions.rank() == data.rank();
  for (size_t d = 0; fits && d < data.rank(); ++d) fits = d == axis || positions.dim(d) <= data.dim(d);
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "indices of shape {} do not match data of shape {}",
                 ShapeToString(positions.dims()), ShapeToString(data.dims()));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), data.dtype(), positions.dims()));
  return GatherElements(data.dims(), positions.dims(), axis, indices, data.data<char>(), args.output(0).data<char>(),
                        element, args.pool);
}

Status RunGatherND(const KernelArgs& args, int64_t batch_dims) {
  const ConstView data = args.input(0), positions = args.input(1);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(data));
  DEPUTY_ASSIGN_OR_RETURN(const IndexList indices, ReadIndices(positions));
  const size_t rank = data.rank();
  const int64_t least = static_cast<int64_t>(std::min(rank, positions.rank()));
  const int64_t tuple = positions.rank() == 0 ? 0 : positions.dim(positions.rank() - 1);
  bool fits = batch_dims >= 0 && batch_dims < least && tuple >= 1 && tuple <= static_cast<int64_t>(rank) - batch_dims;
  for (size_t d = 0; fits && d < static_cast<size_t>(batch_dims); ++d) fits = positions.dim(d) == data.dim(d);
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "indices of shape {} do not match data of shape {}",
                 ShapeToString(positions.dims()), ShapeToString(data.dims()));
  GatherTuples tuples;
  tuples.batch_dims = static_cast<size_t>(batch_dims);
  tuples.tuple = static_cast<size_t>(tuple);
  const std::span<const int64_t> leading = positions.dims().first(positions.rank() - 1);
  tuples.batches = ElementCount(leading.first(tuples.batch_dims));
  tuples.tuples_per_batch = ElementCount(leading.subspan(tuples.batch_dims));
  SmallDims dims(leading);
  for (const int64_t extent : data.dims().subspan(tuples.batch_dims + tuples.tuple)) dims.push_back(extent);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), data.dtype(), dims));
  return GatherND(data.dims(), tuples, indices, data.data<char>(), args.output(0).data<char>(), element, args.pool);
}

Result<ScatterReduction> ReductionOf(const KernelSpec& spec) {
  const std::string_view name = spec.primitive().GetString("reduction", "none");
  if (name == "none") return ScatterReduction::kReplace;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return Error(StatusCode::kModel, "reduction must be none, add, mul, max or min, got '{}'", name);
}

Status DoNotFit(const KernelArgs& args) {
  return Error(
      StatusCode::kInvalidArgument, "indices of shape {} and updates of shape {} do not match data of shape {}",
      ShapeToString(args.input(1).dims()), ShapeToString(args.input(2).dims()), ShapeToString(args.input(0).dims()));
}

// The checks of both kernels: consistent tensors, and indices of a valid type.
Result<IndexList> CheckInputs(const KernelArgs& args) {
  const ConstView data = args.input(0), positions = args.input(1), updates = args.input(2);
  for (size_t i = 0; i < 3; ++i) DEPUTY_RETURN_IF_ERROR(ElementBytes(args.input(i)).status());
  if (positions.dtype() != DType::kInt64 && positions.dtype() != DType::kInt32)
    return Error(StatusCode::kInvalidArgument, "indices are {}, expected int32 or int64", NameOf(positions.dtype()));
  if (updates.dtype() != data.dtype())
    return Error(StatusCode::kInvalidArgument, "updates are {}, expected {} as data", NameOf(updates.dtype()),
                 NameOf(data.dtype()));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), data.dtype(), data.dims()));
  return IndexList{positions.data<void>(), positions.element_count(), positions.dtype()};
}

Status RunScatterElements(const KernelArgs& args, int64_t axis_attribute, ScatterReduction reduction) {
  DEPUTY_ASSIGN_OR_RETURN(const IndexList indices, CheckInputs(args));
  const ConstView data = args.input(0), positions = args.input(1), updates = args.input(2);
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, data.rank()));
  bool fits = positions.rank() == data.rank() && updates.rank() == data.rank();
  for (size_t d = 0; fits && d < data.rank(); ++d)
    fits = positions.dim(d) == updates.dim(d) && (d == axis || positions.dim(d) <= data.dim(d));
  if (!fits) return DoNotFit(args);
  DEPUTY_RETURN_IF_ERROR(CheckIndices(indices, data.dim(axis), axis));
  DEPUTY_RETURN_IF_ERROR(CopyElements(args));
  ScatterElements(data.dims(), positions.dims(), axis, indices, updates.data<char>(), args.output(0).data<char>(),
                  data.dtype(), reduction);
  return {};
}

Status RunScatterND(const KernelArgs& args, ScatterReduction reduction) {
  DEPUTY_ASSIGN_OR_RETURN(const IndexList indices, CheckInputs(args));
  const ConstView data = args.input(0), positions = args.input(1), updates = args.input(2);
  const int64_t tuple = positions.rank() == 0 ? 0 : positions.dim(positions.rank() - 1);
  if (tuple < 1 || tuple > static_cast<int64_t>(data.rank())) return DoNotFit(args);
  SmallDims expected(positions.dims().first(positions.rank() - 1));
  for (const int64_t extent : data.dims().subspan(static_cast<size_t>(tuple))) expected.push_back(extent);
  if (!std::equal(expected.begin(), expected.end(), updates.dims().begin(), updates.dims().end()))
    return DoNotFit(args);
  DEPUTY_RETURN_IF_ERROR(CopyElements(args));
  return ScatterND(data.dims(), static_cast<size_t>(tuple), indices, updates.data<char>(), args.output(0).data<char>(),
                   data.dtype(), reduction);
}

}  // namespace

KernelResult MakeGather(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  return KernelOf([axis](const KernelArgs& args) { return RunGather(args, axis); });
}

KernelResult MakeGatherElements(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  return KernelOf([axis](const KernelArgs& args) { return RunGatherElements(args, axis); });
}

KernelResult MakeGatherND(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t batch_dims = spec.primitive().GetInt("batch_dims", 0);
  return KernelOf([batch_dims](const KernelArgs& args) { return RunGatherND(args, batch_dims); });
}

KernelResult MakeScatterElements(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(const ScatterReduction reduction, ReductionOf(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  return KernelOf([axis, reduction](const KernelArgs& args) { return RunScatterElements(args, axis, reduction); });
}

// The former name of ScatterElements.
KernelResult MakeScatter(const KernelSpec& spec) { return MakeScatterElements(spec); }

KernelResult MakeScatterND(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(const ScatterReduction reduction, ReductionOf(spec));
  return KernelOf([reduction](const KernelArgs& args) { return RunScatterND(args, reduction); });
}

}  // namespace deputy::host
