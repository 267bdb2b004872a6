// One run as a delegate sees it: tensors to read, tensors to write, a deadline. Views over the host's structs; nothing
// is copied, and nothing here outlives the call.
#pragma once

#include <cstdint>

#include "deputy/abi/delegate.h"
#include "deputy/sdk/dtype.hpp"
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

  // The first element; NULL is legal where there are none. Writing is for outputs only.
  void* data() const {
    return tensor_->data == nullptr ? nullptr : static_cast<unsigned char*>(tensor_->data) + tensor_->offset;
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
  explicit RunArgs(const deputy_run_args& args) : args_(args) {}

  size_t input_count() const { return args_.input_count; }
  size_t output_count() const { return args_.output_count; }
  TensorView input(size_t index) const { return TensorView(args_.inputs[index]); }
  TensorView output(size_t index) const { return TensorView(args_.outputs[index]); }
  uint64_t deadline_ns() const { return args_.deadline_ns; }  // CLOCK_MONOTONIC; 0: none

 private:
  const deputy_run_args& args_;
};

}  // namespace deputy::sdk
