// deputy::Tensor and deputy::ModelValue, the public value types, declared in host/include.
#include "deputy/tensor.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/aligned.hpp"
#include "base/checked.hpp"
#include "base/status.hpp"
#include "deputy/model_value.hpp"
#include "tensor/shape.hpp"

namespace deputy {

Result<size_t> ByteSize(DType dtype, std::span<const int64_t> shape) {
  if (BitsOf(dtype) == 0)
    return host::Error(StatusCode::kNotSupported, "tensors of dtype {} are not supported", NameOf(dtype));
  const std::optional<int64_t> count = host::CheckedElementCount(shape);
  if (!count)
    return host::Error(StatusCode::kInvalidArgument, "shape {} has a negative extent or more than {} elements",
                       host::ShapeToString(shape), host::kMostElements);
  return BytesOf(dtype, static_cast<size_t>(*count));
}

Result<Tensor> Tensor::Allocate(DType dtype, Shape shape) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(dtype, shape));
  std::shared_ptr<uint8_t> memory = host::AllocateZeros(bytes);  // of no bytes too: data() tells it from "no tensor"
  if (memory == nullptr)
    return host::Error(StatusCode::kResourceExhausted, "no memory for a tensor of {} bytes", bytes);
  void* const data = memory.get();
  return Tensor(dtype, std::move(shape), data, bytes, std::move(memory));
}

Result<Tensor> Tensor::Wrap(DType dtype, Shape shape, void* data, size_t bytes, std::shared_ptr<const void> keep) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t needed, ByteSize(dtype, shape));
  if (needed != bytes)
    return host::Error(StatusCode::kInvalidArgument, "{} bytes given, but a tensor of {} {} requires {}", bytes,
                       NameOf(dtype), host::ShapeToString(shape), needed);
  if (data == nullptr && bytes != 0)
    return host::Error(StatusCode::kInvalidArgument, "data is null for a tensor of {} bytes", bytes);
  return Tensor(dtype, std::move(shape), data, bytes, std::move(keep));
}

Result<ModelValue> ModelValue::Sequence(DType dtype, std::vector<Tensor> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].empty()) return host::Error(StatusCode::kInvalidArgument, "element {} of a sequence is empty", i);
    if (elements[i].dtype() != dtype)
      return host::Error(StatusCode::kInvalidArgument, "element {} of a sequence of {} is {}", i, NameOf(dtype),
                         NameOf(elements[i].dtype()));
  }
  ModelValue value;
  value.dtype_ = dtype;
  value.elements_ = std::make_shared<const std::vector<Tensor>>(std::move(elements));
  return value;
}

const std::vector<Tensor>& ModelValue::elements() const {
  static const std::vector<Tensor> none;
  return elements_ == nullptr ? none : *elements_;
}

}  // namespace deputy
