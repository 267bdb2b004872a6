// Tensors of the C API as those of the C++ API, and back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "deputy.h"
#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"

struct DeputyMemory {
  std::atomic<uint32_t> owners{1};
  std::shared_ptr<const void> keep;
  deputy::Shape shape;
  std::vector<DeputyTensor> elements;  // of a value
};

namespace deputy::host::capi {

// A view, without ownership.
DeputyTensor View(const Tensor& tensor);
// With ownership of what `tensor` owns.
DeputyTensor Owned(const Tensor& tensor);
DeputyValue Owned(const ModelValue& value);

Status NoShape(const DeputyTensor& given);
Shape ShapeOf(const int64_t* extents, uint32_t rank);
// Puts what is given into `kept`, which allocates nothing where dtype and shape are those that it has.
Status Take(const DeputyTensor& given, Tensor& kept);
Status Take(std::span<const DeputyTensor> given, std::vector<Tensor>& kept);
Result<ModelValue> Take(const DeputyValue& given);

}  // namespace deputy::host::capi
