// From a dtype known at run time to a C++ type known at compile time.
//
//   const bool known = DispatchNumeric(dtype, [&](auto tag) {
//     using T = typename decltype(tag)::Type;
//     ...
//   });
//   if (!known) return NotSupported...
//
// Each function calls f with the tag of dtype's type and returns true; it returns false for a dtype of another family.
// Every instantiation costs compile time: use the narrowest family. The 16-bit floats are storage (Half, BFloat16 of
// tensor/half.hpp), not for computing, and therefore in no family but DispatchStored; widen them to float first
// (cast.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "deputy/dtype.hpp"
#include "tensor/half.hpp"

namespace deputy::host {

template <class T>
struct TypeTag {
  using Type = T;
};

template <class T>
inline constexpr DType kDTypeOf = DType::kUndefined;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<Half> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;

constexpr bool IsFloat16(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }
// The compute type: float32 for the 16-bit floats, otherwise the dtype itself.
constexpr DType ComputeType(DType dtype) { return IsFloat16(dtype) ? DType::kFloat32 : dtype; }

constexpr bool IsFloating(DType dtype) {
  return IsFloat16(dtype) || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}
// Floating point types and integers; not bool.
constexpr bool IsNumeric(DType dtype) { return SizeOf(dtype) != 0 && dtype != DType::kBool && !IsStorage(dtype); }

// The unsigned integer of T's size where T is a signed one and the condition holds; otherwise T.
template <bool kCondition, class T>
using UnsignedIf = typename std::conditional_t<kCondition && std::is_integral_v<T> && std::is_signed_v<T>,
                                               std::make_unsigned<T>, std::type_identity<T>>::type;

// float, double
template <class F>
bool DispatchFloat(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: f(TypeTag<float>()); return true;
    case DType::kFloat64: f(TypeTag<double>()); return true;
    default: return false;
  }
}

// int8 to int64
template <class F>
bool DispatchSigned(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8: f(TypeTag<int8_t>()); return true;
    case DType::kInt16: f(TypeTag<int16_t>()); return true;
    case DType::kInt32: f(TypeTag<int32_t>()); return true;
    case DType::kInt64: f(TypeTag<int64_t>()); return true;
    default: return false;
  }
}

// uint8 to uint64
template <class F>
bool DispatchUnsigned(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kUint8: f(TypeTag<uint8_t>()); return true;
    case DType::kUint16: f(TypeTag<uint16_t>()); return true;
    case DType::kUint32: f(TypeTag<uint32_t>()); return true;
    case DType::kUint64: f(TypeTag<uint64_t>()); return true;
    default: return false;
  }
}

template <class F>
bool DispatchInteger(DType dtype, F&& f) {
  return DispatchSigned(dtype, f) || DispatchUnsigned(dtype, f);
}

// All integers, float, double.
template <class F>
bool DispatchNumeric(DType dtype, F&& f) {
  return DispatchFloat(dtype, f) || DispatchInteger(dtype, f);
}

// All element types of tensors: numeric, bool, Half, BFloat16.
template <class F>
bool DispatchStored(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool: f(TypeTag<bool>()); return true;
    case DType::kFloat16: f(TypeTag<Half>()); return true;
    case DType::kBFloat16: f(TypeTag<BFloat16>()); return true;
    default: return DispatchNumeric(dtype, f);
  }
}

// For code that only moves elements: f receives the unsigned integer type of that many bytes (1, 2, 4 or 8).
template <class F>
bool DispatchSize(size_t element_bytes, F&& f) {
  switch (element_bytes) {
    case 1: f(TypeTag<uint8_t>()); return true;
    case 2: f(TypeTag<uint16_t>()); return true;
    case 4: f(TypeTag<uint32_t>()); return true;
    case 8: f(TypeTag<uint64_t>()); return true;
    default: return false;
  }
}

}  // namespace deputy::host
