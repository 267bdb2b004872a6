// Loops over neighbouring elements: functions of one and of two, sums, the rows of softmax and layer normalization,
// pools, conversions. Computed by the active level (Level of linalg.hpp), on the calling thread; nothing allocates.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// Functions of one element, with the meaning of the ONNX operators; the comments name the parameters used.
enum class RowFunction : uint8_t {
  kAbs,
  kAcos,
  kAffine,  // alpha * x + beta
  kAsin,
  kAtan,
  kCeil,
  kCelu,  // alpha
  kClip,  // to [alpha, beta]
  kCos,
  kElu,  // alpha
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,     // approximated
  kHardSigmoid,  // alpha, beta
  kHardSwish,
  kLeakyRelu,  // alpha
  kLog,
  kMish,
  kNeg,
  kReciprocal,
  kRelu,
  kRound,   // halves to the even neighbour
  kSelu,    // alpha, gamma as beta
  kShrink,  // threshold as alpha, bias as beta
  kSigmoid,
  kSin,
  kSoftplus,
  kSqrt,
  kTanh,
};
inline constexpr int kRowFunctions = static_cast<int>(RowFunction::kTanh) + 1;

// y may be x.
using RowLoop = void (*)(const float* x, int64_t count, float alpha, float beta, float* y);
void Apply(RowFunction function, const float* x, int64_t count, float alpha, float beta, float* y);

// Functions of two elements, as in BinaryOp of binary.hpp. Steps are 0 or 1; y may be an operand with step 1.
enum class PairFunction : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPRelu, kFMod };
inline constexpr int kPairFunctions = static_cast<int>(PairFunction::kFMod) + 1;

using PairLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step, int64_t count, float* y);
void Apply(PairFunction function, const float* a, int64_t a_step, const float* b, int64_t b_step, int64_t count,
           float* y);

// In double. Sum of squares: of the distances from `mean`.
double Sum(const float* x, int64_t count);
double SumOfSquares(const float* x, int64_t count, double mean);
// NaN if an element is NaN; minus infinity without elements.
float Largest(const float* x, int64_t count);

// y = exp(x - largest), divided by its sum. y may be x.
void Softmax(const float* x, int64_t count, float* y);
// y = x - largest - log(sum of exp(x - largest)). y may be x.
void LogSoftmax(const float* x, int64_t count, float* y);
// y = (x - mean) * inverse * scale + bias; bias may be null. y may be x.
void Normalize(const float* x, int64_t count, float mean, float inverse, const float* scale, const float* bias,
               float* y);

// The largest element, NaN excluded, or the sum of the elements under each position of a window over a plane. Pairs are
// rows, columns; padding is excluded; without elements the largest is minus infinity. The stride of the columns is 1 or
// 2.
struct PoolArgs {
  bool largest = true;
  const float* x = nullptr;
  int64_t in[2] = {};
  float* y = nullptr;
  int64_t out[2] = {};
  int64_t kernel[2] = {}, strides[2] = {}, dilations[2] = {}, pads[2] = {};  // pads before
};
void Pool(const PoolArgs& args);

// Towards zero; NaN gives 0, and values out of range the nearest integer.
void Truncate(const float* x, int64_t count, int32_t* y);

// Whether no magnitude exceeds `limit`; false for NaN.
bool IsWithin(const float* x, int64_t count, float limit);

// The range of uint8 or int8, which are written as the same bytes.
struct ByteRange {
  int32_t zero_point, lowest, largest;
};

// y = (x - zero) * scale, of uint8, or int8 where `is_signed`.
void Dequantize(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, float scale, float* y);
// y = round(x / scale) + zero point, halves to even, clamped to the range; NaN gives the lowest.
void Quantize(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y);
// The same for x * multiplier; multipliers are `step` apart, 0 or 1.
void Requantize(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y);
void Requantize(const float* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y);

// Bytes are uint8, or int8 where `is_signed`.
// y = x - zero, in 16 bits.
void WidenBytes(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, int16_t* y);
// y[i] is the pair of x[i] - zero and next[i] - zero, the first in the lower half (Int16Pair of linalg.hpp).
void PairBytes(const uint8_t* x, const uint8_t* next, int64_t count, bool is_signed, int32_t zero, int32_t* y);
// y[i] holds rows[0][i] to rows[3][i], the first in the lowest byte (Int8Quad), each with the bits of `flip` exchanged.
void QuadBytes(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, int32_t* y);
// y[i] += the product of a quad of signed bytes, which must fit (QuadFits), and x[i * step].
void AddQuads(int32_t quad, const int32_t* x, int64_t step, int64_t count, int32_t* y);
// y = the larger one of a and b. y may be an operand.
void LargerBytes(const uint8_t* a, const uint8_t* b, int64_t count, bool is_signed, uint8_t* y);

// Half precision from and to float32. False, with nothing written, if the active level has no instructions for it; the
// caller's own loop then does it. Both round to nearest even. [any-thread]
bool WidenHalves(const uint16_t* x, int64_t count, float* y);
bool NarrowToHalves(const float* x, int64_t count, uint16_t* y);

}  // namespace deputy::host::linalg
