// Functions of deputy/tensor_file.hpp for programs, on the C API.
#pragma once

#include <string>

#include "deputy.h"
#include "deputy/detail/call.hpp"
#include "deputy/detail/memory.hpp"
#include "deputy/detail/model_value.hpp"
#include "deputy/tensor_file.hpp"

namespace deputy {

inline Result<Tensor> ReadTensorFile(const std::string& path, DType dtype, const Shape& shape) {
  DeputyTensor read{};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyTensorRead(path.c_str(), static_cast<DeputyDType>(dtype), shape.data(),
                                                           static_cast<uint32_t>(shape.size()), &read)));
  return detail::Adopt(read);
}

inline Result<ModelValue> ReadValueFile(const std::string& path, ValueKind kind, DType dtype) {
  DeputyValue read{};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(
      DeputyValueRead(path.c_str(), static_cast<int32_t>(kind), static_cast<DeputyDType>(dtype), &read)));
  return detail::Adopt(read);
}

inline Status WriteTensorFile(const std::string& path, const Tensor& tensor) {
  const DeputyTensor view = detail::ViewOf(tensor);
  return detail::StatusOf(DeputyTensorWrite(path.c_str(), &view));
}

}  // namespace deputy
