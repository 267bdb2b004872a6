// One loop for each pair of element types.
#include "kernels/cast.hpp"

#include <cstring>
#include <type_traits>

#include "kernels/dispatch.hpp"
#include "kernels/linalg/elements.hpp"
#include "kernels/linalg/halves.hpp"
#include "kernels/saturate.hpp"

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

}  // namespace

ConvertFunction FindConvert(DType source, DType target) {
  ConvertFunction found = nullptr;
  DispatchStored(source, [&](auto source_tag) {
    using Source = typename decltype(source_tag)::Type;
    DispatchStored(target, [&](auto target_tag) {
      using Target = typename decltype(target_tag)::Type;
      found = Convert<Source, Target>;
    });
  });
  return found;
}

bool Cast(DType source_type, const void* source, DType target_type, void* target, int64_t count, ThreadPool& pool) {
  const ConvertFunction convert = FindConvert(source_type, target_type);
  if (convert == nullptr) return false;
  constexpr int64_t kGrain = 16384;
  const size_t source_size = SizeOf(source_type), target_size = SizeOf(target_type);
  pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    convert(static_cast<const char*>(source) + static_cast<size_t>(begin) * source_size,
            static_cast<char*>(target) + static_cast<size_t>(begin) * target_size, end - begin);
  });
  return true;
}

}  // namespace deputy::host
