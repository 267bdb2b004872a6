// Between element types. Real numbers to integers: rounding to even and saturating exactly as ONNX says, which oneDNN's
// reorder with a zero point does not. Half precision: oneDNN 2.6 does not convert it on the CPU.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "deputy/sdk/half.hpp"
#include "lowering/lowering.hpp"

namespace onednn {
namespace {

// Padding of blocked layouts must stay zero, so these functions visit plain strides only, element by element.
Slot Unpadded(Value value, Lowering& lowering) {
  const Slot slot = lowering.Dense(value);
  return IsStrided(slot.desc) ? slot : lowering.PlainOf(value);
}

template <class Integer>
void QuantizeAll(const float* x, Integer* y, int64_t count, Scaling scaling) {
  // Adding and subtracting 1.5 * 2^23 rounds to even; it is exact for clamped numbers.
  constexpr float kRound = 12582912.0f;
  const float low = static_cast<float>(std::numeric_limits<Integer>::min() - scaling.zero);
  const float high = static_cast<float>(std::numeric_limits<Integer>::max() - scaling.zero);
#pragma omp parallel for if (count > 65536)
  for (int64_t i = 0; i < count; ++i) {
    const float real = x[i] / scaling.scale;
    const float within = real > low ? (real < high ? real : high) : low;  // not a number: low
    y[i] = static_cast<Integer>(static_cast<int32_t>((within + kRound) - kRound) + scaling.zero);
  }
}

template <class Integer>
void DequantizeAll(const Integer* x, float* y, int64_t count, Scaling scaling) {
#pragma omp parallel for if (count > 65536)
  for (int64_t i = 0; i < count; ++i) y[i] = scaling.scale * static_cast<float>(x[i] - scaling.zero);
}

}  // namespace

void LowerQuantize(const Operation& operation, const Quantize& parameters, Lowering& lowering) {
  const Slot source = Unpadded(operation.inputs[0], lowering);
  const memory::data_type type = lowering.program().facts(operation.output).type;
  const Slot result = lowering.Result(operation.output, WithType(source.desc, type));
  const int64_t count = CountOf(source.desc.dims());
  const bool is_signed = type == memory::data_type::s8;
  lowering.EmitFunction("quantize", {source, result},
                        [count, is_signed, scaling = parameters.scaling](const std::vector<char*>& data) {
                          const float* const x = reinterpret_cast<const float*>(data[0]);
                          if (is_signed)
                            QuantizeAll(x, reinterpret_cast<int8_t*>(data[1]), count, scaling);
                          else
                            QuantizeAll(x, reinterpret_cast<uint8_t*>(data[1]), count, scaling);
                        });
}

void LowerDequantize(const Operation& operation, const Dequantize& parameters, Lowering& lowering) {
  const Slot source = Unpadded(operation.inputs[0], lowering);
  const Slot result = lowering.Result(operation.output, WithType(source.desc, memory::data_type::f32));
  const int64_t count = CountOf(source.desc.dims());
  const bool is_signed = source.desc.data_type() == memory::data_type::s8;
  lowering.EmitFunction("dequantize", {source, result},
                        [count, is_signed, scaling = parameters.scaling](const std::vector<char*>& data) {
                          float* const y = reinterpret_cast<float*>(data[1]);
                          if (is_signed)
                            DequantizeAll(reinterpret_cast<const int8_t*>(data[0]), y, count, scaling);
                          else
                            DequantizeAll(reinterpret_cast<const uint8_t*>(data[0]), y, count, scaling);
                        });
}

void LowerCast(const Operation& operation, Lowering& lowering) {
  const Slot source = lowering.PlainOf(operation.inputs[0]);
  const memory::data_type type = lowering.program().facts(operation.output).type;
  const Slot result = lowering.Result(operation.output, WithType(source.desc, type));
  const int64_t count = CountOf(source.desc.dims());
  const bool narrows = type == memory::data_type::f16;
  lowering.EmitFunction("cast", {source, result}, [count, narrows](const std::vector<char*>& data) {
    constexpr int64_t kPiece = 1 << 14;
#pragma omp parallel for if (count > 4 * kPiece)
    for (int64_t first = 0; first < count; first += kPiece) {
      const size_t length = static_cast<size_t>(std::min(kPiece, count - first));
      if (narrows)
        sdk::ToHalf(reinterpret_cast<const float*>(data[0]) + first, reinterpret_cast<uint16_t*>(data[1]) + first,
                    length);
      else
        sdk::ToFloat(reinterpret_cast<const uint16_t*>(data[0]) + first, reinterpret_cast<float*>(data[1]) + first,
                     length);
    }
  });
}

}  // namespace onednn
