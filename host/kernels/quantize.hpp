// Between real numbers and the integers that stand for them: integer = round(real / scale) + zero point. Halves are
// rounded to even, and what is out of range becomes the nearest integer of the type; NaN becomes the lowest.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "tensor/scale_layout.hpp"

namespace deputy::host {

// Zero points have the quantized type; null stands for zeros. Reals are of any floating point type or int32; quantized
// types are the integers of 8 and 16 bits. False, with nothing written, for other types.
bool Quantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales, DType target_type,
              const void* zero_points, void* target, ThreadPool& pool);

// The same for storage types: floats of 8 and 4 bits take the nearest value to real / scale + zero point.
bool QuantizeStorage(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                     DType target_type, const void* zero_points, bool saturate, void* target, ThreadPool& pool);

// real = (integer - zero point) * scale, rounded to the target's type; also from int32 and from storage types.
bool Dequantize(const ScaleLayout& layout, DType source_type, const void* source, const float* scales,
                const void* zero_points, DType target_type, void* target, ThreadPool& pool);

// target = integer - zero point, exactly. Integers of 8 bits.
bool SubtractZeroPoints(const ScaleLayout& layout, DType source_type, const void* source, const void* zero_points,
                        double* target, ThreadPool& pool);

// target = round(sum * multiplier) + zero point, of one zero point. `sums` are integers in doubles.
bool Requantize(const ScaleLayout& layout, const double* sums, const float* multipliers, DType target_type,
                const void* zero_point, void* target, ThreadPool& pool);

}  // namespace deputy::host
