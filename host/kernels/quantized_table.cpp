#include "kernels/quantized_table.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrain = 16 << 10;

// Clamped before it is rounded, so that the sum with the constant is exact: its unit in the last place is one.
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

// What each operand stands for, in steps of the result.
std::array<float, 256> StepsOf(const QuantizedRange& range, float step) {
  std::array<float, 256> steps;
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = range.RealOf(static_cast<uint8_t>(i)) / step;
  return steps;
}

template <class F>
void Combine(const BroadcastPlan<2>& plan, const std::array<float, 256>& a_steps, const uint8_t* a,
             const std::array<float, 256>& b_steps, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
             ThreadPool& pool, F fn) {
  const Bounds bounds(c_range);
  const int64_t a_step = plan.inner_stride(0), b_step = plan.inner_stride(1);
  pool.ParallelFor(plan.count, kGrain, [&](int64_t begin, int64_t end) {
    ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 2>& offsets, int64_t count) {
      const uint8_t *const x = a + offsets[0], *const y = b + offsets[1];
      for (int64_t i = 0; i < count; ++i)
        c[at + i] = static_cast<uint8_t>(
            RoundWithin(fn(a_steps[x[i * a_step]], b_steps[y[i * b_step]]), bounds.low, bounds.high) +
            c_range.zero_point);
    });
  });
}

}  // namespace

uint8_t QuantizedRange::BitsOf(float real) const {
  const Bounds bounds(*this);
  return static_cast<uint8_t>(RoundWithin(real / scale, bounds.low, bounds.high) + zero_point);
}

void Map(const QuantizedTable& table, const uint8_t* source, uint8_t* target, int64_t count, ThreadPool& pool) {
  pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) target[i] = table[source[i]];
  });
}

void AddQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                  const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                  ThreadPool& pool) {
  Combine(plan, StepsOf(a_range, c_range.scale), a, StepsOf(b_range, c_range.scale), b, c_range, c, pool,
          [](float x, float y) { return x + y; });
}

void MultiplyQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                       const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                       ThreadPool& pool) {
  Combine(plan, StepsOf(a_range, c_range.scale), a, StepsOf(b_range, 1), b, c_range, c, pool,
          [](float x, float y) { return x * y; });
}

}  // namespace deputy::host
