// The loops for the functions of one element, their use for 16-bit floats, and their division among threads.
#include "kernels/unary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

// Functions that the modules of linalg/ compute for float.
constexpr std::optional<linalg::RowFunction> RowFunctionOf(UnaryOp op) {
  switch (op) {
    case UnaryOp::kAbs: return linalg::RowFunction::kAbs;
    case UnaryOp::kAcos: return linalg::RowFunction::kAcos;
    case UnaryOp::kAsin: return linalg::RowFunction::kAsin;
    case UnaryOp::kAtan: return linalg::RowFunction::kAtan;
    case UnaryOp::kCeil: return linalg::RowFunction::kCeil;
    case UnaryOp::kCelu: return linalg::RowFunction::kCelu;
    case UnaryOp::kCos: return linalg::RowFunction::kCos;
    case UnaryOp::kElu: return linalg::RowFunction::kElu;
    case UnaryOp::kErf: return linalg::RowFunction::kErf;
    case UnaryOp::kExp: return linalg::RowFunction::kExp;
    case UnaryOp::kFloor: return linalg::RowFunction::kFloor;
    case UnaryOp::kHardSigmoid: return linalg::RowFunction::kHardSigmoid;
    case UnaryOp::kHardSwish: return linalg::RowFunction::kHardSwish;
    case UnaryOp::kLeakyRelu: return linalg::RowFunction::kLeakyRelu;
    case UnaryOp::kLog: return linalg::RowFunction::kLog;
    case UnaryOp::kMish: return linalg::RowFunction::kMish;
    case UnaryOp::kNeg: return linalg::RowFunction::kNeg;
    case UnaryOp::kReciprocal: return linalg::RowFunction::kReciprocal;
    case UnaryOp::kRelu: return linalg::RowFunction::kRelu;
    case UnaryOp::kRound: return linalg::RowFunction::kRound;
    case UnaryOp::kSelu: return linalg::RowFunction::kSelu;
    case UnaryOp::kSigmoid: return linalg::RowFunction::kSigmoid;
    case UnaryOp::kSin: return linalg::RowFunction::kSin;
    case UnaryOp::kSoftplus: return linalg::RowFunction::kSoftplus;
    case UnaryOp::kSqrt: return linalg::RowFunction::kSqrt;
    case UnaryOp::kTanh: return linalg::RowFunction::kTanh;
    default: return std::nullopt;
  }
}

template <UnaryOp kOp, class T>
void FloatLoop(const void* source, void* target, int64_t count, const UnaryParameters& parameters) {
  const T* from = static_cast<const T*>(source);
  const T alpha = static_cast<T>(parameters.alpha), beta = static_cast<T>(parameters.beta);
  if constexpr (kOp == UnaryOp::kIsInf || kOp == UnaryOp::kIsNaN) {
    uint8_t* to = static_cast<uint8_t*>(target);
    if constexpr (kOp == UnaryOp::kIsNaN) {
      for (int64_t i = 0; i < count; ++i) to[i] = std::isnan(from[i]);
    } else if (parameters.positive && parameters.negative) {
      for (int64_t i = 0; i < count; ++i) to[i] = std::fabs(from[i]) == std::numeric_limits<T>::infinity();
    } else {
      // Without branches, so that it becomes vector code; for one infinity the same comparison is done twice.
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      const T first = parameters.positive ? kInfinity : -kInfinity,
              second = parameters.negative ? -kInfinity : kInfinity;
      const uint8_t any = parameters.positive || parameters.negative ? 1 : 0;
      for (int64_t i = 0; i < count; ++i)
        to[i] = static_cast<uint8_t>((from[i] == first ? any : 0) | (from[i] == second ? any : 0));
    }
  } else if constexpr (std::is_same_v<T, float> && RowFunctionOf(kOp).has_value()) {
    linalg::Apply(*RowFunctionOf(kOp), from, count, alpha, beta, static_cast<float*>(target));
  } else {
    T* to = static_cast<T*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = ApplyFloat<kOp, T>(from[i], alpha, beta);
  }
}

// Integers wrap: the absolute value and the negative of the lowest number are the lowest number.
template <UnaryOp kOp, class T>
void IntegerLoop(const void* source, void* target, int64_t count, const UnaryParameters&) {
  using Unsigned = std::make_unsigned_t<T>;
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(target);
  const auto negative = [](T x) { return static_cast<T>(Unsigned{0} - static_cast<Unsigned>(x)); };
  for (int64_t i = 0; i < count; ++i) {
    const T x = from[i];
    if constexpr (kOp == UnaryOp::kAbs) to[i] = x < 0 ? negative(x) : x;
    // Truncated: 1 if the nearest double is 1, else 0.
    if constexpr (kOp == UnaryOp::kErf) to[i] = static_cast<T>(std::erf(static_cast<double>(x)));
    if constexpr (kOp == UnaryOp::kNeg) to[i] = negative(x);
    if constexpr (kOp == UnaryOp::kRelu) to[i] = x < 0 ? T{0} : x;
    if constexpr (kOp == UnaryOp::kSign) to[i] = static_cast<T>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
  }
}

void NotLoop(const void* source, void* target, int64_t count, const UnaryParameters&) {
  const uint8_t* from = static_cast<const uint8_t*>(source);
  uint8_t* to = static_cast<uint8_t*>(target);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] == 0;
}

template <UnaryOp kOp>
UnaryFunction FindFloat(DType dtype) {
  UnaryFunction found = nullptr;
  DispatchFloat(dtype, [&](auto tag) { found = FloatLoop<kOp, typename decltype(tag)::Type>; });
  return found;
}

template <UnaryOp kOp>
UnaryFunction FindNumeric(DType dtype) {
  UnaryFunction found = FindFloat<kOp>(dtype);
  DispatchInteger(dtype, [&](auto tag) { found = IntegerLoop<kOp, typename decltype(tag)::Type>; });
  return found;
}

bool GivesBool(UnaryOp op) { return op == UnaryOp::kIsInf || op == UnaryOp::kIsNaN; }

// Elements per range: the least work for which waking a thread pays.
int64_t Grain(UnaryOp op) {
  switch (op) {
    case UnaryOp::kAbs:
    case UnaryOp::kNeg:
    case UnaryOp::kNot:
    case UnaryOp::kRelu:
    case UnaryOp::kLeakyRelu:
    case UnaryOp::kSign:
    case UnaryOp::kSqrt: return 32768;
    default: return 4096;
  }
}

}  // namespace

UnaryFunction FindUnary(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::kAbs: return FindNumeric<UnaryOp::kAbs>(dtype);
    case UnaryOp::kErf: return FindNumeric<UnaryOp::kErf>(dtype);
    case UnaryOp::kNeg: return FindNumeric<UnaryOp::kNeg>(dtype);
    case UnaryOp::kRelu: return FindNumeric<UnaryOp::kRelu>(dtype);
    case UnaryOp::kSign: return FindNumeric<UnaryOp::kSign>(dtype);
    case UnaryOp::kNot: return dtype == DType::kBool ? NotLoop : nullptr;
#define DEPUTY_FLOAT_ONLY(name) \
  case UnaryOp::name: return FindFloat<UnaryOp::name>(dtype);
      DEPUTY_FLOAT_ONLY(kAcos)
      DEPUTY_FLOAT_ONLY(kAcosh)
      DEPUTY_FLOAT_ONLY(kAsin)
      DEPUTY_FLOAT_ONLY(kAsinh)
      DEPUTY_FLOAT_ONLY(kAtan)
      DEPUTY_FLOAT_ONLY(kAtanh)
      DEPUTY_FLOAT_ONLY(kCeil)
      DEPUTY_FLOAT_ONLY(kCelu)
      DEPUTY_FLOAT_ONLY(kCos)
      DEPUTY_FLOAT_ONLY(kCosh)
      DEPUTY_FLOAT_ONLY(kElu)
      DEPUTY_FLOAT_ONLY(kExp)
      DEPUTY_FLOAT_ONLY(kFloor)
      DEPUTY_FLOAT_ONLY(kHardSigmoid)
      DEPUTY_FLOAT_ONLY(kHardSwish)
      DEPUTY_FLOAT_ONLY(kIsInf)
      DEPUTY_FLOAT_ONLY(kIsNaN)
      DEPUTY_FLOAT_ONLY(kLeakyRelu)
      DEPUTY_FLOAT_ONLY(kLog)
      DEPUTY_FLOAT_ONLY(kMish)
      DEPUTY_FLOAT_ONLY(kReciprocal)
      DEPUTY_FLOAT_ONLY(kRound)
      DEPUTY_FLOAT_ONLY(kSelu)
      DEPUTY_FLOAT_ONLY(kSigmoid)
      DEPUTY_FLOAT_ONLY(kSin)
      DEPUTY_FLOAT_ONLY(kSinh)
      DEPUTY_FLOAT_ONLY(kSoftplus)
      DEPUTY_FLOAT_ONLY(kSoftsign)
      DEPUTY_FLOAT_ONLY(kSqrt)
      DEPUTY_FLOAT_ONLY(kTan)
      DEPUTY_FLOAT_ONLY(kTanh)
      DEPUTY_FLOAT_ONLY(kThresholdedRelu)
#undef DEPUTY_FLOAT_ONLY
  }
  return nullptr;
}

bool SupportsUnary(UnaryOp op, DType dtype) { return FindUnary(op, ComputeType(dtype)) != nullptr; }

bool Unary(UnaryOp op, DType dtype, const UnaryParameters& parameters, const void* source, void* target, int64_t count,
           ThreadPool& pool) {
  const UnaryFunction function = FindUnary(op, ComputeType(dtype));
  if (function == nullptr) return false;
  const size_t source_size = SizeOf(dtype), target_size = GivesBool(op) ? 1 : source_size;
  const ConvertFunction widen = IsFloat16(dtype) ? FindConvert(dtype, DType::kFloat32) : nullptr;
  const ConvertFunction narrow = IsFloat16(dtype) && !GivesBool(op) ? FindConvert(DType::kFloat32, dtype) : nullptr;
  pool.ParallelFor(count, Grain(op), [&](int64_t begin, int64_t end) {
    const char* from = static_cast<const char*>(source) + static_cast<size_t>(begin) * source_size;
    char* to = static_cast<char*>(target) + static_cast<size_t>(begin) * target_size;
    if (widen == nullptr) {
      function(from, to, end - begin, parameters);
      return;
    }
    constexpr int64_t kBlock = 512;
    float wide[kBlock];
    for (int64_t left = end - begin; left > 0;) {
      const int64_t block = std::min(left, kBlock);
      widen(from, wide, block);
      if (narrow == nullptr) {
        function(wide, to, block, parameters);
      } else {
        function(wide, wide, block, parameters);
        narrow(wide, to, block);
      }
      from += static_cast<size_t>(block) * source_size;
      to += static_cast<size_t>(block) * target_size;
      left -= block;
    }
  });
  return true;
}

}  // namespace deputy::host
