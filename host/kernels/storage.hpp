// Conversion from and to the storage types: floats of 4 and 8 bits, integers of 2 and 4 bits. Integers pass through
// int64 to other integers, everything else through double.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// How a number becomes a float of 8 bits that cannot hold it (ONNX Cast-19 and -24). Floats of 4 bits always saturate;
// integers keep their low bits.
struct Narrowing {
  bool saturate = true;  // what is too large becomes the largest, else the type's infinity or NaN
  enum class Scale : uint8_t { kUp, kDown, kNearest } scale = Scale::kUp;  // float8e8m0 between two powers
};

// The bits that stand for `value`: of floats the nearest, ties to even.
uint8_t EncodeStorage(DType dtype, double value, const Narrowing& how);

// Converts `count` elements of which at least one side is a storage type. False for strings and undefined.
bool CastStorage(DType source_type, const void* source, DType target_type, void* target, int64_t count,
                 const Narrowing& how, ThreadPool& pool);

// The last byte of packed elements, as 0, before they are written one by one.
void ClearSpareBits(DType dtype, int64_t count, void* packed);

// Between packed elements and a byte for each: `bytes` hold the numbers of the integer types and the codes of
// float4e2m1.
void Unpack(DType dtype, const void* packed, int64_t count, void* bytes);
void Pack(DType dtype, const void* bytes, int64_t count, void* packed);

}  // namespace deputy::host
