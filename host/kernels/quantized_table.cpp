#include <algorithm>
#include <limits>

#include "kernels/grain.hpp"
#include "kernels/quantize.hpp"

namespace deputy::host {
namespace {

// Clamped before rounding, so that the sum with the constant is exact: its unit in the last place is one.
int32_t RoundWithin(float value, float low, float high) {
  constexpr float kUnitIsOne = 12582912.0f;  // 1.5 * 2^23
  value = value > low ? value : low;
  value = value < high ? value : high;
  return static_cast<int32_t>((value + kUnitIsOne) - kUnitIsOne);
}

struct Bounds {
  float low, high;

  explicit Bounds(const QuantizedRange& range)
      : low(static_cast<float>((range.dtype == DType::kInt8 ? -128 : 0) - range.zero_point)), high(low + 255) {}
};

// One run; steps are 0 or 1 and compile-time constants, so that the loop becomes vector code.
template <class T, int kFirstStep, int kSecondStep, class F>
void CombineRun(const T* a, const T* b, int64_t count, const QuantizedRange& range, const F& fn, T* c) {
  const float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const auto zero = static_cast<float>(range.zero_point);
  for (int64_t i = 0; i < count; ++i) {
    const float value = fn(static_cast<float>(a[i * kFirstStep]), static_cast<float>(b[i * kSecondStep]));
    c[i] = static_cast<T>(RoundWithin(value + zero, low, high));
  }
}

// fn: float(float, float), from both integers to the result before rounding: as in ONNX Runtime, halves are rounded to
// the even integer, not to an even distance from the zero point.
template <class T, class F>
void Combine(const BroadcastPlan<2>& plan, const uint8_t* a, const uint8_t* b, const QuantizedRange& range, uint8_t* c,
             ThreadPool& pool, const F& fn) {
  const bool first_moves = plan.inner_stride(0) != 0, second_moves = plan.inner_stride(1) != 0;
  const auto run = first_moves ? (second_moves ? CombineRun<T, 1, 1, F> : CombineRun<T, 1, 0, F>)
                               : (second_moves ? CombineRun<T, 0, 1, F> : CombineRun<T, 0, 0, F>);
  const T *const first = reinterpret_cast<const T*>(a), *const second = reinterpret_cast<const T*>(b);
  pool.ParallelFor(plan.count, kGrainElements, [&](int64_t begin, int64_t end) {
    ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 2>& offsets, int64_t count) {
      run(first + offsets[0], second + offsets[1], count, range, fn, reinterpret_cast<T*>(c) + at);
    });
  });
}

template <class F>
void CombineTyped(const BroadcastPlan<2>& plan, const uint8_t* a, const uint8_t* b, const QuantizedRange& range,
                  uint8_t* c, ThreadPool& pool, const F& fn) {
  if (range.dtype == DType::kInt8)
    Combine<int8_t>(plan, a, b, range, c, pool, fn);
  else
    Combine<uint8_t>(plan, a, b, range, c, pool, fn);
}

}  // namespace

uint8_t QuantizedRange::BitsOf(float real) const {
  const Bounds bounds(*this);
  return static_cast<uint8_t>(RoundWithin(real / scale, bounds.low, bounds.high) + zero_point);
}

void Map(const QuantizedTable& table, const uint8_t* source, uint8_t* target, int64_t count, ThreadPool& pool) {
  pool.ParallelFor(count, kGrainElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) target[i] = table[source[i]];
  });
}

void CombineQuantized(linalg::PairFunction function, const BroadcastPlan<2>& plan, const QuantizedRange& a_range,
                      const uint8_t* a, const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range,
                      uint8_t* c, ThreadPool& pool) {
  const int64_t a_step = plan.inner_stride(0) != 0 ? 1 : 0, b_step = plan.inner_stride(1) != 0 ? 1 : 0;
  pool.ParallelFor(plan.count, kGrainElements, [&](int64_t begin, int64_t end) {
    ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 2>& offsets, int64_t count) {
      constexpr int64_t kBlock = 512;
      float x[kBlock], y[kBlock], z[kBlock];
      for (int64_t i = 0; i < count; i += kBlock) {
        const int64_t block = std::min(kBlock, count - i);
        linalg::Dequantize(a + offsets[0] + i * a_step, a_step == 0 ? 1 : block, a_range.dtype == DType::kInt8,
                           a_range.zero_point, a_range.scale, x);
        linalg::Dequantize(b + offsets[1] + i * b_step, b_step == 0 ? 1 : block, b_range.dtype == DType::kInt8,
                           b_range.zero_point, b_range.scale, y);
        linalg::Apply(function, x, a_step, y, b_step, block, z);
        linalg::Quantize(z, block, c_range.scale, c_range.bytes(), c + at + i);
      }
    });
  });
}

void AddQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                  const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                  ThreadPool& pool) {
  const float x_steps = a_range.scale / c_range.scale, y_steps = b_range.scale / c_range.scale;
  const float x_zero = static_cast<float>(a_range.zero_point), y_zero = static_cast<float>(b_range.zero_point);
  CombineTyped(plan, a, b, c_range, c, pool,
               [=](float x, float y) { return (x - x_zero) * x_steps + (y - y_zero) * y_steps; });
}

void MultiplyQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                       const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                       ThreadPool& pool) {
  const float steps = a_range.scale * b_range.scale / c_range.scale;
  const float x_zero = static_cast<float>(a_range.zero_point), y_zero = static_cast<float>(b_range.zero_point);
  CombineTyped(plan, a, b, c_range, c, pool, [=](float x, float y) { return (x - x_zero) * (y - y_zero) * steps; });
}

}  // namespace deputy::host
