#include "cpu/ops/function_kernel.hpp"

#include <algorithm>

#include "kernels/copy.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
Status CheckMovable(const KernelSpec& spec) {
  for (size_t i = 0; i < spec.node.inputs.size(); ++i)
    if (spec.has_input(i) && spec.input_type(i).dtype == DType::kString)
      return Error(StatusCode::kNotSupported, "string tensors are not supported by the CPU");
  return {};
}

Status CheckStored(const ConstView& tensor) {
  if (!tensor.present()) return Error(StatusCode::kInternal, "an input is missing");
  if (BitsOf(tensor.dtype()) == 0)
    return Error(StatusCode::kNotSupported, "dtype {} is not supported by the CPU", NameOf(tensor.dtype()));
  if (!BytesFit(tensor.dtype(), tensor.dims(), tensor.byte_size()))
    return Error(StatusCode::kInternal, "an input of shape {} has {} bytes", ShapeToString(tensor.dims()),
                 tensor.byte_size());
  return {};
}

Result<size_t> ElementBytes(const ConstView& tensor) {
  DEPUTY_RETURN_IF_ERROR(CheckStored(tensor));
  if (IsPacked(tensor.dtype()))
    return Error(StatusCode::kNotSupported, "packed dtype {} is not supported here", NameOf(tensor.dtype()));
  return SizeOf(tensor.dtype());
}

Status ExplainInput(const ConstView& input, DType dtype) {
  DEPUTY_RETURN_IF_ERROR(CheckStored(input));
  return Error(StatusCode::kInvalidArgument, "an input is {}, expected {}", NameOf(input.dtype()), NameOf(dtype));
}

Status ExplainOutput(const MutableView& output, DType dtype, std::span<const int64_t> dims) {
  if (!output.present()) return Error(StatusCode::kInternal, "an output is missing");
  if (output.dtype() != dtype)
    return Error(StatusCode::kInternal, "an output is {}, expected {}", NameOf(output.dtype()), NameOf(dtype));
  if (!std::equal(dims.begin(), dims.end(), output.dims().begin(), output.dims().end()))
    return Error(StatusCode::kInternal, "an output has shape {}, expected {}", ShapeToString(output.dims()),
                 ShapeToString(dims));
  return Error(StatusCode::kInternal, "an output of shape {} has {} bytes", ShapeToString(dims), output.byte_size());
}

Result<SmallDims> ReadInts(const ConstView& tensor, const char* subject) {
  if (!tensor.present()) return Error(StatusCode::kInvalidArgument, "input '{}' is missing", subject);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(tensor).status());
  SmallDims values;
  if (tensor.dtype() == DType::kInt64) {
    for (const int64_t value : tensor.values<int64_t>()) values.push_back(value);
  } else if (tensor.dtype() == DType::kInt32) {
    for (const int32_t value : tensor.values<int32_t>()) values.push_back(value);
  } else {
    return Error(StatusCode::kInvalidArgument, "input '{}' is {}, expected int64", subject, NameOf(tensor.dtype()));
  }
  return values;
}

Result<size_t> ResolveAxis(int64_t axis, size_t rank) {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return Error(StatusCode::kInvalidArgument, "axis {} is out of range for rank {}", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Status CopyElements(const KernelArgs& args) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckStored(input));
  if (!output.present()) return Error(StatusCode::kInternal, "an output is missing");
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), output.dims()));
  if (input.byte_size() != output.byte_size())
    return Error(StatusCode::kInvalidArgument, "input and output differ in size: {} and {} elements",
                 input.element_count(), output.element_count());
  CopyBytes(input.data<char>(), output.data<char>(), input.byte_size(), args.pool);
  return {};
}

}  // namespace deputy::host
