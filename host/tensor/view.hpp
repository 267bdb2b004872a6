// Typed access to the ABI's tensor struct. The execution plan keeps deputy_tensor; kernels read it through these.
#pragma once

#include <cstdint>
#include <span>

#include "deputy/abi/tensor.h"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Read-only. A view of a null pointer is an optional input that was left out.
class ConstView {
 public:
  explicit ConstView(const deputy_tensor* tensor) : tensor_(tensor) {}
  bool present() const { return tensor_ != nullptr; }
  DType dtype() const { return static_cast<DType>(tensor_->dtype); }
  size_t rank() const { return tensor_->rank; }
  std::span<const int64_t> dims() const { return {tensor_->dims, tensor_->rank}; }
  int64_t dim(size_t axis) const { return tensor_->dims[axis]; }
  size_t byte_size() const { return tensor_->byte_size; }
  int64_t element_count() const { return static_cast<int64_t>(tensor_->byte_size / SizeOf(dtype())); }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data);
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), tensor_->byte_size / sizeof(T)};
  }

 private:
  const deputy_tensor* tensor_;
};

class MutableView {
 public:
  explicit MutableView(deputy_tensor* tensor) : tensor_(tensor) {}
  bool present() const { return tensor_ != nullptr; }
  DType dtype() const { return static_cast<DType>(tensor_->dtype); }
  size_t rank() const { return tensor_->rank; }
  std::span<const int64_t> dims() const { return {tensor_->dims, tensor_->rank}; }
  int64_t dim(size_t axis) const { return tensor_->dims[axis]; }
  size_t byte_size() const { return tensor_->byte_size; }
  int64_t element_count() const { return static_cast<int64_t>(tensor_->byte_size / SizeOf(dtype())); }
  template <class T>
  T* data() const {
    return static_cast<T*>(tensor_->data);
  }
  template <class T>
  std::span<T> values() const {
    return {data<T>(), tensor_->byte_size / sizeof(T)};
  }

 private:
  deputy_tensor* tensor_;
};

}  // namespace deputy::host
