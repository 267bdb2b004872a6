#include "import/tflite/ops/fixed_point.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace deputy::host::tflite_import {
namespace {

constexpr int32_t kLowestInt16 = -32768, kHighestInt16 = 32767;

int32_t Saturated(int32_t value) { return std::clamp(value, kLowestInt16, kHighestInt16); }

// a * b / 2^15, to nearest, halves away from zero.
int32_t Product(int32_t a, int32_t b) {
  if (a == kLowestInt16 && b == kLowestInt16) return kHighestInt16;
  const int32_t product = a * b;
  return (product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15);
}

// value / 2^bits, to nearest, halves away from zero.
int32_t ShiftedRight(int32_t value, int bits) {
  if (bits == 0) return value;
  const int32_t mask = (1 << bits) - 1, rest = value & mask;
  return (value >> bits) + (rest > (mask >> 1) + (value < 0 ? 1 : 0) ? 1 : 0);
}

// Constants of 31 bits in 15.
int32_t Constant(int32_t value) { return ShiftedRight(value, 16); }

// exp(x) for -1/4 <= x < 0 without bits before the point: an expansion at -1/8.
int32_t ExpNearZero(int32_t x) {
  const int32_t at_eighth = Constant(1895147668), third = Constant(715827883);  // exp(-1/8), 1/3
  const int32_t y = x + (1 << 12);
  const int32_t y2 = Product(y, y), y3 = Product(y2, y), y4 = Product(y2, y2);
  const int32_t rest = ShiftedRight(Product(ShiftedRight(y4, 2) + y3, third) + y2, 1);
  return Saturated(at_eighth + Product(at_eighth, y + rest));
}

// exp(x) for x <= 0: the part that is no multiple of 1/4, then a factor for each bit of the rest.
int32_t ExpOfNegative(int32_t x, int integer_bits) {
  if (x == 0) return kHighestInt16;
  const int fraction_bits = 15 - integer_bits;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t part = (x & (quarter - 1)) - quarter;
  const int32_t rest = part - x;
  int32_t result = ExpNearZero(Saturated(part * (1 << integer_bits)));
  struct Factor {
    int exponent;
    int32_t value;  // exp(-2^exponent)
  };
  constexpr Factor kFactors[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                                 {2, 39332535},    {3, 720401},      {4, 242}};
  for (const Factor& factor : kFactors)
    if (integer_bits > factor.exponent && (rest & (1 << (fraction_bits + factor.exponent))) != 0)
      result = Product(result, Constant(factor.value));
  return result;
}

// 2 / (1 + x) for x in [0, 1], with two bits before the point: three steps of Newton's method from 48/17 - 32/17 d.
int32_t TwiceInverseOfOneMore(int32_t x) {
  const int32_t sum = x + kHighestInt16, half = (sum + (sum >= 0 ? 1 : -1)) / 2;
  int32_t result = Constant(1515870810) + Product(half, Constant(-1010580540));
  for (int step = 0; step < 3; ++step) {
    const int32_t error = (1 << 13) - Product(half, result);
    result += Saturated(Product(result, error) * 4);
  }
  return result;
}

int32_t LogisticOf(int32_t x, int integer_bits) {
  if (x == 0) return 1 << 14;
  const int32_t positive = Saturated(TwiceInverseOfOneMore(ExpOfNegative(-std::abs(x), integer_bits)) * 2);
  return x > 0 ? positive : kHighestInt16 - positive;
}

int32_t TanhOf(int32_t x, int integer_bits) {
  if (x == 0) return 0;
  const int32_t exponential = ExpOfNegative(-std::abs(x), integer_bits + 1);
  const int32_t positive = Saturated((TwiceInverseOfOneMore(exponential) - (1 << 13)) * 4);
  return x > 0 ? positive : -positive;
}

template <class F>
Result<Tensor> TableOf(F function) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor table, Tensor::Allocate(DType::kInt16, {kHighestInt16 - kLowestInt16 + 1}));
  const std::span<int16_t> values = table.mutable_values<int16_t>();
  for (int32_t x = kLowestInt16; x <= kHighestInt16; ++x)
    values[static_cast<size_t>(x - kLowestInt16)] = static_cast<int16_t>(function(std::max(x, -kHighestInt16)));
  return table;
}

}  // namespace

Result<Tensor> LogisticTable(int integer_bits) {
  return TableOf([&](int32_t x) { return LogisticOf(x, integer_bits); });
}
Result<Tensor> TanhTable(int integer_bits) {
  return TableOf([&](int32_t x) { return TanhOf(x, integer_bits); });
}

FixedFactor FixedFactor::Of(double factor) {
  if (factor == 0) return {};
  int exponent = 0;
  auto multiplier = static_cast<int64_t>(std::round(std::frexp(factor, &exponent) * 0x1p31));
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++exponent;
  }
  return {multiplier, exponent};
}

}  // namespace deputy::host::tflite_import
