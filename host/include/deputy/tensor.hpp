// A dense row-major tensor on the host: dtype, shape and bytes, owned or borrowed. Copies share the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "deputy/dtype.hpp"
#include "deputy/status.hpp"

namespace deputy {

namespace detail {
struct TensorMaker;  // of tensors that the library has checked
}

// Extents, outermost first; {} is a scalar. In a description of an input or output -1 is an extent that is known only
// when the model runs. A tensor has no such extent.
using Shape = std::vector<int64_t>;

// [any-thread] for reading; writing through data() needs the caller's own order.
class Tensor {
 public:
  Tensor() = default;

  // Allocates zeroed memory aligned to 64 bytes. Fails where ByteSize fails, and where the memory cannot be had.
  static Result<Tensor> Allocate(DType dtype, Shape shape);

  // Wraps `bytes` bytes at `data`; `keep` (may be null) is held as long as any copy of the tensor lives. With a null
  // `keep` the caller guarantees the lifetime. Fails if `bytes` is not the size of dtype and shape.
  static Result<Tensor> Wrap(DType dtype, Shape shape, void* data, size_t bytes,
                             std::shared_ptr<const void> keep = nullptr);

  // Copies the values into a tensor of shape `shape`.
  template <class T>
  static Result<Tensor> FromValues(DType dtype, Shape shape, std::span<const T> values);

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t byte_size() const { return bytes_; }
  int64_t element_count() const {
    if (dtype_ == DType::kUndefined) return 0;
    if (SizeOf(dtype_) != 0) return static_cast<int64_t>(bytes_ / SizeOf(dtype_));
    int64_t count = 1;
    for (const int64_t extent : shape_) count *= extent;
    return count;
  }
  const void* data() const { return data_; }
  void* mutable_data() { return data_; }
  template <class T>
  std::span<const T> values() const {
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_values() {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  // The same dtype and shape in other memory, of byte_size() bytes, which `keep` owns; allocates nothing. With null
  // `data` the tensor is empty until the next call.
  void MoveTo(void* data, std::shared_ptr<const void> keep = nullptr) {
    data_ = data;
    keep_ = std::move(keep);
  }
  // The owner of the bytes; null when they are borrowed.
  const std::shared_ptr<const void>& owner() const { return keep_; }

 private:
  friend struct detail::TensorMaker;
  // Null data, of a tensor without elements, is another address, since those are empty that have none.
  Tensor(DType dtype, Shape shape, void* data, size_t bytes, std::shared_ptr<const void> keep)
      : dtype_(dtype),
        shape_(std::move(shape)),
        data_(data == nullptr ? Nothing() : data),
        bytes_(bytes),
        keep_(std::move(keep)) {}
  static void* Nothing() {
    static uint8_t nothing[1];
    return nothing;
  }

  DType dtype_ = DType::kUndefined;
  Shape shape_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::shared_ptr<const void> keep_;
};

// Bytes that dtype and shape need. Fails for a dtype without a size (kNotSupported), and for a negative extent or more
// than 2^48 elements, which are counted without extents of 0 (kInvalidArgument).
Result<size_t> ByteSize(DType dtype, std::span<const int64_t> shape);

template <class T>
Result<Tensor> Tensor::FromValues(DType dtype, Shape shape, std::span<const T> values) {
  Result<Tensor> made = Allocate(dtype, std::move(shape));
  if (!made.ok()) return made;
  if (made->byte_size() != values.size_bytes())
    return Status(StatusCode::kInvalidArgument, "the number of values does not match the shape");
  std::span<T> target = made->template mutable_values<T>();
  for (size_t i = 0; i < values.size(); ++i) target[i] = values[i];
  return made;
}

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/memory.hpp"  // IWYU pragma: export
#endif
