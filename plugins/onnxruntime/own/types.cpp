#include "own/types.hpp"

#include <algorithm>

#include "deputy/sdk/dtype.hpp"
#include "deputy/sdk/graph.hpp"
#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

Status* CastTypeInfoToTensorInfo(const TypeInfo* type, const TensorTypeAndShapeInfo** out) {
  *out = type->kind == kTensorKind ? &type->tensor : nullptr;
  return nullptr;
}
// Of kinds that no value has here: sequences, maps, optional values.
Status* CastToOtherInfo(const TypeInfo*, const void** out) {
  *out = nullptr;
  return nullptr;
}
Status* GetOnnxTypeFromTypeInfo(const TypeInfo* type, ValueKind* out) {
  *out = type->kind;
  return nullptr;
}
Status* GetDenotationFromTypeInfo(const TypeInfo*, const char** out, size_t* length) {
  *out = "";
  *length = 0;
  return nullptr;
}
void ReleaseTypeInfo(TypeInfo* type) {
  if (type != nullptr && !type->is_kept) delete type;
}

Status* CreateTensorTypeAndShapeInfo(TensorTypeAndShapeInfo** out) {
  return Guarded([&]() -> Status* {
    *out = new TensorTypeAndShapeInfo;
    return nullptr;
  });
}
Status* SetTensorElementType(TensorTypeAndShapeInfo* info, ElementType type) {
  info->type = type;
  return nullptr;
}
Status* SetDimensions(TensorTypeAndShapeInfo* info, const int64_t* dims, size_t count) {
  return Guarded([&]() -> Status* {
    info->dims.assign(dims, dims + count);
    info->symbols.clear();
    info->has_shape = true;
    return nullptr;
  });
}
Status* GetTensorElementType(const TensorTypeAndShapeInfo* info, ElementType* out) {
  *out = info->type;
  return nullptr;
}
Status* GetDimensionsCount(const TensorTypeAndShapeInfo* info, size_t* out) {
  *out = info->dims.size();
  return nullptr;
}
Status* GetDimensions(const TensorTypeAndShapeInfo* info, int64_t* out, size_t count) {
  std::copy_n(info->dims.begin(), std::min(count, info->dims.size()), out);
  return nullptr;
}
Status* GetSymbolicDimensions(const TensorTypeAndShapeInfo* info, const char** out, size_t count) {
  for (size_t i = 0; i < std::min(count, info->dims.size()); ++i)
    out[i] = i < info->symbols.size() ? info->symbols[i].c_str() : "";
  return nullptr;
}
Status* SetSymbolicDimensions(TensorTypeAndShapeInfo* info, const char** symbols, size_t count) {
  return Guarded([&]() -> Status* {
    info->symbols.assign(symbols, symbols + count);
    return nullptr;
  });
}
bool HasShape(const TensorTypeAndShapeInfo* info) { return info->has_shape; }
Status* GetTensorShapeElementCount(const TensorTypeAndShapeInfo* info, size_t* out) {
  const std::optional<int64_t> count = sdk::ElementCount(info->dims);
  if (!count) return Fail("the number of elements is not known");
  *out = static_cast<size_t>(*count);
  return nullptr;
}
void ReleaseTensorTypeAndShapeInfo(TensorTypeAndShapeInfo* info) {
  if (info != nullptr && !info->is_kept) delete info;
}

}  // namespace

std::optional<size_t> BytesOf(ElementType type, const std::vector<int64_t>& dims) {
  const std::optional<int64_t> count = sdk::ElementCount(dims);
  if (!count) return std::nullopt;
  switch (const auto dtype = static_cast<sdk::DType>(ToOnnx(type))) {
    case sdk::DType::kUint4:
    case sdk::DType::kInt4:
    case sdk::DType::kFloat4E2M1: return static_cast<size_t>((*count + 1) / 2);
    case sdk::DType::kUint2:
    case sdk::DType::kInt2: return static_cast<size_t>((*count + 3) / 4);
    default:
      if (sdk::SizeOf(dtype) == 0) return std::nullopt;
      return static_cast<size_t>(*count) * sdk::SizeOf(dtype);
  }
}

void SetTypeFunctions(Tables& tables) {
  tables.Set(Slot::CastTypeInfoToTensorInfo, CastTypeInfoToTensorInfo);
  tables.Set(Slot::CastTypeInfoToMapTypeInfo, CastToOtherInfo);
  tables.Set(Slot::CastTypeInfoToSequenceTypeInfo, CastToOtherInfo);
  tables.Set(Slot::CastTypeInfoToOptionalTypeInfo, CastToOtherInfo);
  tables.Set(Slot::GetOnnxTypeFromTypeInfo, GetOnnxTypeFromTypeInfo);
  tables.Set(Slot::GetDenotationFromTypeInfo, GetDenotationFromTypeInfo);
  tables.Set(Slot::ReleaseTypeInfo, ReleaseTypeInfo);
  tables.Set(Slot::CreateTensorTypeAndShapeInfo, CreateTensorTypeAndShapeInfo);
  tables.Set(Slot::SetTensorElementType, SetTensorElementType);
  tables.Set(Slot::SetDimensions, SetDimensions);
  tables.Set(Slot::GetTensorElementType, GetTensorElementType);
  tables.Set(Slot::GetDimensionsCount, GetDimensionsCount);
  tables.Set(Slot::GetDimensions, GetDimensions);
  tables.Set(Slot::GetSymbolicDimensions, GetSymbolicDimensions);
  tables.Set(Slot::SetSymbolicDimensions, SetSymbolicDimensions);
  tables.Set(Slot::TensorTypeAndShape_HasShape, HasShape);
  tables.Set(Slot::GetTensorShapeElementCount, GetTensorShapeElementCount);
  tables.Set(Slot::ReleaseTensorTypeAndShapeInfo, ReleaseTensorTypeAndShapeInfo);
}

}  // namespace ort::own
