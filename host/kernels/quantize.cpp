#include "kernels/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "deputy/storage.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

// Elements that are widened or narrowed at a time.
constexpr int64_t kQuantizeBlock = 512;

// A part of one row: its elements begin at `first`, its scales at `scale`, each `step` apart.
struct Piece {
  int64_t first, count, scale, step;
};

template <class F>
void ForEachPiece(const ScaleLayout& layout, ThreadPool& pool, F run) {
  const int64_t inner = layout.inner;
  pool.ParallelFor(layout.outer * layout.extent * inner, kGrainElements, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin / inner, offset = begin % inner;
      const int64_t count = std::min({inner - offset, end - begin, kQuantizeBlock});
      const int64_t scale = row / layout.extent * layout.outer_step +
                            row % layout.extent / layout.block * layout.axis_step + offset * layout.inner_step;
      run(Piece{begin, count, scale, layout.inner_step});
      begin += count;
    }
  });
}

// 8 and 16 bits.
template <class F>
bool DispatchQuantized(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kUint8: f(TypeTag<uint8_t>()); return true;
    case DType::kInt8: f(TypeTag<int8_t>()); return true;
    case DType::kUint16: f(TypeTag<uint16_t>()); return true;
    case DType::kInt16: f(TypeTag<int16_t>()); return true;
    default: return false;
  }
}

// Clamped before rounding, so that the sum with the constant is exact: its unit in the last place is one.
template <class T>
T RoundInto(float value, int32_t zero_point) {
  constexpr float kUnitIsOne = 12582912.0f;  // 1.5 * 2^23
  const float low = static_cast<float>(int32_t{std::numeric_limits<T>::lowest()} - zero_point);
  const float high = static_cast<float>(int32_t{std::numeric_limits<T>::max()} - zero_point);
  value = value > low ? value : low;
  value = value < high ? value : high;
  const float rounded = (value + kUnitIsOne) - kUnitIsOne;
  return static_cast<T>(static_cast<int32_t>(rounded) + zero_point);
}

template <class T>
linalg::ByteRange RangeOf(int32_t zero_point) {
  return {zero_point, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
}

template <class T>
void QuantizePiece(const Piece& piece, const float* from, const float* scales, const T* zero_points, T* to) {
  if (piece.step == 0) {
    const float scale = scales[piece.scale];
    const int32_t zero = zero_points == nullptr ? 0 : int32_t{zero_points[piece.scale]};
    if constexpr (sizeof(T) == 1)
      return linalg::Quantize(from, piece.count, scale, RangeOf<T>(zero), reinterpret_cast<uint8_t*>(to));
    for (int64_t i = 0; i < piece.count; ++i) to[i] = RoundInto<T>(from[i] / scale, zero);
    return;
  }
  for (int64_t i = 0; i < piece.count; ++i) {
    const int64_t at = piece.scale + i * piece.step;
    to[i] = RoundInto<T>(from[i] / scales[at], zero_points == nullptr ? 0 : int32_t{zero_points[at]});
  }
}

template <class T>
void DequantizePiece(const Piece& piece, const T* from, const float* scales, const T* zero_points, float* to) {
  // The difference of two 32-bit numbers needs more bits.
  using Difference = std::conditional_t<sizeof(T) == 4, int64_t, int32_t>;
  if (piece.step == 0) {
    const float scale = scales[piece.scale];
    const Difference zero = zero_points == nullptr ? 0 : Difference{zero_points[piece.scale]};
    if constexpr (sizeof(T) == 1)
      return linalg::Dequantize(reinterpret_cast<const uint8_t*>(from), piece.count, std::is_signed_v<T>, zero, scale,
                                to);
    for (int64_t i = 0; i < piece.count; ++i) to[i] = static_cast<float>(Difference{from[i]} - zero) * scale;
    return;
  }
  for (int64_t i = 0; i < piece.count; ++i) {
    const int64_t at = piece.scale + i * piece.step;
    const Difference zero = zero_points == nullptr ? 0 : Difference{zero_points[at]};
    to[i] = static_cast<float>(Difference{from[i]} - zero) * scales[at];
  }
}

const char* At(const void* data, int64_t index, DType dtype) {
  return static_cast<const char*>(data) + static_cast<size_t>(index) * SizeOf(dtype);
}
char* At(void* data, int64_t index, DType dtype) {
  return static_cast<char*>(data) + static_cast<size_t>(index) * SizeOf(dtype);
}

// Packed elements share bytes, which two threads must not write.
template <class F>
void ForEachStoragePiece(DType dtype, const ScaleLayout& layout, ThreadPool& pool, F run) {
  if (!IsPacked(dtype)) return ForEachPiece(layout, pool, run);
  ThreadPool alone(1);
  ForEachPiece(layout, alone, run);
}

float StoredAt(DType dtype, const void* data, int64_t index) {
  return data == nullptr ? 0.0f : DecodeStorage(dtype, CodeAt(dtype, data, index));
}

bool DequantizeStorage(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                       const void* zero_points, DType target_type, void* target, ThreadPool& pool) {
  const ConvertFunction narrow = FindConvert(DType::kFloat32, target_type);
  ForEachPiece(layout, pool, [&](const Piece& piece) {
    float wide[kQuantizeBlock];
    for (int64_t i = 0; i < piece.count; ++i) {
      const int64_t at = piece.scale + i * piece.step;
      const float stored = StoredAt(source_type, source, piece.first + i);
      wide[i] = (stored - StoredAt(source_type, zero_points, at)) * scales[at];
    }
    narrow(wide, At(target, piece.first, target_type), piece.count);
  });
  return true;
}

// Covers the range of the elements and zero.
void ChooseScale(const float* x, int64_t count, float& scale, uint8_t& zero_point) {
  // Several independent extremes: with one, each comparison would wait for the previous one.
  constexpr int64_t kLanes = 16;
  float lows[kLanes] = {}, highs[kLanes] = {};
  const auto widen = [&](int64_t lane, float value) {
    lows[lane] = std::min(lows[lane], value);
    highs[lane] = std::max(highs[lane], value);
  };
  InPartsOf(count, 1, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) widen(lane, x[i + lane]);
    for (; i < end; ++i) widen(0, x[i]);
  });
  const float low = *std::min_element(lows, lows + kLanes), high = *std::max_element(highs, highs + kLanes);
  scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(-low / scale);  // NaN for an infinite range
  zero_point = zero > 0 ? static_cast<uint8_t>(std::min(zero, 255.0f)) : uint8_t{0};
}

}  // namespace

bool QuantizeStorage(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                     DType target_type, const void* zero_points, bool saturate, void* target, ThreadPool& pool) {
  if (!IsFloating(source_type) && source_type != DType::kInt32) return false;
  const ConvertFunction widen = FindConvert(source_type, DType::kFloat32);
  const bool whole = IsPacked(target_type) && target_type != DType::kFloat4E2M1;
  const bool is_signed = target_type == DType::kInt4 || target_type == DType::kInt2;
  const float count = std::ldexp(1.0f, static_cast<int>(BitsOf(target_type)));
  const float low = is_signed ? -count / 2 : 0, high = low + count - 1;
  Narrowing how;
  how.saturate = saturate;
  if (IsPacked(target_type)) ClearSpareBits(target_type, layout.outer * layout.extent * layout.inner, target);
  ForEachStoragePiece(target_type, layout, pool, [&](const Piece& piece) {
    float wide[kQuantizeBlock];
    widen(At(source, piece.first, source_type), wide, piece.count);
    for (int64_t i = 0; i < piece.count; ++i) {
      const int64_t at = piece.scale + i * piece.step;
      float value = wide[i] / scales[at];
      if (whole) value = std::nearbyint(value);
      value += StoredAt(target_type, zero_points, at);
      if (whole) value = value > low ? std::min(value, high) : low;  // NaN becomes the lowest
      SetCode(target_type, target, piece.first + i, EncodeStorage(target_type, double{value}, how));
    }
  });
  return true;
}

bool Quantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales, DType target_type,
              const void* zero_points, void* target, ThreadPool& pool) {
  if (!IsFloating(source_type) && source_type != DType::kInt32) return false;
  const ConvertFunction widen = source_type == DType::kFloat32 ? nullptr : FindConvert(source_type, DType::kFloat32);
  return DispatchQuantized(target_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    ForEachPiece(layout, pool, [&](const Piece& piece) {
      float wide[kQuantizeBlock];
      const float* from = reinterpret_cast<const float*>(At(source, piece.first, source_type));
      if (widen != nullptr) {
        widen(from, wide, piece.count);
        from = wide;
      }
      QuantizePiece(piece, from, scales, static_cast<const T*>(zero_points), static_cast<T*>(target) + piece.first);
    });
  });
}

bool Dequantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                const void* zero_points, DType target_type, void* target, ThreadPool& pool) {
  if (!IsFloating(target_type)) return false;
  if (IsStorage(source_type))
    return DequantizeStorage(layout, source_type, source, scales, zero_points, target_type, target, pool);
  const ConvertFunction narrow = target_type == DType::kFloat32 ? nullptr : FindConvert(DType::kFloat32, target_type);
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    ForEachPiece(layout, pool, [&](const Piece& piece) {
      float wide[kQuantizeBlock];
      char* const to = At(target, piece.first, target_type);
      DequantizePiece(piece, static_cast<const T*>(source) + piece.first, scales, static_cast<const T*>(zero_points),
                      narrow == nullptr ? reinterpret_cast<float*>(to) : wide);
      if (narrow != nullptr) narrow(wide, to, piece.count);
    });
  };
  if (source_type != DType::kInt32) return DispatchQuantized(source_type, run);
  run(TypeTag<int32_t>());
  return true;
}

bool SubtractZeroPoints(const ScaleLayout& layout, DType source_type, const void* source, const void* zero_points,
                        int16_t* target, ThreadPool& pool) {
  if (SizeOf(source_type) != 1) return false;
  return DispatchQuantized(source_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* zeros = static_cast<const T*>(zero_points);
    ForEachPiece(layout, pool, [&](const Piece& piece) {
      const T* from = static_cast<const T*>(source) + piece.first;
      int16_t* to = target + piece.first;
      if (zeros == nullptr || piece.step == 0) {
        const int16_t zero = zeros == nullptr ? int16_t{0} : static_cast<int16_t>(zeros[piece.scale]);
        for (int64_t i = 0; i < piece.count; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
      } else {
        for (int64_t i = 0; i < piece.count; ++i)
          to[i] = static_cast<int16_t>(from[i] - zeros[piece.scale + i * piece.step]);
      }
    });
  });
}

void PairUp(int64_t outer, int64_t extent, int64_t inner, const int16_t* source, linalg::Int16Pair* target,
            ThreadPool& pool) {
  const int64_t pairs = (extent + 1) / 2;
  if (inner == 0 || pairs == 0) return;
  uint32_t* const bits = reinterpret_cast<uint32_t*>(target);
  pool.ParallelFor(outer * pairs, kGrainElements / inner + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t pair = i % pairs;
      const int16_t* first = source + (i / pairs * extent + 2 * pair) * inner;
      const int16_t* second = 2 * pair + 1 < extent ? first + inner : nullptr;
      uint32_t* to = bits + i * inner;
      const auto low = [first](int64_t j) { return uint32_t{static_cast<uint16_t>(first[j])}; };
      if (second == nullptr)
        for (int64_t j = 0; j < inner; ++j) to[j] = low(j);
      else
        for (int64_t j = 0; j < inner; ++j) to[j] = low(j) | uint32_t{static_cast<uint16_t>(second[j])} << 16;
    }
  });
}

void PairUpBytes(int64_t outer, int64_t extent, int64_t inner, DType source_type, const void* source,
                 int32_t zero_point, linalg::Int16Pair* target, ThreadPool& pool) {
  const int64_t pairs = (extent + 1) / 2;
  if (inner == 0 || pairs == 0) return;
  const bool is_signed = source_type == DType::kInt8;
  const uint8_t* const bytes = static_cast<const uint8_t*>(source);
  if (inner == 1) {  // neighbours are in pairs already
    pool.ParallelFor(outer, kGrainElements / extent + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int16_t* const to = reinterpret_cast<int16_t*>(target + i * pairs);
        to[2 * pairs - 1] = 0;
        linalg::WidenBytes(bytes + i * extent, extent, is_signed, zero_point, to);
      }
    });
    return;
  }
  int32_t* const bits = reinterpret_cast<int32_t*>(target);
  pool.ParallelFor(outer * pairs, kGrainElements / inner + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t pair = i % pairs;
      const uint8_t* const first = bytes + (i / pairs * extent + 2 * pair) * inner;
      const bool is_pair = 2 * pair + 1 < extent;
      linalg::PairBytes(first, is_pair ? first + inner : first, inner, is_signed, zero_point, bits + i * inner);
      for (int64_t j = 0; j < inner && !is_pair; ++j) bits[i * inner + j] &= 0xffff;
    }
  });
}

void QuadUpRows(DType source_type, const void* source, int64_t rows, int64_t columns, linalg::Int8Quad* target,
                ThreadPool& pool) {
  const int64_t bytes = (columns + 3) / 4 * 4;
  const uint8_t flip = source_type == DType::kInt8 ? 0x80 : 0;
  pool.ParallelFor(rows, kGrainElements / bytes + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* const from = static_cast<const uint8_t*>(source) + i * columns;
      uint8_t* const to = reinterpret_cast<uint8_t*>(target) + i * bytes;
      int64_t j = 0;
      for (; j + 8 <= columns; j += 8) {
        uint64_t eight = 0;
        std::memcpy(&eight, from + j, sizeof eight);
        eight ^= flip * 0x0101010101010101u;
        std::memcpy(to + j, &eight, sizeof eight);
      }
      for (; j < columns; ++j) to[j] = from[j] ^ flip;
      std::fill(to + columns, to + bytes, uint8_t{0});
    }
  });
}

int32_t SplitQuad(const int16_t* integers, int64_t line, int64_t step, std::vector<QuadRest>& rest) {
  int left[4] = {integers[0], integers[1], integers[2], integers[3]};
  int32_t first = 0;
  for (bool is_first = true; is_first || std::any_of(left, left + 4, [](int value) { return value != 0; });
       is_first = false) {
    int8_t part[4];
    const auto take = [&](int most) {
      for (size_t i = 0; i < 4; ++i) part[i] = static_cast<int8_t>(std::clamp(left[i], -most - 1, most));
    };
    take(127);
    if (!std::equal(part, part + 4, left) || !linalg::QuadFits(part)) take(63);
    for (size_t i = 0; i < 4; ++i) left[i] -= part[i];
    int32_t quad = 0;
    std::memcpy(&quad, part, sizeof quad);
    if (is_first)
      first = quad;
    else
      rest.push_back({line, step, quad});
  }
  return first;
}

void QuadUp(const QuadPlanes& planes, DType source_type, const void* source, linalg::Int8Quad* target,
            ThreadPool& pool) {
  const size_t axes = planes.padding.size(), last = axes - 1;
  int64_t in_size = 1, padded_size = 1;
  for (size_t i = 0; i < axes; ++i) {
    in_size *= planes.in[i];
    padded_size *= planes.padded(i);
  }
  const bool is_padded = padded_size != in_size;
  const WindowAxis& across = planes.padding[last];
  const int64_t width = is_padded ? planes.in[last] : in_size,
                rows = padded_size / (is_padded ? planes.padded(last) : in_size);
  const uint8_t flip = source_type == DType::kInt8 ? 0x80 : 0;
  const int32_t fill = static_cast<int32_t>(planes.padded_with * 0x01010101u);
  // Of a row of the padded plane the number in the plane; -1 for padding.
  const auto row_of = [&](int64_t row) {
    int64_t found = 0, step = 1;
    for (size_t i = last; i-- > 0; row /= planes.padded(i), step *= planes.in[i]) {
      const int64_t at = row % planes.padded(i) - planes.padding[i].pad_begin;
      if (at < 0 || at >= planes.in[i]) return int64_t{-1};
      found += at * step;
    }
    return found;
  };
  const int64_t quads = planes.quads();
  pool.ParallelFor(planes.outer * quads, kGrainElements / padded_size + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* channels[4];
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t channel = i / quads * planes.channels + std::min(i % quads * 4 + j, planes.channels - 1);
        channels[j] = static_cast<const uint8_t*>(source) + channel * in_size;
      }
      int32_t* to = reinterpret_cast<int32_t*>(target) + i * padded_size;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t from = is_padded ? row_of(row) : 0;
        const int64_t before = !is_padded ? 0 : from < 0 ? planes.padded(last) : across.pad_begin;
        to = std::fill_n(to, before, fill);
        if (from < 0) continue;
        const uint8_t* const own[4] = {channels[0] + from * width, channels[1] + from * width,
                                       channels[2] + from * width, channels[3] + from * width};
        linalg::QuadBytes(own, width, flip, to);
        to = std::fill_n(to + width, is_padded ? across.pad_end : 0, fill);
      }
    }
  });
}

template <class Sum>
bool Requantize(const ScaleLayout& layout, const Sum* sums, const float* multipliers, DType target_type,
                const void* zero_point, void* target, ThreadPool& pool) {
  return DispatchQuantized(target_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const int32_t zero = zero_point == nullptr ? 0 : int32_t{*static_cast<const T*>(zero_point)};
    ForEachPiece(layout, pool, [&](const Piece& piece) {
      T* to = static_cast<T*>(target) + piece.first;
      if constexpr (sizeof(T) == 1)
        return linalg::Requantize(sums + piece.first, piece.count, multipliers + piece.scale, piece.step,
                                  RangeOf<T>(zero), reinterpret_cast<uint8_t*>(to));
      for (int64_t i = 0; i < piece.count; ++i)
        to[i] =
            RoundInto<T>(static_cast<float>(sums[piece.first + i]) * multipliers[piece.scale + i * piece.step], zero);
    });
  });
}

template bool Requantize(const ScaleLayout&, const int32_t*, const float*, DType, const void*, void*, ThreadPool&);
template bool Requantize(const ScaleLayout&, const float*, const float*, DType, const void*, void*, ThreadPool&);

void QuantizeDynamically(const float* source, int64_t count, uint8_t* target, float& scale, uint8_t& zero_point,
                         ThreadPool& pool) {
  ChooseScale(source, count, scale, zero_point);
  const ScaleLayout layout{1, 1, count, 0, 1, 0, 0};
  Quantize(layout, DType::kFloat32, source, &scale, DType::kUint8, &zero_point, target, pool);
}

void RoundDynamically(const float* source, int64_t count, float* target) {
  float scale = 1;
  uint8_t zero_point = 0;
  ChooseScale(source, count, scale, zero_point);
  const float zero = zero_point;
  for (int64_t i = 0; i < count; ++i) {
    const float steps = std::nearbyint(source[i] / scale) + zero;
    target[i] = ((steps > 0 ? std::min(steps, 255.0f) : 0.0f) - zero) * scale;
  }
}

void ScaleSums(const int32_t* sums, const float* multipliers, const float* bias, int64_t count, float* target) {
  if (bias == nullptr)
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<float>(sums[i]) * multipliers[i];
  else
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<float>(sums[i]) * multipliers[i] + bias[i];
}

}  // namespace deputy::host
