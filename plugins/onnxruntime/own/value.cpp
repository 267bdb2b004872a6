#include "own/value.hpp"

#include <memory>
#include <string>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

// Nothing yet in its memory.
std::unique_ptr<Value> MakeTensor(const int64_t* dims, size_t rank, ElementType type) {
  auto value = std::make_unique<Value>();
  value->type.tensor.type = type;
  value->type.tensor.dims.assign(dims, dims + rank);
  return value;
}

Status* CreateTensorAsOrtValue(Allocator* allocator, const int64_t* dims, size_t rank, ElementType type, Value** out) {
  return Guarded([&]() -> Status* {
    std::unique_ptr<Value> value = MakeTensor(dims, rank, type);
    const std::optional<size_t> bytes = BytesOf(type, value->type.tensor.dims);
    if (!bytes) return Fail(kNotImplemented, "tensors of element type " + std::to_string(type) + " cannot be made");
    value->data = allocator->Alloc(allocator, *bytes);
    if (value->data == nullptr && *bytes > 0) return Fail(kFail, "out of memory");
    value->allocator = allocator;
    value->bytes = *bytes;
    *out = value.release();
    return nullptr;
  });
}
Status* MakeOverMemory(Allocator* allocator, void* data, size_t bytes, const int64_t* dims, size_t rank,
                       ElementType type, Value** out) {
  return Guarded([&]() -> Status* {
    std::unique_ptr<Value> value = MakeTensor(dims, rank, type);
    const std::optional<size_t> needed = BytesOf(type, value->type.tensor.dims);
    if (!needed || *needed > bytes) return Fail("the memory of a tensor is smaller than its elements");
    value->data = data;
    value->bytes = *needed;
    value->allocator = allocator;
    *out = value.release();
    return nullptr;
  });
}
Status* CreateTensorWithDataAsOrtValue(const MemoryInfo*, void* data, size_t bytes, const int64_t* dims, size_t rank,
                                       ElementType type, Value** out) {
  return MakeOverMemory(nullptr, data, bytes, dims, rank, type, out);
}
Status* CreateTensorWithDataAndDeleterAsOrtValue(Allocator* deleter, void* data, size_t bytes, const int64_t* dims,
                                                 size_t rank, ElementType type, Value** out) {
  return MakeOverMemory(deleter, data, bytes, dims, rank, type, out);
}

Status* IsTensor(const Value*, int* out) {
  *out = 1;
  return nullptr;
}
Status* IsSparseTensor(const Value*, int* out) {
  *out = 0;
  return nullptr;
}
Status* HasValue(const Value* value, int* out) {
  *out = value == nullptr ? 0 : 1;
  return nullptr;
}
Status* GetTensorMutableData(Value* value, void** out) {
  *out = value->data;
  return nullptr;
}
Status* GetTensorData(const Value* value, const void** out) {
  *out = value->data;
  return nullptr;
}
Status* GetTensorSizeInBytes(const Value* value, size_t* out) {
  *out = value->bytes;
  return nullptr;
}
Status* GetTensorTypeAndShape(const Value* value, TensorTypeAndShapeInfo** out) {
  return Guarded([&]() -> Status* {
    auto copy = std::make_unique<TensorTypeAndShapeInfo>(value->type.tensor);
    copy->is_kept = false;
    *out = copy.release();
    return nullptr;
  });
}
Status* GetTypeInfo(const Value* value, TypeInfo** out) {
  return Guarded([&]() -> Status* {
    auto copy = std::make_unique<TypeInfo>(value->type);
    copy->is_kept = false;
    copy->tensor.is_kept = true;
    *out = copy.release();
    return nullptr;
  });
}
Status* GetValueType(const Value* value, ValueKind* out) {
  *out = value->type.kind;
  return nullptr;
}
Status* GetTensorMemoryInfo(const Value*, const MemoryInfo** out) {
  *out = &HostMemory();
  return nullptr;
}
Status* GetTensorElementTypeAndShapeDataReference(const Value* value, ElementType* type, const int64_t** dims,
                                                  size_t* rank) {
  *type = value->type.tensor.type;
  *dims = value->type.tensor.dims.data();
  *rank = value->type.tensor.dims.size();
  return nullptr;
}
void ReleaseValue(Value* value) {
  if (value != nullptr && !value->is_kept) delete value;
}
const MemoryDevice* Value_GetMemoryDevice(const Value*) { return &HostMemory().device; }

}  // namespace

void SetValueFunctions(Tables& tables) {
  tables.Set(Slot::CreateTensorAsOrtValue, CreateTensorAsOrtValue);
  tables.Set(Slot::CreateTensorWithDataAsOrtValue, CreateTensorWithDataAsOrtValue);
  tables.Set(Slot::CreateTensorWithDataAndDeleterAsOrtValue, CreateTensorWithDataAndDeleterAsOrtValue);
  tables.Set(Slot::IsTensor, IsTensor);
  tables.Set(Slot::IsSparseTensor, IsSparseTensor);
  tables.Set(Slot::HasValue, HasValue);
  tables.Set(Slot::GetTensorMutableData, GetTensorMutableData);
  tables.Set(Slot::GetTensorData, GetTensorData);
  tables.Set(Slot::GetTensorSizeInBytes, GetTensorSizeInBytes);
  tables.Set(Slot::GetTensorTypeAndShape, GetTensorTypeAndShape);
  tables.Set(Slot::GetTypeInfo, GetTypeInfo);
  tables.Set(Slot::GetValueType, GetValueType);
  tables.Set(Slot::GetTensorMemoryInfo, GetTensorMemoryInfo);
  tables.Set(Slot::GetTensorElementTypeAndShapeDataReference, GetTensorElementTypeAndShapeDataReference);
  tables.Set(Slot::ReleaseValue, ReleaseValue);
  tables.Set(EpSlot::Value_GetMemoryDevice, Value_GetMemoryDevice);
}

}  // namespace ort::own
