// Conversions: one loop for each pair of element types; storage types through double or int64.
#include "kernels/cast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/cancellation.hpp"
#include "deputy/storage.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "kernels/linalg/rows.hpp"

namespace deputy::host {
namespace {

template <class T>
constexpr bool kIsFloat16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class Source, class Target>
Target ConvertOne(Source value) {
  if constexpr (std::is_same_v<Source, Target>) {
    return value;
  } else if constexpr (kIsFloat16<Source>) {
    return ConvertOne<float, Target>(ToFloat(value));
  } else if constexpr (std::is_same_v<Target, Half>) {
    if constexpr (std::is_same_v<Source, double>)
      return ToHalf(value);
    else
      return ToHalf(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Target, BFloat16>) {
    if constexpr (std::is_same_v<Source, double>)
      return ToBFloat16(value);
    else
      return ToBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Target, bool>) {
    return value != Source{};
  } else if constexpr (std::is_floating_point_v<Source> && std::is_integral_v<Target>) {
    return SaturateCast<Target>(value);
  } else {
    return static_cast<Target>(value);
  }
}

// False if the machine has no instruction for the conversion.
template <class Source, class Target>
bool ConvertByInstruction(const void* source, void* target, int64_t count) {
  if constexpr (std::is_same_v<Source, Half> && std::is_same_v<Target, float>)
    return linalg::WidenHalves(static_cast<const uint16_t*>(source), count, static_cast<float*>(target));
  else if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, Half>)
    return linalg::NarrowToHalves(static_cast<const float*>(source), count, static_cast<uint16_t*>(target));
  else
    return false;
}

template <class Source, class Target>
void Convert(const void* source, void* target, int64_t count) {
  if constexpr (std::is_same_v<Source, Target>) {
    if (count > 0) std::memcpy(target, source, static_cast<size_t>(count) * sizeof(Source));
  } else if constexpr (std::is_same_v<Source, bool>) {
    // Read as bytes: a byte that is neither 0 nor 1 in a bool would be undefined behaviour.
    const uint8_t* from = static_cast<const uint8_t*>(source);
    Target* to = static_cast<Target*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = ConvertOne<uint8_t, Target>(from[i] != 0 ? 1 : 0);
  } else {
    if (ConvertByInstruction<Source, Target>(source, target, count)) return;
    const Source* from = static_cast<const Source*>(source);
    Target* to = static_cast<Target*>(target);
    if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, int32_t>)
      return linalg::Truncate(from, count, to);
    for (int64_t i = 0; i < count; ++i) to[i] = ConvertOne<Source, Target>(from[i]);
  }
}

// Elements that are widened at a time; a number of whole bytes for any packed type.
constexpr int64_t kCastBlock = 256;

// The absolute values of a signed float type of up to 8 bits, ascending, which is the order of their codes.
struct Sizes {
  std::array<float, 128> of{};
  int count = 0;  // finite ones
};

Sizes SizesOf(DType dtype) {
  Sizes sizes;
  const int most = dtype == DType::kFloat4E2M1 ? 8 : 128;
  while (sizes.count < most) {
    const float size = DecodeStorage(dtype, static_cast<uint8_t>(sizes.count));
    if (!std::isfinite(size)) break;
    sizes.of[static_cast<size_t>(sizes.count++)] = size;
  }
  return sizes;
}

const Sizes& KnownSizes(DType dtype) {
  static const std::array<Sizes, 5> known = {SizesOf(DType::kFloat8E4M3FN), SizesOf(DType::kFloat8E4M3FNUZ),
                                             SizesOf(DType::kFloat8E5M2), SizesOf(DType::kFloat8E5M2FNUZ),
                                             SizesOf(DType::kFloat4E2M1)};
  if (dtype == DType::kFloat4E2M1) return known[4];
  return known[static_cast<size_t>(dtype) - static_cast<size_t>(DType::kFloat8E4M3FN)];
}

uint8_t EncodeFloat(DType dtype, double value, bool saturate) {
  const bool four = dtype == DType::kFloat4E2M1,
             one_zero = dtype == DType::kFloat8E4M3FNUZ || dtype == DType::kFloat8E5M2FNUZ;
  const unsigned sign = std::signbit(value) ? (four ? 0x8U : 0x80U) : 0U;
  const unsigned nan = one_zero ? 0x80U : 0x7fU;
  if (std::isnan(value)) return static_cast<uint8_t>(four ? 0 : one_zero ? nan : nan | sign);
  const Sizes& sizes = KnownSizes(dtype);
  const double size = std::abs(value);
  const auto begin = sizes.of.begin(), end = begin + sizes.count;
  auto above = std::lower_bound(begin, end, size, [](float a, double b) { return a < b; });
  unsigned code = 0;
  if (above == end) {
    // Above the largest: values up to half a step still round to it, and half a step does if its code is even.
    const double largest = *(end - 1), half = largest + (largest - *(end - 2)) / 2;
    const bool rounds_down = size < half || (size == half && sizes.count % 2 == 1);
    if (!rounds_down && !saturate && !four) {
      if (dtype == DType::kFloat8E5M2) return static_cast<uint8_t>(0x7cU | sign);
      return static_cast<uint8_t>(one_zero ? nan : nan | sign);
    }
    code = static_cast<unsigned>(sizes.count - 1);
  } else {
    code = static_cast<unsigned>(above - begin);
    if (code != 0 && *above != size) {
      const double up = *above - size, down = size - *(above - 1);
      if (down < up || (down == up && code % 2 == 1)) --code;
    }
  }
  if (code == 0 && one_zero) return 0;  // 0x80 is NaN in these types
  return static_cast<uint8_t>(code | sign);
}

// By the table of Cast-25. What is out of range is so before it is rounded, in every mode; of negative numbers, which
// ONNX leaves undefined, the magnitude is encoded.
uint8_t EncodeScale(double value, const Narrowing& how) {
  constexpr double kLeast = 0x1p-127, kMost = 0x1p127;
  constexpr uint8_t kNan = 0xff;
  if (std::isnan(value)) return kNan;
  const double size = std::abs(value);
  if (size < kLeast) return how.saturate ? 0 : kNan;
  if (size > kMost) return how.saturate ? 0xfe : kNan;
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  int power = exponent - 1;
  if (fraction != 0.5) {
    const bool up = how.scale == Narrowing::Scale::kUp || (how.scale == Narrowing::Scale::kNearest && fraction >= 0.75);
    if (up) ++power;
  }
  return static_cast<uint8_t>(power + 127);
}

bool IsSmallInteger(DType dtype) { return IsPacked(dtype) && dtype != DType::kFloat4E2M1; }

bool IsWhole(DType dtype) { return IsStorage(dtype) ? IsSmallInteger(dtype) : !IsFloating(dtype); }

uint8_t Encode(DType dtype, double value, const Narrowing& how) { return EncodeStorage(dtype, value, how); }
uint8_t Encode(DType dtype, int64_t value, const Narrowing&) {
  return static_cast<uint8_t>(static_cast<uint64_t>(value) & ((1U << BitsOf(dtype)) - 1));
}

struct Conversion {
  DType source_type;
  const void* source;
  DType target_type;
  void* target;
  int64_t count;
};

template <class Wide>
bool CastThrough(DType wide_type, const Conversion& cast, const Narrowing& how, ThreadPool& pool) {
  const DType source_type = cast.source_type, target_type = cast.target_type;
  const ConvertFunction widen = IsStorage(source_type) ? nullptr : FindConvert(source_type, wide_type);
  const ConvertFunction narrow = IsStorage(target_type) ? nullptr : FindConvert(wide_type, target_type);
  if (!IsStorage(source_type) && widen == nullptr) return false;
  if (!IsStorage(target_type) && narrow == nullptr) return false;
  if (IsPacked(target_type)) ClearSpareBits(target_type, cast.count, cast.target);
  const auto convert = [&](int64_t begin, int64_t end) {
    Wide wide[kCastBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kCastBlock, length = std::min(kCastBlock, cast.count - first);
      if (widen != nullptr)
        widen(static_cast<const char*>(cast.source) + static_cast<size_t>(first) * SizeOf(source_type), wide, length);
      else
        for (int64_t i = 0; i < length; ++i)
          wide[i] = static_cast<Wide>(DecodeStorage(source_type, CodeAt(source_type, cast.source, first + i)));
      if (narrow != nullptr)
        narrow(wide, static_cast<char*>(cast.target) + static_cast<size_t>(first) * SizeOf(target_type), length);
      else
        for (int64_t i = 0; i < length; ++i)
          SetCode(target_type, cast.target, first + i, Encode(target_type, wide[i], how));
    }
  };
  pool.ParallelFor((cast.count + kCastBlock - 1) / kCastBlock, 16, convert);
  return true;
}

}  // namespace

ConvertFunction FindConvert(DType source, DType target) {
  ConvertFunction found = nullptr;
  DispatchStored(source, [&](auto source_tag) {
    using Source = typename decltype(source_tag)::Type;
    DispatchStored(target, [&](auto target_tag) {
      using Target = typename decltype(target_tag)::Type;
      // Integers that differ in sign alone share a loop where the sign has no part in the result.
      constexpr bool kWhole = std::is_integral_v<Source> && std::is_integral_v<Target>;
      using From = UnsignedIf<kWhole && sizeof(Target) <= sizeof(Source), Source>;
      found = Convert<From, UnsignedIf<kWhole, Target>>;
    });
  });
  return found;
}

bool Cast(DType source_type, const void* source, DType target_type, void* target, int64_t count, ThreadPool& pool) {
  const ConvertFunction convert = FindConvert(source_type, target_type);
  if (convert == nullptr) return false;
  const size_t source_size = SizeOf(source_type), target_size = SizeOf(target_type);
  pool.ParallelFor(count, kGrainElements, [&](int64_t begin, int64_t end) {
    convert(static_cast<const char*>(source) + static_cast<size_t>(begin) * source_size,
            static_cast<char*>(target) + static_cast<size_t>(begin) * target_size, end - begin);
  });
  return true;
}

uint8_t EncodeStorage(DType dtype, double value, const Narrowing& how) {
  if (dtype == DType::kFloat8E8M0) return EncodeScale(value, how);
  if (!IsSmallInteger(dtype)) return EncodeFloat(dtype, value, how.saturate);
  if (std::isnan(value)) return 0;
  constexpr double kLimit = 9223372036854774784.0;  // the largest below 2^63
  const auto whole = static_cast<int64_t>(std::nearbyint(std::clamp(value, -kLimit, kLimit)));
  return static_cast<uint8_t>(static_cast<uint64_t>(whole) & ((1U << BitsOf(dtype)) - 1));
}

bool CastStorage(DType source_type, const void* source, DType target_type, void* target, int64_t count,
                 const Narrowing& how, ThreadPool& pool) {
  if (IsWhole(source_type) && IsWhole(target_type))
    return CastThrough<int64_t>(DType::kInt64, {source_type, source, target_type, target, count}, how, pool);
  return CastThrough<double>(DType::kFloat64, {source_type, source, target_type, target, count}, how, pool);
}

void ClearSpareBits(DType dtype, int64_t count, void* packed) {
  if (count > 0) static_cast<uint8_t*>(packed)[BytesOf(dtype, static_cast<size_t>(count)) - 1] = 0;
}

void Unpack(DType dtype, const void* packed, int64_t count, void* bytes) {
  auto* to = static_cast<uint8_t*>(bytes);
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
  const auto sign = static_cast<uint8_t>(is_signed ? 1U << (BitsOf(dtype) - 1) : 0U);
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t code = CodeAt(dtype, packed, i);
      to[i] = static_cast<uint8_t>((code & ~sign) - (code & sign));
    }
  });
}

void Pack(DType dtype, const void* bytes, int64_t count, void* packed) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  const size_t bits = BitsOf(dtype);
  ZeroInParts(packed, (static_cast<size_t>(count) * bits + 7) / 8);
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) SetCode(dtype, packed, i, from[i]);
  });
}

}  // namespace deputy::host
