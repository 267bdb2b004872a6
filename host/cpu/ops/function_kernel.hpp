// Kernels made of a function, and the checks of a run's tensors before memory is accessed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "cpu/kernel.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {

// A kernel whose only state is captured by `run`. F: Status(const KernelArgs&), callable by several threads.
template <OutputMemory kMemory = OutputMemory::kPlanned, class F>
KernelResult KernelOf(F run) {
  class FunctionKernel final : public CpuKernel {
   public:
    explicit FunctionKernel(F function) : run_(std::move(function)) {}
    OutputMemory output_memory() const override { return kMemory; }
    Status Run(const KernelArgs& args) const override { return run_(args); }

   private:
    F run_;
  };
  return std::unique_ptr<CpuKernel>(std::make_unique<FunctionKernel>(std::move(run)));
}

// kNotSupported for strings, whose elements are not contiguous bytes.
Status CheckMovable(const KernelSpec& spec);

// A present tensor whose byte count is that of its extents; fails for strings.
Status CheckStored(const ConstView& tensor);
// The same, and the bytes of one element; fails for packed elements too.
Result<size_t> ElementBytes(const ConstView& tensor);

// As many bytes as the extents need.
inline bool BytesFit(DType dtype, std::span<const int64_t> dims, uint64_t bytes) {
  int64_t count;
  return CountElements(dims, &count) && BytesOf(dtype, static_cast<size_t>(count)) == bytes;
}

// The reason why a tensor failed its check. An unsupported element type is the model's fault, all others are errors of
// the planner, kInternal.
Status ExplainInput(const ConstView& input, DType dtype);
Status ExplainOutput(const MutableView& output, DType dtype, std::span<const int64_t> dims);

// The output has this type, these extents and as many bytes as they need.
inline Status CheckOutput(const MutableView& output, DType dtype, std::span<const int64_t> dims) {
  if (output.present() && output.dtype() == dtype && BytesFit(dtype, dims, output.byte_size()) &&
      std::equal(dims.begin(), dims.end(), output.dims().begin(), output.dims().end()))
    return {};
  return ExplainOutput(output, dtype, dims);
}

// The elements of an int64 or int32 tensor.
Result<SmallDims> ReadInts(const ConstView& tensor, const char* subject);

Result<size_t> ResolveAxis(int64_t axis, size_t rank);

// Copies the elements of input 0 to output 0, regardless of their extents, for Reshape and related operators.
Status CopyElements(const KernelArgs& args);

// The input is present, has this type, and as many bytes as its extents need.
inline Status CheckTyped(const ConstView& input, DType dtype) {
  if (input.present() && input.dtype() == dtype && BytesFit(dtype, input.dims(), input.byte_size())) return {};
  return ExplainInput(input, dtype);
}

// The output is present, has this type, and as many bytes as its extents need.
inline Status CheckTypedOutput(const MutableView& output, DType dtype) {
  if (!output.present()) return ExplainOutput(output, dtype, {});
  return CheckOutput(output, dtype, output.dims());
}

}  // namespace deputy::host
