// Element types. Values are those of ONNX TensorProto.DataType and of `deputy_dtype` in the plugin ABI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deputy {

// The type of a tensor's elements.
enum class DType : int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// Bits of one element; 0 for kUndefined and kString. Elements of less than a byte are packed, the first in the low
// bits.
constexpr size_t BitsOf(DType dtype) {
  switch (dtype) {
    case DType::kUint2:
    case DType::kInt2: return 2;
    case DType::kUint4:
    case DType::kInt4:
    case DType::kFloat4E2M1: return 4;
    case DType::kUint8:
    case DType::kInt8:
    case DType::kBool:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0: return 8;
    case DType::kUint16:
    case DType::kInt16:
    case DType::kFloat16:
    case DType::kBFloat16: return 16;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUint32: return 32;
    case DType::kInt64:
    case DType::kUint64:
    case DType::kFloat64: return 64;
    case DType::kUndefined:
    case DType::kString: return 0;
  }
  return 0;
}

// Bytes of one element; 0 for elements of less than a byte, kUndefined and kString.
constexpr size_t SizeOf(DType dtype) { return BitsOf(dtype) / 8; }
// Bytes of `count` elements in a row, whose bits can be counted.
constexpr size_t BytesOf(DType dtype, size_t count) {
  return SizeOf(dtype) != 0 ? count * SizeOf(dtype) : (count * BitsOf(dtype) + 7) / 8;
}
// More than one element in a byte.
constexpr bool IsPacked(DType dtype) { return BitsOf(dtype) != 0 && BitsOf(dtype) < 8; }
// Storage alone: no arithmetic is done in these, they are converted from and to others.
constexpr bool IsStorage(DType dtype) { return dtype >= DType::kFloat8E4M3FN; }

constexpr const char* NameOf(DType dtype) {
  switch (dtype) {
    case DType::kUndefined: return "undefined";
    case DType::kFloat32: return "float32";
    case DType::kUint8: return "uint8";
    case DType::kInt8: return "int8";
    case DType::kUint16: return "uint16";
    case DType::kInt16: return "int16";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kString: return "string";
    case DType::kBool: return "bool";
    case DType::kFloat16: return "float16";
    case DType::kFloat64: return "float64";
    case DType::kUint32: return "uint32";
    case DType::kUint64: return "uint64";
    case DType::kBFloat16: return "bfloat16";
    case DType::kFloat8E4M3FN: return "float8e4m3fn";
    case DType::kFloat8E4M3FNUZ: return "float8e4m3fnuz";
    case DType::kFloat8E5M2: return "float8e5m2";
    case DType::kFloat8E5M2FNUZ: return "float8e5m2fnuz";
    case DType::kUint4: return "uint4";
    case DType::kInt4: return "int4";
    case DType::kFloat4E2M1: return "float4e2m1";
    case DType::kFloat8E8M0: return "float8e8m0";
    case DType::kUint2: return "uint2";
    case DType::kInt2: return "int2";
  }
  return "unknown";
}

}  // namespace deputy
