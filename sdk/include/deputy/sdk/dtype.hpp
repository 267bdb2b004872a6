// Element types; the numbers are those of the ABI and of ONNX.
#pragma once

#include <cstddef>
#include <cstdint>

#include "deputy/abi/tensor.h"

namespace deputy::sdk {

enum class DType : int32_t {
  kUndefined = DEPUTY_DTYPE_UNDEFINED,
  kFloat32 = DEPUTY_DTYPE_FLOAT32,
  kUint8 = DEPUTY_DTYPE_UINT8,
  kInt8 = DEPUTY_DTYPE_INT8,
  kUint16 = DEPUTY_DTYPE_UINT16,
  kInt16 = DEPUTY_DTYPE_INT16,
  kInt32 = DEPUTY_DTYPE_INT32,
  kInt64 = DEPUTY_DTYPE_INT64,
  kString = DEPUTY_DTYPE_STRING,
  kBool = DEPUTY_DTYPE_BOOL,
  kFloat16 = DEPUTY_DTYPE_FLOAT16,
  kFloat64 = DEPUTY_DTYPE_FLOAT64,
  kUint32 = DEPUTY_DTYPE_UINT32,
  kUint64 = DEPUTY_DTYPE_UINT64,
  kBFloat16 = DEPUTY_DTYPE_BFLOAT16,
  kFloat8E4M3FN = DEPUTY_DTYPE_FLOAT8E4M3FN,
  kFloat8E4M3FNUZ = DEPUTY_DTYPE_FLOAT8E4M3FNUZ,
  kFloat8E5M2 = DEPUTY_DTYPE_FLOAT8E5M2,
  kFloat8E5M2FNUZ = DEPUTY_DTYPE_FLOAT8E5M2FNUZ,
  kUint4 = DEPUTY_DTYPE_UINT4,
  kInt4 = DEPUTY_DTYPE_INT4,
  kFloat4E2M1 = DEPUTY_DTYPE_FLOAT4E2M1,
  kFloat8E8M0 = DEPUTY_DTYPE_FLOAT8E8M0,
  kUint2 = DEPUTY_DTYPE_UINT2,
  kInt2 = DEPUTY_DTYPE_INT2
};

struct DTypeFacts {
  const char* name;
  size_t size;  // of one element in bytes; 0: no fixed size, or less than a byte
};

constexpr DTypeFacts FactsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return {"float32", 4};
    case DType::kUint8: return {"uint8", 1};
    case DType::kInt8: return {"int8", 1};
    case DType::kUint16: return {"uint16", 2};
    case DType::kInt16: return {"int16", 2};
    case DType::kInt32: return {"int32", 4};
    case DType::kInt64: return {"int64", 8};
    case DType::kString: return {"string", 0};
    case DType::kBool: return {"bool", 1};
    case DType::kFloat16: return {"float16", 2};
    case DType::kFloat64: return {"float64", 8};
    case DType::kUint32: return {"uint32", 4};
    case DType::kUint64: return {"uint64", 8};
    case DType::kBFloat16: return {"bfloat16", 2};
    case DType::kFloat8E4M3FN: return {"float8e4m3fn", 1};
    case DType::kFloat8E4M3FNUZ: return {"float8e4m3fnuz", 1};
    case DType::kFloat8E5M2: return {"float8e5m2", 1};
    case DType::kFloat8E5M2FNUZ: return {"float8e5m2fnuz", 1};
    case DType::kUint4: return {"uint4", 0};
    case DType::kInt4: return {"int4", 0};
    case DType::kFloat4E2M1: return {"float4e2m1", 0};
    case DType::kFloat8E8M0: return {"float8e8m0", 1};
    case DType::kUint2: return {"uint2", 0};
    case DType::kInt2: return {"int2", 0};
    case DType::kUndefined: break;
  }
  return {"undefined", 0};
}

constexpr size_t SizeOf(DType dtype) { return FactsOf(dtype).size; }
constexpr const char* NameOf(DType dtype) { return FactsOf(dtype).name; }

}  // namespace deputy::sdk
