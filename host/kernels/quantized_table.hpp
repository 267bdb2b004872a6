// Functions of quantized 8-bit integers by tables of all 256 values: a function of one operand is a table, and a sum or
// product of two operands combines an entry of two tables.
#pragma once

#include <array>
#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/broadcast.hpp"

namespace deputy::host {

// The quantization of a tensor: real = (integer - zero point) * scale. int8 or uint8.
struct QuantizedRange {
  DType dtype = DType::kUint8;
  float scale = 1;
  int32_t zero_point = 0;

  // The integer with these bits, and the real number that it represents.
  int32_t IntegerOf(uint8_t bits) const {
    return dtype == DType::kInt8 ? int32_t{static_cast<int8_t>(bits)} : int32_t{bits};
  }
  float RealOf(uint8_t bits) const { return static_cast<float>(IntegerOf(bits) - zero_point) * scale; }
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

// The sum or the product of the real numbers of both.
void AddQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                  const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                  ThreadPool& pool);
void MultiplyQuantized(const BroadcastPlan<2>& plan, const QuantizedRange& a_range, const uint8_t* a,
                       const QuantizedRange& b_range, const uint8_t* b, const QuantizedRange& c_range, uint8_t* c,
                       ThreadPool& pool);

}  // namespace deputy::host
