// Typed access to the ABI's tensor struct. The execution plan keeps deputy_tensor; kernels read it through these views.
#pragma once

#include <cstdint>
#include <span>

#include "deputy/abi/tensor.h"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Elements of a tensor whose byte_size is that of its extents.
inline int64_t CountOf(const deputy_tensor& tensor) {
  if (const size_t size = SizeOf(static_cast<DType>(tensor.dtype)); size != 0)
    return static_cast<int64_t>(tensor.byte_size / size);
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= tensor.dims[i];
  return count;
}

// Read-only. A view of a null pointer is an optional input that was omitted.
class ConstView {
 public:
  explicit ConstView(const deputy_tensor* tensor) : tensor_(tensor) {}
  bool present() const { return tensor_ != nullptr; }
  DType dtype() const { return static_cast<DType>(tensor_->dtype); }
  size_t rank() const { return tensor_->rank; }
  std::span<const int64_t> dims() const { return {tensor_->dims, tensor_->rank}; }
  int64_t dim(size_t axis) const { return tensor_->dims[axis]; }
  size_t byte_size() const { return tensor_->byte_size; }
  int64_t element_count() const { return CountOf(*tensor_); }
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
  int64_t element_count() const { return CountOf(*tensor_); }
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
