// One run as a delegate sees it: tensors to read, tensors to write, a deadline. Views over the host's structs; nothing
// is copied, and nothing here outlives the call.
#pragma once

#include <atomic>
#include <cstdint>

#include "deputy/abi/delegate.h"
#include "deputy/sdk/dtype.hpp"
#include "deputy/sdk/host.hpp"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const deputy_tensor* tensor) : tensor_(tensor) {}

  // False for an input that is left out; no other function is valid then.
  bool exists() const { return tensor_ != nullptr; }
  const deputy_tensor* abi() const { return tensor_; }

  DType dtype() const { return static_cast<DType>(tensor_->dtype); }
  Span<const int64_t> dims() const { return {tensor_->dims, tensor_->rank}; }
  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t extent : dims()) count *= extent;
    return count;
  }
  size_t byte_size() const { return static_cast<size_t>(tensor_->byte_size); }
  // Row-major without gaps, in memory that the CPU can read. All tensors are, unless the delegate requests otherwise.
  bool is_dense_host() const { return tensor_->layout == DEPUTY_LAYOUT_DENSE && tensor_->memory == DEPUTY_MEMORY_HOST; }

  // In a buffer of the delegate's own, with kMemory: data() is NULL.
  bool is_on_device() const { return tensor_->memory == DEPUTY_MEMORY_DEVICE; }
  uint64_t handle() const { return tensor_->handle; }
  uint64_t offset() const { return tensor_->offset; }  // in bytes, of the first element

  // The first element; NULL where there are none, and for an output that is not allocated yet. Writing is for outputs
  // only.
  void* data() const { return tensor_->data; }
  // False for an output whose extents the run decides: RunArgs::Allocate gives its memory.
  bool shape_known() const {
    for (const int64_t extent : dims())
      if (extent < 0) return false;
    return true;
  }
  template <class T>
  Span<T> values() const {
    return {static_cast<T*>(data()), byte_size() / sizeof(T)};
  }

 private:
  const deputy_tensor* tensor_ = nullptr;
};

// Tensors are in the order of the partition's inputs and outputs.
class RunArgs {
 public:
  // `cancelled_run`: the newest run that was cancelled; NULL: none ever is.
  explicit RunArgs(const deputy_run_args& args, Host host = Host(),
                   const std::atomic<uint64_t>* cancelled_run = nullptr)
      : args_(args), host_(host), cancelled_run_(cancelled_run) {}

  size_t input_count() const { return args_.input_count; }
  size_t output_count() const { return args_.output_count; }
  TensorView input(size_t index) const { return TensorView(args_.inputs[index]); }
  TensorView output(size_t index) const { return TensorView(args_.outputs[index]); }
  // Sets the extents of an output that has not shape_known(), once, and returns the memory of its elements, all of
  // which are to be written; NULL if there are none.
  Result<void*> Allocate(size_t output, Span<const int64_t> dims) const {
    if (args_.allocator == nullptr) return Status(Code::kInternal, "the extents of all outputs are known");
    void* data = nullptr;
    DEPUTY_SDK_RETURN_IF_ERROR(host_.Take(args_.allocator->allocate(
        args_.allocator->self, static_cast<uint32_t>(output), dims.data(), static_cast<uint32_t>(dims.size()), &data)));
    return data;
  }
  uint64_t deadline_ns() const { return args_.deadline_ns; }  // CLOCK_MONOTONIC; 0: none
  // True when the run should end with kCancelled. [any-thread]
  bool cancelled() const { return cancelled_run_ != nullptr && cancelled_run_->load() >= args_.run; }
  // ExecutionContext::scratch_bytes() bytes of any content, aligned to 64.
  Span<unsigned char> scratch() const {
    return {static_cast<unsigned char*>(args_.scratch), static_cast<size_t>(args_.scratch_size)};
  }
  // Hints for this run: 1 low power to 4 extreme, 0: none; the least precise float type, kUndefined: none.
  uint32_t power_level() const { return args_.power_level; }
  DType precision() const { return static_cast<DType>(args_.precision); }

 private:
  const deputy_run_args& args_;
  Host host_;
  const std::atomic<uint64_t>* cancelled_run_;
};

}  // namespace deputy::sdk
