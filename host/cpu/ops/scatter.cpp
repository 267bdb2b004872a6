// CPU kernels of ScatterElements and ScatterND: a copy of the data, then the updates.
#include "kernels/scatter.hpp"

#include <algorithm>

#include "cpu/makers.hpp"
#include "cpu/ops/untyped.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Result<ScatterReduction> ReductionOf(const KernelSpec& spec) {
  const std::string_view name = spec.primitive().GetString("reduction", "none");
  if (name == "none") return ScatterReduction::kReplace;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return Error(StatusCode::kModel, "there is no reduction '{}'", name);
}

Status DoNotFit(const KernelArgs& args) {
  return Error(StatusCode::kInvalidArgument, "indices {} and updates {} do not fit data {}",
               ShapeToString(args.input(1).dims()), ShapeToString(args.input(2).dims()),
               ShapeToString(args.input(0).dims()));
}

// The checks of both kernels: consistent tensors, and indices of a valid type.
Result<IndexList> CheckInputs(const KernelArgs& args) {
  const ConstView data = args.input(0), positions = args.input(1), updates = args.input(2);
  for (size_t i = 0; i < 3; ++i) DEPUTY_RETURN_IF_ERROR(ElementBytes(args.input(i)).status());
  if (positions.dtype() != DType::kInt64 && positions.dtype() != DType::kInt32)
    return Error(StatusCode::kInvalidArgument, "the indices are {}, not int64", NameOf(positions.dtype()));
  if (updates.dtype() != data.dtype())
    return Error(StatusCode::kInvalidArgument, "cannot put {} into {}", NameOf(updates.dtype()), NameOf(data.dtype()));
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
