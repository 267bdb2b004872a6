// Conversion from and to the storage types: floats of 4 and 8 bits, integers of 2 and 4 bits. Integers are converted to
// other integers through int64, all other pairs through double.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Conversion of numbers that a float of 8 bits cannot represent (ONNX Cast-19 and -24). Floats of 4 bits always
// saturate; integers keep their low bits.
struct Narrowing {
  bool saturate = true;  // too large values become the largest, otherwise the type's infinity or NaN
  enum class Scale : uint8_t { kUp, kDown, kNearest } scale = Scale::kUp;  // float8e8m0 between two powers
};

// The bits of `value`, for floats of the nearest representable one, ties to even.
uint8_t EncodeStorage(DType dtype, double value, const Narrowing& how);

// Converts `count` elements; at least one of the types is a storage type. False for strings and undefined.
bool CastStorage(DType source_type, const void* source, DType target_type, void* target, int64_t count,
                 const Narrowing& how, ThreadPool& pool);

// Sets the last byte of packed elements to 0 before they are written one by one.
void ClearSpareBits(DType dtype, int64_t count, void* packed);

// Conversion between packed elements and one byte for each: `bytes` hold the numbers of the integer types and the codes
// of float4e2m1.
void Unpack(DType dtype, const void* packed, int64_t count, void* bytes);
void Pack(DType dtype, const void* bytes, int64_t count, void* packed);

}  // namespace deputy::host
