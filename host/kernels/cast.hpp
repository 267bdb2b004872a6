// Conversion between element types. Kernels also widen 16-bit floats with it, block by block through a ConvertFunction.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Converts `count` elements; source and target do not overlap.
using ConvertFunction = void (*)(const void* source, void* target, int64_t count);

// Null for string and undefined. A float becomes an integer by truncation; NaN gives 0 and values out of range the
// nearest integer of the type. Integers keep their low bits. Bool is 0 or 1; every value but zero is true. Floats round
// to nearest even.
ConvertFunction FindConvert(DType source, DType target);

// The same on the thread pool. False for a dtype without conversion.
bool Cast(DType source_type, const void* source, DType target_type, void* target, int64_t count, ThreadPool& pool);

// Truncates; NaN gives 0, and values out of range the nearest integer of the type.
template <class Integer, class Float>
Integer SaturateCast(Float value) {
  // The bounds are powers of two, so that they are exact in every floating point type: [lowest, limit).
  constexpr Float kLimit = static_cast<Float>(std::numeric_limits<Integer>::max() / 2 + 1) * Float{2};
  constexpr Float kLowest = static_cast<Float>(std::numeric_limits<Integer>::lowest());
  if (value != value) return 0;
  if (value >= kLimit) return std::numeric_limits<Integer>::max();
  if (value <= kLowest) return std::numeric_limits<Integer>::lowest();
  return static_cast<Integer>(value);
}

// Conversion of numbers that a float of 8 bits cannot represent (ONNX Cast-19 and -24). Floats of 4 bits always
// saturate; integers keep their low bits.
struct Narrowing {
  // Too large values become the largest, otherwise the type's infinity or NaN; values too small for float8e8m0, and 0,
  // become its smallest, otherwise NaN.
  bool saturate = true;
  enum class Scale : uint8_t { kUp, kDown, kNearest } scale = Scale::kUp;  // float8e8m0 between two powers
};

// The bits of the nearest representable number, ties to even; of an integer too, unlike those of whole bytes, which
// FindConvert truncates. NaN gives the integer 0.
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
