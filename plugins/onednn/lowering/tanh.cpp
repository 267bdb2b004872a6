#include "lowering/tanh.hpp"

#include <algorithm>
#include <cstring>

#include "lowering/vectors.hpp"

namespace onednn {
namespace {

// kLanes numbers: tanh(a) = e / (e + 2) with e = exp(2a) - 1, for a = |x|, so that no digits are lost where x is small.
// With 2a = n * ln 2 + r, e = 2^n * (exp(r) - 1) + (2^n - 1), and exp(r) - 1 is the start of its series: |r| is at most
// 0.35. Magnitudes are compared by their bits.
inline __attribute__((always_inline)) void ComputeLanes(const float* x, float* y) {
  constexpr float kPerLn2 = 1.44269504f, kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to a whole number
  constexpr int32_t kOne = 0x41180000, kInfinity = 0x7f800000;  // from 9.5 on the result is 1
  Ints bits;
  std::memcpy(&bits, x, sizeof bits);
  const Ints magnitude = bits & 0x7fffffff, sign = bits ^ magnitude;
  const Ints bounded = magnitude < kOne ? magnitude : kOne - Ints{};
  Floats a;
  std::memcpy(&a, &bounded, sizeof a);
  const Floats twice = 2 * a, n = (twice * kPerLn2 + kRound) - kRound;
  const Floats r = (twice - n * kLn2High) - n * kLn2Low;
  Floats series = r * (1.0f / 40320) + 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = r + r * r * series;
  const Ints exponent = (__builtin_convertvector(n, Ints) + 127) << 23;
  Floats power;
  std::memcpy(&power, &exponent, sizeof power);
  const Floats e = power * series + (power - 1), result = e / (e + 2);
  Ints made;
  std::memcpy(&made, &result, sizeof made);
  made = magnitude > kInfinity ? bits : made | sign;
  std::memcpy(y, &made, sizeof made);
}

inline __attribute__((always_inline)) void ComputeLoop(const float* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) ComputeLanes(x + i, y + i);
  if (i == count) return;
  float rest[kLanes] = {};
  std::copy(x + i, x + count, rest);
  ComputeLanes(rest, rest);
  std::copy(rest, rest + (count - i), y + i);
}

void ComputePortably(const float* x, float* y, int64_t count) { ComputeLoop(x, y, count); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void ComputeWide(const float* x, float* y, int64_t count) {
  ComputeLoop(x, y, count);
}
bool HasWide() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
void ComputeWide(const float* x, float* y, int64_t count) { ComputeLoop(x, y, count); }
bool HasWide() { return false; }
#endif

}  // namespace

void ComputeTanh(const float* x, float* y, int64_t count) {
  const auto compute = HasWide() ? ComputeWide : ComputePortably;
  constexpr int64_t kPiece = 1 << 13;
#pragma omp parallel for if (count > 4 * kPiece)
  for (int64_t first = 0; first < count; first += kPiece)
    compute(x + first, y + first, std::min(kPiece, count - first));
}

}  // namespace onednn
