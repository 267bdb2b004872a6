// The loops of binary functions. Each is instantiated per combination of steps, so that it becomes vector code. Integer
// arithmetic is that of two's complement and never undefined.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/binary.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"

namespace deputy::host {
namespace {

// F: a type with `Result operator()(Operand, Operand) const`, without state.
template <class F, class Operand>
void RunBinaryLoop(const void* first, int64_t first_step, const void* second, int64_t second_step, void* target,
                   int64_t count) {
  using Result = std::invoke_result_t<F, Operand, Operand>;
  const Operand* x = static_cast<const Operand*>(first);
  const Operand* y = static_cast<const Operand*>(second);
  Result* to = static_cast<Result*>(target);
  const F f;
  if (count <= 0) return;
  if (first_step != 0 && second_step != 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = f(x[i], y[i]);
  } else if (first_step != 0) {
    const Operand right = *y;
    for (int64_t i = 0; i < count; ++i) to[i] = f(x[i], right);
  } else if (second_step != 0) {
    const Operand left = *x;
    for (int64_t i = 0; i < count; ++i) to[i] = f(left, y[i]);
  } else {
    const Result value = f(*x, *y);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  }
}

// The same for functions that no vector instruction computes: one loop for all combinations.
template <class F, class Operand>
void RunSlowLoop(const void* first, int64_t first_step, const void* second, int64_t second_step, void* target,
                 int64_t count) {
  const Operand* x = static_cast<const Operand*>(first);
  const Operand* y = static_cast<const Operand*>(second);
  Operand* to = static_cast<Operand*>(target);
  for (int64_t i = 0; i < count; ++i) to[i] = F()(x[i * first_step], y[i * second_step]);
}

template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  static T Add(T x, T y) { return x + y; }
  static T Sub(T x, T y) { return x - y; }
  static T Mul(T x, T y) { return x * y; }
};
template <class T>
struct Wrapping<T, true> {
  // Operands of 16 bits would be promoted to int, whose overflow is undefined.
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  static T Add(T x, T y) { return static_cast<T>(static_cast<W>(x) + static_cast<W>(y)); }
  static T Sub(T x, T y) { return static_cast<T>(static_cast<W>(x) - static_cast<W>(y)); }
  static T Mul(T x, T y) { return static_cast<T>(static_cast<W>(x) * static_cast<W>(y)); }
};

// The rest of a division whose quotient is rounded down.
template <class T>
T FloorMod(T x, T y) {
  const T rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(T(0), y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

template <BinaryOp kOp, class T>
struct Arithmetic {
  T operator()(T x, T y) const {
    if constexpr (kOp == BinaryOp::kAdd) return Wrapping<T>::Add(x, y);
    if constexpr (kOp == BinaryOp::kSub) return Wrapping<T>::Sub(x, y);
    if constexpr (kOp == BinaryOp::kMul) return Wrapping<T>::Mul(x, y);
    if constexpr (kOp == BinaryOp::kMax) return x > y || x != x ? x : y;
    if constexpr (kOp == BinaryOp::kMin) return x < y || x != x ? x : y;
    if constexpr (kOp == BinaryOp::kPRelu) return x < 0 ? Wrapping<T>::Mul(x, y) : x;
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (kOp == BinaryOp::kDiv) return x / y;
      if constexpr (kOp == BinaryOp::kFMod) return std::fmod(x, y);
      if constexpr (kOp == BinaryOp::kMod) return FloorMod(x, y);
    } else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        // The negation of the lowest number is not representable.
        if (y == -1) return kOp == BinaryOp::kDiv ? Wrapping<T>::Sub(0, x) : T{0};
      }
      if constexpr (kOp == BinaryOp::kDiv) return static_cast<T>(x / y);
      const T rest = static_cast<T>(x % y);
      if constexpr (kOp == BinaryOp::kMod) return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
      return rest;
    }
  }
};

// Functions that the modules of linalg/ compute for float.
constexpr std::optional<linalg::PairFunction> PairFunctionOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return linalg::PairFunction::kAdd;
    case BinaryOp::kSub: return linalg::PairFunction::kSub;
    case BinaryOp::kMul: return linalg::PairFunction::kMul;
    case BinaryOp::kDiv: return linalg::PairFunction::kDiv;
    case BinaryOp::kMax: return linalg::PairFunction::kMax;
    case BinaryOp::kMin: return linalg::PairFunction::kMin;
    case BinaryOp::kPRelu: return linalg::PairFunction::kPRelu;
    case BinaryOp::kFMod: return linalg::PairFunction::kFMod;
    default: return std::nullopt;
  }
}

template <BinaryOp kOp>
void FloatLoop(const void* first, int64_t first_step, const void* second, int64_t second_step, void* target,
               int64_t count) {
  linalg::Apply(*PairFunctionOf(kOp), static_cast<const float*>(first), first_step, static_cast<const float*>(second),
                second_step, count, static_cast<float*>(target));
}

template <BinaryOp kOp>
BinaryLoop FindNumeric(DType dtype) {
  if constexpr (PairFunctionOf(kOp).has_value()) {
    if (dtype == DType::kFloat32) return FloatLoop<kOp>;
  }
  BinaryLoop found = nullptr;
  DispatchNumeric(dtype, [&](auto tag) {
    using Type = typename decltype(tag)::Type;
    constexpr bool kWraps = kOp == BinaryOp::kAdd || kOp == BinaryOp::kSub || kOp == BinaryOp::kMul;
    using T = UnsignedIf<kWraps, Type>;  // the sign has no part in the result
    if constexpr (kOp == BinaryOp::kFMod || kOp == BinaryOp::kMod || (kOp == BinaryOp::kDiv && std::is_integral_v<T>))
      found = RunSlowLoop<Arithmetic<kOp, T>, T>;
    else
      found = RunBinaryLoop<Arithmetic<kOp, T>, T>;
  });
  return found;
}

template <class T>
struct PowFunction {
  T operator()(T base, T exponent) const { return std::pow(base, exponent); }
};

template <class T>
void PowLoop(const void* first, int64_t first_step, const void* second, int64_t second_step, void* target,
             int64_t count) {
  // Squares are by far the most frequent powers in real models, and pow() is by far the slowest way to compute them.
  if (second_step == 0 && *static_cast<const T*>(second) == T{2}) {
    if constexpr (std::is_same_v<T, float>)
      FloatLoop<BinaryOp::kMul>(first, first_step, first, first_step, target, count);
    else
      RunBinaryLoop<Arithmetic<BinaryOp::kMul, T>, T>(first, first_step, first, first_step, target, count);
  } else {
    RunSlowLoop<PowFunction<T>, T>(first, first_step, second, second_step, target, count);
  }
}

// Wraps like a chain of multiplications. A negative exponent gives the quotient 1 / x^n rounded towards zero, and 0 for
// the base 0.
struct IntegerPow {
  int64_t operator()(int64_t base, int64_t exponent) const {
    if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
    int64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = Wrapping<int64_t>::Mul(result, base);
      base = Wrapping<int64_t>::Mul(base, base);
    }
    return result;
  }
};

// Results are bytes, so that no loop forms a bool from memory with other values than 0 and 1.
template <class Predicate, class T>
struct Compare {
  uint8_t operator()(T x, T y) const { return Predicate()(x, y) ? 1 : 0; }
};

struct And {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) & (y != 0)); }
};
struct Or {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) | (y != 0)); }
};
struct Xor {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) ^ (y != 0)); }
};
struct SameTruth {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) == (y != 0)); }
};

template <template <class> class Predicate>
BinaryLoop FindCompare(DType dtype) {
  BinaryLoop found = nullptr;
  DispatchNumeric(dtype, [&](auto tag) {
    using T = UnsignedIf<std::is_same_v<Predicate<int>, std::equal_to<int>>, typename decltype(tag)::Type>;
    found = RunBinaryLoop<Compare<Predicate<T>, T>, T>;
  });
  return found;
}

}  // namespace

BinaryLoop FindArithmeticLoop(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kAdd: return FindNumeric<BinaryOp::kAdd>(dtype);
    case BinaryOp::kSub: return FindNumeric<BinaryOp::kSub>(dtype);
    case BinaryOp::kMul: return FindNumeric<BinaryOp::kMul>(dtype);
    case BinaryOp::kDiv: return FindNumeric<BinaryOp::kDiv>(dtype);
    case BinaryOp::kMax: return FindNumeric<BinaryOp::kMax>(dtype);
    case BinaryOp::kMin: return FindNumeric<BinaryOp::kMin>(dtype);
    case BinaryOp::kPRelu: return FindNumeric<BinaryOp::kPRelu>(dtype);
    case BinaryOp::kFMod: return FindNumeric<BinaryOp::kFMod>(dtype);
    case BinaryOp::kMod: return FindNumeric<BinaryOp::kMod>(dtype);
    case BinaryOp::kPow:
      if (dtype == DType::kFloat32) return PowLoop<float>;
      if (dtype == DType::kFloat64) return PowLoop<double>;
      return dtype == DType::kInt64 ? RunSlowLoop<IntegerPow, int64_t> : nullptr;
    default: return nullptr;
  }
}

BinaryLoop FindComparisonLoop(BinaryOp op, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  switch (op) {
    case BinaryOp::kAnd: return is_bool ? RunBinaryLoop<And, uint8_t> : nullptr;
    case BinaryOp::kOr: return is_bool ? RunBinaryLoop<Or, uint8_t> : nullptr;
    case BinaryOp::kXor: return is_bool ? RunBinaryLoop<Xor, uint8_t> : nullptr;
    case BinaryOp::kEqual: return is_bool ? RunBinaryLoop<SameTruth, uint8_t> : FindCompare<std::equal_to>(dtype);
    case BinaryOp::kGreater: return FindCompare<std::greater>(dtype);
    case BinaryOp::kGreaterOrEqual: return FindCompare<std::greater_equal>(dtype);
    case BinaryOp::kLess: return FindCompare<std::less>(dtype);
    case BinaryOp::kLessOrEqual: return FindCompare<std::less_equal>(dtype);
    default: return nullptr;
  }
}

}  // namespace deputy::host
