#include <algorithm>
#include <type_traits>

#include "kernels/binary.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kBitwiseGrain = 32768;

template <BitwiseOp kOp, class T>
T Apply(T a, T b) {
  constexpr T kWidth = 8 * sizeof(T);
  if constexpr (kOp == BitwiseOp::kAnd) return static_cast<T>(a & b);
  if constexpr (kOp == BitwiseOp::kOr) return static_cast<T>(a | b);
  if constexpr (kOp == BitwiseOp::kXor) return static_cast<T>(a ^ b);
  if constexpr (kOp == BitwiseOp::kShiftLeft) return b < kWidth ? static_cast<T>(uint64_t{a} << b) : T{0};
  if constexpr (kOp == BitwiseOp::kShiftRight) return b < kWidth ? static_cast<T>(uint64_t{a} >> b) : T{0};
  if constexpr (kOp == BitwiseOp::kShiftSigned) {
    using Signed = std::make_signed_t<T>;
    return static_cast<T>(static_cast<Signed>(a) >> (b < kWidth ? b : kWidth - 1));
  }
}

// Instantiated per combination of steps, so that each becomes vector code. Operands are passed by value: a byte that is
// written may alias anything passed by reference.
template <BitwiseOp kOp, class T>
void Run(const T* a, int64_t a_step, const T* b, int64_t b_step, T* to, int64_t count) {
  if (a_step != 0 && b_step != 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = Apply<kOp, T>(a[i], b[i]);
  } else if (a_step != 0) {
    const T right = *b;
    if constexpr (kOp == BitwiseOp::kShiftLeft) {
      const bool out = right >= 8 * sizeof(T);
      const int by = out ? 0 : static_cast<int>(right);
      const T kept = out ? T{0} : static_cast<T>(~T{0});
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>((a[i] & kept) << by);
    } else if constexpr (kOp == BitwiseOp::kShiftRight) {
      const bool out = right >= 8 * sizeof(T);
      const int by = out ? 0 : static_cast<int>(right);
      const T kept = out ? T{0} : static_cast<T>(~T{0});
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>((a[i] & kept) >> by);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = Apply<kOp, T>(a[i], right);
    }
  } else if (b_step != 0) {
    const T left = *a;
    for (int64_t i = 0; i < count; ++i) to[i] = Apply<kOp, T>(left, b[i]);
  } else if (count > 0) {
    std::fill_n(to, count, Apply<kOp, T>(*a, *b));
  }
}

template <class T>
void Invert(const T* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(~from[i]);
}

template <BitwiseOp kOp, class T>
void Loop(const BroadcastPlan<2>& plan, const T* a, const T* b, T* to, ThreadPool& pool) {
  const int64_t a_step = plan.inner_stride(0), b_step = plan.inner_stride(1);
  pool.ParallelFor(plan.count, kBitwiseGrain, [&](int64_t begin, int64_t end) {
    ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 2>& from, int64_t count) {
      Run<kOp, T>(a + from[0], a_step, b + from[1], b_step, to + at, count);
    });
  });
}

template <class T>
void Select(BitwiseOp op, const BroadcastPlan<2>& plan, const T* a, const T* b, T* to, ThreadPool& pool) {
  switch (op) {
    case BitwiseOp::kAnd: return Loop<BitwiseOp::kAnd>(plan, a, b, to, pool);
    case BitwiseOp::kOr: return Loop<BitwiseOp::kOr>(plan, a, b, to, pool);
    case BitwiseOp::kXor: return Loop<BitwiseOp::kXor>(plan, a, b, to, pool);
    case BitwiseOp::kShiftLeft: return Loop<BitwiseOp::kShiftLeft>(plan, a, b, to, pool);
    case BitwiseOp::kShiftRight: return Loop<BitwiseOp::kShiftRight>(plan, a, b, to, pool);
    case BitwiseOp::kShiftSigned: return Loop<BitwiseOp::kShiftSigned>(plan, a, b, to, pool);
  }
}

// Signed integers are processed as unsigned ones of the same bits.
template <class F>
bool DispatchBits(DType dtype, F&& f) {
  if (!DispatchInteger(dtype, [](auto) {})) return false;
  return DispatchSize(SizeOf(dtype), f);
}

}  // namespace

bool Bitwise(BitwiseOp op, DType dtype, const BroadcastPlan<2>& plan, const void* a, const void* b, void* target,
             ThreadPool& pool) {
  return DispatchBits(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Select(op, plan, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(target), pool);
  });
}

bool BitwiseNot(DType dtype, const void* source, void* target, int64_t count, ThreadPool& pool) {
  return DispatchBits(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* from = static_cast<const T*>(source);
    T* to = static_cast<T*>(target);
    pool.ParallelFor(count, kBitwiseGrain,
                     [&](int64_t begin, int64_t end) { Invert(from + begin, to + begin, end - begin); });
  });
}

}  // namespace deputy::host
