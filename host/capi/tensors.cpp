#include "capi/tensors.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/keeper.hpp"
#include "deputy/element.hpp"
#include "deputy/tensor_file.hpp"

namespace deputy::host::capi {

DeputyTensor View(const Tensor& tensor) {
  if (tensor.empty()) return {};
  return {static_cast<DeputyDType>(tensor.dtype()),
          static_cast<uint32_t>(tensor.shape().size()),
          tensor.shape().data(),
          const_cast<void*>(tensor.data()),
          tensor.byte_size(),
          nullptr};
}

DeputyTensor Owned(const Tensor& tensor) {
  DeputyTensor made = View(tensor);
  if (tensor.empty()) return made;
  auto memory = std::make_unique<DeputyMemory>();
  memory->keep = tensor.owner();
  memory->shape = tensor.shape();
  made.shape = memory->shape.data();
  made.memory = memory.release();
  return made;
}

DeputyValue Owned(const ModelValue& value) {
  DeputyValue made{};
  if (value.empty()) return made;
  auto memory = std::make_unique<DeputyMemory>();
  made.is_sequence = value.is_sequence() ? 1 : 0;
  made.dtype = static_cast<DeputyDType>(value.dtype());
  // An element that comes back has an owner, too: that of the whole value.
  const auto tensors = std::make_shared<const std::vector<Tensor>>(
      value.is_sequence() ? value.elements() : std::vector<Tensor>{value.tensor()});
  for (const Tensor& tensor : *tensors) memory->elements.push_back(View(tensor));
  memory->keep = tensors;
  made.tensors = memory->elements.data();
  made.count = memory->elements.size();
  made.memory = memory.release();
  return made;
}

Shape ShapeOf(const int64_t* extents, uint32_t rank) {
  return extents == nullptr ? Shape() : Shape(extents, extents + rank);
}

Status NoShape(const DeputyTensor& given) {
  return Error(StatusCode::kInvalidArgument, "a tensor of rank {} has no shape", given.rank);
}

Status Take(const DeputyTensor& given, Tensor& kept) {
  if (given.data == nullptr && given.dtype == kDeputyUndefined) {
    kept = Tensor();
    return {};
  }
  if (given.shape == nullptr && given.rank != 0) return NoShape(given);
  std::shared_ptr<const void> keep = given.memory == nullptr ? nullptr : given.memory->keep;
  const auto dtype = static_cast<DType>(given.dtype);
  if (kept.dtype() == dtype && kept.byte_size() == given.byte_size && given.data != nullptr &&
      std::equal(kept.shape().begin(), kept.shape().end(), given.shape, given.shape + given.rank)) {
    kept.MoveTo(given.data, std::move(keep));
    return {};
  }
  DEPUTY_ASSIGN_OR_RETURN(
      kept, Tensor::Wrap(dtype, ShapeOf(given.shape, given.rank), given.data, given.byte_size, std::move(keep)));
  return {};
}

Status Take(std::span<const DeputyTensor> given, std::vector<Tensor>& kept) {
  kept.resize(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (Status taken = Take(given[i], kept[i]); !taken.ok()) return std::move(taken).At("tensor " + std::to_string(i));
  return {};
}

Result<ModelValue> Take(const DeputyValue& given) {
  if (given.tensors == nullptr && given.count != 0)
    return Error(StatusCode::kInvalidArgument, "a value of {} tensors has none", given.count);
  std::vector<Tensor> tensors;
  DEPUTY_RETURN_IF_ERROR(Take({given.tensors, given.count}, tensors));
  if (given.is_sequence != 0) return ModelValue::Sequence(static_cast<DType>(given.dtype), std::move(tensors));
  if (tensors.size() > 1)
    return Error(StatusCode::kInvalidArgument, "{} tensors are given for a value that is no sequence", tensors.size());
  return tensors.empty() ? ModelValue() : ModelValue(std::move(tensors.front()));
}

}  // namespace deputy::host::capi

using deputy::DType;
using deputy::Status;
using deputy::Tensor;
using deputy::host::capi::Guard;
using deputy::host::capi::MissingArgument;
using deputy::host::capi::ShapeOf;

void DeputyMemoryRetain(DeputyMemory* memory) {
  if (memory != nullptr) memory->owners.fetch_add(1, std::memory_order_relaxed);
}
void DeputyMemoryRelease(DeputyMemory* memory) {
  if (memory != nullptr && memory->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete memory;
}

DeputyMemory* DeputyMemoryWrap(void* keep, void (*release)(void* keep)) {
  try {
    auto memory = std::make_unique<DeputyMemory>();
    // Never null, since a tensor without an owner is lent.
    auto keeper = std::make_shared<deputy::host::capi::Keeper>(keep, nullptr);
    keeper->release = release;  // not where there was no memory for it
    memory->keep = std::move(keeper);
    return memory.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

DeputyError* DeputyTensorCheck(const DeputyTensor* tensor) {
  if (tensor == nullptr) return MissingArgument("tensor");
  return Guard([&]() -> Status {
    if (tensor->shape == nullptr && tensor->rank != 0) return deputy::host::capi::NoShape(*tensor);
    return Tensor::Wrap(static_cast<DType>(tensor->dtype), ShapeOf(tensor->shape, tensor->rank), tensor->data,
                        tensor->byte_size)
        .status();
  });
}

double DeputyElementAt(const DeputyTensor* tensor, int64_t index) {
  Tensor taken;
  if (tensor == nullptr || !deputy::host::capi::Take(*tensor, taken).ok() || !deputy::IsNumeric(taken.dtype()))
    return 0;
  return deputy::ElementAt(taken, index);
}

void DeputySetElement(const DeputyTensor* tensor, int64_t index, double value) {
  Tensor taken;
  if (tensor == nullptr || !deputy::host::capi::Take(*tensor, taken).ok() || !deputy::IsNumeric(taken.dtype())) return;
  deputy::SetElement(taken, index, value);
}

DeputyError* DeputyValueRead(const char* path, int32_t kind, DeputyDType dtype, DeputyValue* value) {
  if (path == nullptr) return MissingArgument("path");
  if (value == nullptr) return MissingArgument("value");
  return Guard([&]() -> Status {
    if (kind < 0 || kind > 3) return deputy::host::Error(deputy::StatusCode::kInvalidArgument, "no kind {}", kind);
    DEPUTY_ASSIGN_OR_RETURN(
        const deputy::ModelValue read,
        deputy::ReadValueFile(path, static_cast<deputy::ValueKind>(kind), static_cast<DType>(dtype)));
    *value = deputy::host::capi::Owned(read);
    return {};
  });
}

DeputyError* DeputyByteSize(DeputyDType dtype, const int64_t* shape, uint32_t rank, uint64_t* bytes) {
  if (bytes == nullptr) return MissingArgument("bytes");
  if (shape == nullptr && rank != 0) return MissingArgument("shape");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(*bytes, deputy::ByteSize(static_cast<DType>(dtype), {shape, rank}));
    return {};
  });
}

DeputyError* DeputyTensorAllocate(DeputyDType dtype, const int64_t* shape, uint32_t rank, DeputyTensor* tensor) {
  if (tensor == nullptr) return MissingArgument("tensor");
  if (shape == nullptr && rank != 0) return MissingArgument("shape");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const Tensor made, Tensor::Allocate(static_cast<DType>(dtype), ShapeOf(shape, rank)));
    *tensor = deputy::host::capi::Owned(made);
    return {};
  });
}

void DeputyTensorRelease(DeputyTensor* tensor) {
  if (tensor == nullptr) return;
  DeputyMemoryRelease(tensor->memory);
  *tensor = {};
}

void DeputyValueRelease(DeputyValue* value) {
  if (value == nullptr) return;
  DeputyMemoryRelease(value->memory);
  *value = {};
}

DeputyError* DeputyTensorRead(const char* path, DeputyDType dtype, const int64_t* shape, uint32_t rank,
                              DeputyTensor* tensor) {
  if (path == nullptr) return MissingArgument("path");
  if (tensor == nullptr) return MissingArgument("tensor");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const Tensor made,
                            deputy::ReadTensorFile(path, static_cast<DType>(dtype), ShapeOf(shape, rank)));
    *tensor = deputy::host::capi::Owned(made);
    return {};
  });
}

DeputyError* DeputyTensorWrite(const char* path, const DeputyTensor* tensor) {
  if (path == nullptr) return MissingArgument("path");
  if (tensor == nullptr) return MissingArgument("tensor");
  return Guard([&]() -> Status {
    Tensor taken;
    DEPUTY_RETURN_IF_ERROR(deputy::host::capi::Take(*tensor, taken));
    return deputy::WriteTensorFile(path, taken);
  });
}
