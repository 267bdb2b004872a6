// Conversion between real numbers and quantized integers: integer = round(real / scale) + zero point. Halves are
// rounded to even, and values out of range become the nearest integer of the type; NaN becomes the lowest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/linalg/rows.hpp"
#include "tensor/scale_layout.hpp"
#include "tensor/window.hpp"

namespace deputy::host {

// Zero points have the quantized type; null means zeros. Reals are of any floating point type or int32; quantized types
// are the integers of 8 and 16 bits. False, with nothing written, for other types.
bool Quantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales, DType target_type,
              const void* zero_points, void* target, ThreadPool& pool);

// The same for storage types: floats of 8 and 4 bits become the nearest value to real / scale + zero point.
bool QuantizeStorage(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                     DType target_type, const void* zero_points, bool saturate, void* target, ThreadPool& pool);

// To uint8, with a scale and a zero point that cover the range of the elements and zero.
void QuantizeDynamically(const float* source, int64_t count, uint8_t* target, float& scale, uint8_t& zero_point,
                         ThreadPool& pool);

// Quantizes as QuantizeDynamically and dequantizes. `target` may be `source`.
void RoundDynamically(const float* source, int64_t count, float* target);

// real = (integer - zero point) * scale, rounded to the target's type; also from int32 and from storage types.
bool Dequantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                const void* zero_points, DType target_type, void* target, ThreadPool& pool);

// target = integer - zero point, exactly. Integers of 8 bits.
bool SubtractZeroPoints(const ScaleLayout& layout, DType source_type, const void* source, const void* zero_points,
                        int16_t* target, ThreadPool& pool);

// Pairs of neighbours along the middle of [outer, extent, inner]: [outer, ceil(extent / 2), inner]. The last of an odd
// extent is paired with zero. `target` is aligned for int32.
void PairUp(int64_t outer, int64_t extent, int64_t inner, const int16_t* source, linalg::Int16Pair* target,
            ThreadPool& pool);

// The same, from 8-bit integers less one zero point, in one pass.
void PairUpBytes(int64_t outer, int64_t extent, int64_t inner, DType source_type, const void* source,
                 int32_t zero_point, linalg::Int16Pair* target, ThreadPool& pool);

// Planes [outer, channels, in...] of 8-bit integers as quads of neighbouring channels, [outer, ceil(channels / 4),
// padded...]; the bytes of missing channels have any value. int8 becomes uint8 by adding 128.
struct QuadPlanes {
  int64_t outer = 0, channels = 0;
  SpatialDims in = {};
  std::span<const WindowAxis> padding;  // per axis; its numbers besides the padding are not used
  uint8_t padded_with = 0;              // after adding

  int64_t quads() const { return (channels + 3) / 4; }
  int64_t padded(size_t axis) const { return padding[axis].pad_begin + in[axis] + padding[axis].pad_end; }
};
void QuadUp(const QuadPlanes& planes, DType source_type, const void* source, linalg::Int8Quad* target,
            ThreadPool& pool);

// Rows of 8-bit integers as quads of neighbours, each row as ceil(columns / 4); the last is filled up with any values.
void QuadUpRows(DType source_type, const void* source, int64_t rows, int64_t columns, linalg::Int8Quad* target,
                ThreadPool& pool);

// A part of a signed factor beside its quads: of the row or column `line`, at `step` along the summed axis.
struct QuadRest {
  int64_t line = 0, step = 0;
  int32_t quad = 0;
};

// The quad of four integers of [-255, 255], which fits (linalg::QuadFits). What it leaves is added to `rest`.
int32_t SplitQuad(const int16_t* integers, int64_t line, int64_t step, std::vector<QuadRest>& rest);
// Whether that is at most one of `each` quads, so that adding all of it takes little time beside the product.
inline bool IsLittle(const std::vector<QuadRest>& rest, int64_t quads, int64_t each) {
  return static_cast<int64_t>(rest.size()) * each <= quads;
}

// target = round(sum * multiplier) + zero point, with one zero point. Sums are int32 or, where that is exact, float.
template <class T>
bool Requantize(const ScaleLayout& layout, const T* sums, const float* multipliers, DType target_type,
                const void* zero_point, void* target, ThreadPool& pool);

// target = sum * multiplier + bias; bias may be null.
void ScaleSums(const int32_t* sums, const float* multipliers, const float* bias, int64_t count, float* target);

// Functions of quantized 8-bit integers use tables of all 256 values: a function of one operand is a table, and a sum
// or product of two operands combines an entry of two tables. The quantization of a tensor: real = (integer - zero
// point) * scale. int8 or uint8.
struct QuantizedRange {
  DType dtype = DType::kUint8;
  float scale = 1;
  int32_t zero_point = 0;

  // The integer with these bits, and the real number that it represents.
  int32_t IntegerOf(uint8_t bits) const {
    return dtype == DType::kInt8 ? int32_t{static_cast<int8_t>(bits)} : int32_t{bits};
  }
  float RealOf(uint8_t bits) const { return static_cast<float>(IntegerOf(bits) - zero_point) * scale; }
  linalg::ByteRange bytes() const {
    return dtype == DType::kInt8 ? linalg::ByteRange{zero_point, -128, 127} : linalg::ByteRange{zero_point, 0, 255};
  }
  // The bits of the nearest representable number; halves are rounded to even, NaN to the lowest.
  uint8_t BitsOf(float real) const;
};

using QuantizedTable = std::array<uint8_t, 256>;  // by the bits of the operand

// fn: float(float)
template <class F>
QuantizedTable TableOf(const QuantizedRange& from, const QuantizedRange& to, F fn) {
  QuantizedTable table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = to.BitsOf(fn(from.RealOf(static_cast<uint8_t>(i))));
  return table;
}

// target[i] = table[source[i]]; both may be the same memory.
void Map(const QuantizedTable& table, const uint8_t* source, uint8_t* target, int64_t count, ThreadPool& pool);

// The function of the real numbers of both, quantized.
void CombineQuantized(linalg::PairFunction function, const BroadcastPlan<2>& plan, const QuantizedRange& a_range,
                      const uint8_t* a, const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range,
                      uint8_t* c, ThreadPool& pool);

// The sum or the product of the real numbers of both, as QLinearAdd and QLinearMul define them: halves are rounded to
// the even integer, not to an even distance from the zero point.
void AddQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                  const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                  ThreadPool& pool);
void MultiplyQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                       const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                       ThreadPool& pool);

}  // namespace deputy::host
