#include "deputy/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "deputy/storage.hpp"

namespace deputy {
namespace {

double FromHalf(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

// To the nearest, halves to the even.
uint16_t ToHalf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7E00;
  if (magnitude == 0) return sign;  // has no exponent
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7C00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  const int power = std::max(exponent - 1, -14);
  // In units of the last of the 11 bits. Below 1024 it is subnormal; 2048 carries into the exponent.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - power)));
  return static_cast<uint16_t>(sign | (((power + 15) << 10) + units - 1024));
}

double FromBfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t ToBfloat16(double value) {
  const auto narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (std::isnan(narrow)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <class T>
T Load(const Tensor& tensor, int64_t index) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(tensor.data()) + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void Store(Tensor& tensor, int64_t index, T value) {
  std::memcpy(static_cast<char*>(tensor.mutable_data()) + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

}  // namespace

double ElementAt(const Tensor& tensor, int64_t index) {
  if (IsStorage(tensor.dtype()))
    return double{DecodeStorage(tensor.dtype(), CodeAt(tensor.dtype(), tensor.data(), index))};
  switch (tensor.dtype()) {
    case DType::kFloat32: return Load<float>(tensor, index);
    case DType::kFloat64: return Load<double>(tensor, index);
    case DType::kFloat16: return FromHalf(Load<uint16_t>(tensor, index));
    case DType::kBFloat16: return FromBfloat16(Load<uint16_t>(tensor, index));
    case DType::kBool: return Load<uint8_t>(tensor, index) != 0 ? 1 : 0;
    case DType::kUint8: return Load<uint8_t>(tensor, index);
    case DType::kInt8: return Load<int8_t>(tensor, index);
    case DType::kUint16: return Load<uint16_t>(tensor, index);
    case DType::kInt16: return Load<int16_t>(tensor, index);
    case DType::kUint32: return Load<uint32_t>(tensor, index);
    case DType::kInt32: return Load<int32_t>(tensor, index);
    case DType::kUint64: return static_cast<double>(Load<uint64_t>(tensor, index));
    case DType::kInt64: return static_cast<double>(Load<int64_t>(tensor, index));
    default: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void SetElement(Tensor& tensor, int64_t index, double value) {
  if (IsStorage(tensor.dtype())) {
    // The nearest of the few possible values.
    int best = 0;
    const int codes = 1 << BitsOf(tensor.dtype());
    const auto distance = [&](int code) {
      const double off = std::fabs(DecodeStorage(tensor.dtype(), static_cast<uint8_t>(code)) - value);
      return std::isnan(off) ? HUGE_VAL : off;
    };
    for (int code = 1; code < codes; ++code)
      if (distance(code) < distance(best)) best = code;
    return SetCode(tensor.dtype(), tensor.mutable_data(), index, static_cast<uint8_t>(best));
  }
  switch (tensor.dtype()) {
    case DType::kFloat32: return Store(tensor, index, static_cast<float>(value));
    case DType::kFloat64: return Store(tensor, index, value);
    case DType::kFloat16: return Store(tensor, index, ToHalf(value));
    case DType::kBFloat16: return Store(tensor, index, ToBfloat16(value));
    case DType::kBool: return Store(tensor, index, static_cast<uint8_t>(value != 0));
    case DType::kUint8: return Store(tensor, index, static_cast<uint8_t>(value));
    case DType::kInt8: return Store(tensor, index, static_cast<int8_t>(value));
    case DType::kUint16: return Store(tensor, index, static_cast<uint16_t>(value));
    case DType::kInt16: return Store(tensor, index, static_cast<int16_t>(value));
    case DType::kUint32: return Store(tensor, index, static_cast<uint32_t>(value));
    case DType::kInt32: return Store(tensor, index, static_cast<int32_t>(value));
    case DType::kUint64: return Store(tensor, index, static_cast<uint64_t>(value));
    case DType::kInt64: return Store(tensor, index, static_cast<int64_t>(value));
    default: break;
  }
}

}  // namespace deputy
