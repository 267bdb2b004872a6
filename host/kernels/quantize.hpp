// Conversion between real numbers and quantized integers: integer = round(real / scale) + zero point. Halves are
// rounded to even, and values out of range become the nearest integer of the type; NaN becomes the lowest.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/linalg/linalg.hpp"
#include "tensor/scale_layout.hpp"

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

// target = round(sum * multiplier) + zero point, with one zero point.
bool Requantize(const ScaleLayout& layout, const int32_t* sums, const float* multipliers, DType target_type,
                const void* zero_point, void* target, ThreadPool& pool);

// target = sum * multiplier + bias; bias may be null.
void ScaleSums(const int32_t* sums, const float* multipliers, const float* bias, int64_t count, float* target);

}  // namespace deputy::host
