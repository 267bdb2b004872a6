#include "reference/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace deputy::conformance::reference {
namespace {

// A float format narrower than double: bits of its fraction, its smallest normal exponent and its largest value.
double RoundTo(double value, int fraction_bits, int smallest_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f * 2^exponent, 0.5 <= |f| < 1
  const int unit = (exponent - 1 < smallest_exponent ? smallest_exponent : exponent - 1) - fraction_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  if (std::fabs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

constexpr double kLargestHalf = 65504;
const double kLargestBFloat = std::ldexp(255.0, 120);

uint16_t HalfBits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const double size = std::fabs(Round(DEPUTY_DTYPE_FLOAT16, value));
  if (std::isinf(size)) return static_cast<uint16_t>(sign | 0x7c00);
  if (size < std::ldexp(1.0, -14)) return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(size, 24)));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);
  const auto bits = static_cast<uint16_t>(std::ldexp(fraction, 11) - 1024);
  return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | bits);
}

double FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double size = 0;
  if (exponent == 31)
    size = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    size = std::ldexp(fraction, -24);
  else
    size = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

template <class Bits, class Value>
Bits BitsOf(Value value) {
  static_assert(sizeof(Bits) == sizeof(Value));
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T>
T Load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void Store(T value, uint8_t* at) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t extent : dims) count *= extent;
  return count;
}

bool IsReal(deputy_dtype dtype) {
  return dtype == DEPUTY_DTYPE_FLOAT32 || dtype == DEPUTY_DTYPE_FLOAT64 || dtype == DEPUTY_DTYPE_FLOAT16 ||
         dtype == DEPUTY_DTYPE_BFLOAT16;
}

bool IsUnsigned(deputy_dtype dtype) {
  return dtype == DEPUTY_DTYPE_UINT8 || dtype == DEPUTY_DTYPE_UINT16 || dtype == DEPUTY_DTYPE_UINT32 ||
         dtype == DEPUTY_DTYPE_UINT64;
}

int64_t Least(deputy_dtype dtype) {
  if (IsUnsigned(dtype) || dtype == DEPUTY_DTYPE_BOOL) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * BytesOf(dtype));
}

int64_t Most(deputy_dtype dtype) {
  if (dtype == DEPUTY_DTYPE_BOOL) return 1;
  const size_t unused = 64 - 8 * BytesOf(dtype);
  if (IsUnsigned(dtype)) return static_cast<int64_t>(std::numeric_limits<uint64_t>::max() >> unused);
  return std::numeric_limits<int64_t>::max() >> unused;
}

size_t BytesOf(deputy_dtype dtype) {
  switch (dtype) {
    case DEPUTY_DTYPE_UINT8:
    case DEPUTY_DTYPE_INT8:
    case DEPUTY_DTYPE_BOOL: return 1;
    case DEPUTY_DTYPE_UINT16:
    case DEPUTY_DTYPE_INT16:
    case DEPUTY_DTYPE_FLOAT16:
    case DEPUTY_DTYPE_BFLOAT16: return 2;
    case DEPUTY_DTYPE_FLOAT32:
    case DEPUTY_DTYPE_INT32:
    case DEPUTY_DTYPE_UINT32: return 4;
    case DEPUTY_DTYPE_INT64:
    case DEPUTY_DTYPE_UINT64:
    case DEPUTY_DTYPE_FLOAT64: return 8;
    default: return 0;
  }
}

const char* NameOf(deputy_dtype dtype) {
  switch (dtype) {
    case DEPUTY_DTYPE_FLOAT32: return "float32";
    case DEPUTY_DTYPE_UINT8: return "uint8";
    case DEPUTY_DTYPE_INT8: return "int8";
    case DEPUTY_DTYPE_UINT16: return "uint16";
    case DEPUTY_DTYPE_INT16: return "int16";
    case DEPUTY_DTYPE_INT32: return "int32";
    case DEPUTY_DTYPE_INT64: return "int64";
    case DEPUTY_DTYPE_STRING: return "string";
    case DEPUTY_DTYPE_BOOL: return "bool";
    case DEPUTY_DTYPE_FLOAT16: return "float16";
    case DEPUTY_DTYPE_FLOAT64: return "float64";
    case DEPUTY_DTYPE_UINT32: return "uint32";
    case DEPUTY_DTYPE_UINT64: return "uint64";
    case DEPUTY_DTYPE_BFLOAT16: return "bfloat16";
    default: return "undefined";
  }
}

Tensor::Tensor(deputy_dtype type, Dims extents) : dtype(type), dims(std::move(extents)) {
  if (IsReal(dtype))
    real.assign(static_cast<size_t>(count()), 0.0);
  else
    whole.assign(static_cast<size_t>(count()), 0);
}

double Tensor::Get(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  if (IsReal(dtype)) return real[at];
  return dtype == DEPUTY_DTYPE_UINT64 ? static_cast<double>(static_cast<uint64_t>(whole[at]))
                                      : static_cast<double>(whole[at]);
}

void Tensor::Put(int64_t i, double value) {
  if (IsReal(dtype))
    real[static_cast<size_t>(i)] = Round(dtype, value);
  else
    whole[static_cast<size_t>(i)] =
        dtype == DEPUTY_DTYPE_BOOL ? static_cast<int64_t>(value != 0) : Wrap(dtype, static_cast<int64_t>(value));
}

void Tensor::Put(int64_t i, int64_t value) {
  if (IsReal(dtype))
    real[static_cast<size_t>(i)] = Round(dtype, static_cast<double>(value));
  else
    whole[static_cast<size_t>(i)] = Wrap(dtype, value);
}

void Tensor::Copy(int64_t i, const Tensor& source, int64_t from) {
  if (IsReal(dtype))
    real[static_cast<size_t>(i)] = source.real[static_cast<size_t>(from)];
  else
    whole[static_cast<size_t>(i)] = source.whole[static_cast<size_t>(from)];
}

bool Less(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  const auto left = static_cast<size_t>(i), right = static_cast<size_t>(j);
  if (IsReal(a.dtype)) return a.real[left] < b.real[right];
  if (a.dtype == DEPUTY_DTYPE_UINT64)
    return static_cast<uint64_t>(a.whole[left]) < static_cast<uint64_t>(b.whole[right]);
  return a.whole[left] < b.whole[right];
}

bool Same(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  const auto left = static_cast<size_t>(i), right = static_cast<size_t>(j);
  return IsReal(a.dtype) ? a.real[left] == b.real[right] : a.whole[left] == b.whole[right];
}

bool IsNaN(const Tensor& tensor, int64_t i) {
  return IsReal(tensor.dtype) && std::isnan(tensor.real[static_cast<size_t>(i)]);
}

double Round(deputy_dtype dtype, double value) {
  switch (dtype) {
    case DEPUTY_DTYPE_FLOAT32: return static_cast<double>(static_cast<float>(value));
    case DEPUTY_DTYPE_FLOAT16: return RoundTo(value, 10, -14, kLargestHalf);
    case DEPUTY_DTYPE_BFLOAT16: return RoundTo(value, 7, -126, kLargestBFloat);
    default: return value;
  }
}

int64_t Wrap(deputy_dtype dtype, int64_t value) {
  switch (dtype) {
    case DEPUTY_DTYPE_UINT8: return static_cast<uint8_t>(value);
    case DEPUTY_DTYPE_INT8: return static_cast<int8_t>(value);
    case DEPUTY_DTYPE_UINT16: return static_cast<uint16_t>(value);
    case DEPUTY_DTYPE_INT16: return static_cast<int16_t>(value);
    case DEPUTY_DTYPE_UINT32: return static_cast<uint32_t>(value);
    case DEPUTY_DTYPE_INT32: return static_cast<int32_t>(value);
    case DEPUTY_DTYPE_BOOL: return value != 0 ? 1 : 0;
    default: return value;
  }
}

std::vector<uint8_t> Encode(const Tensor& tensor) {
  const size_t size = BytesOf(tensor.dtype);
  const auto count = static_cast<size_t>(tensor.count());
  std::vector<uint8_t> bytes(count * size);
  for (size_t i = 0; i < count; ++i) {
    uint8_t* at = bytes.data() + i * size;
    switch (tensor.dtype) {
      case DEPUTY_DTYPE_FLOAT32: Store(static_cast<float>(tensor.real[i]), at); break;
      case DEPUTY_DTYPE_FLOAT64: Store(tensor.real[i], at); break;
      case DEPUTY_DTYPE_FLOAT16: Store(HalfBits(tensor.real[i]), at); break;
      case DEPUTY_DTYPE_BFLOAT16: {
        const auto bits = BitsOf<uint32_t>(static_cast<float>(Round(DEPUTY_DTYPE_BFLOAT16, tensor.real[i])));
        Store(static_cast<uint16_t>(bits >> 16), at);
        break;
      }
      default: std::memcpy(at, &tensor.whole[i], size); break;  // little endian: the low bytes come first
    }
  }
  return bytes;
}

Tensor Decode(deputy_dtype dtype, const Dims& dims, const uint8_t* bytes) {
  Tensor tensor(dtype, dims);
  const size_t size = BytesOf(dtype);
  const auto count = static_cast<size_t>(tensor.count());
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* at = bytes + i * size;
    switch (dtype) {
      case DEPUTY_DTYPE_FLOAT32: tensor.real[i] = static_cast<double>(Load<float>(at)); break;
      case DEPUTY_DTYPE_FLOAT64: tensor.real[i] = Load<double>(at); break;
      case DEPUTY_DTYPE_FLOAT16: tensor.real[i] = FromHalf(Load<uint16_t>(at)); break;
      case DEPUTY_DTYPE_BFLOAT16: {
        const uint32_t bits = static_cast<uint32_t>(Load<uint16_t>(at)) << 16;
        tensor.real[i] = static_cast<double>(BitsOf<float>(bits));
        break;
      }
      case DEPUTY_DTYPE_UINT8:
      case DEPUTY_DTYPE_BOOL: tensor.whole[i] = *at; break;
      case DEPUTY_DTYPE_INT8: tensor.whole[i] = Load<int8_t>(at); break;
      case DEPUTY_DTYPE_UINT16: tensor.whole[i] = Load<uint16_t>(at); break;
      case DEPUTY_DTYPE_INT16: tensor.whole[i] = Load<int16_t>(at); break;
      case DEPUTY_DTYPE_UINT32: tensor.whole[i] = Load<uint32_t>(at); break;
      case DEPUTY_DTYPE_INT32: tensor.whole[i] = Load<int32_t>(at); break;
      default: tensor.whole[i] = Load<int64_t>(at); break;
    }
  }
  return tensor;
}

int64_t Flat(const Dims& dims, const Dims& index) {
  int64_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
  return flat;
}

Dims IndexOf(const Dims& dims, int64_t flat) {
  Dims index(dims.size(), 0);
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 0) return index;
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return index;
}

size_t FromFront(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Dims BroadcastDims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t from_back = result.size() - i;
    const int64_t x = from_back <= a.size() ? a[a.size() - from_back] : 1;
    const int64_t y = from_back <= b.size() ? b[b.size() - from_back] : 1;
    result[i] = x == 1 ? y : x;
  }
  return result;
}

int64_t BroadcastFlat(const Dims& shape, const Dims& index) {
  int64_t flat = 0;
  const size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[skip + i]);
  return flat;
}

}  // namespace deputy::conformance::reference
