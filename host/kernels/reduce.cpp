// Iterates over a reduction's axes. If the innermost axis is reduced, runs of it are added to a few independent
// accumulators; if it is kept, a block of outputs is accumulated side by side. Both are vector code.
#include "kernels/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

// What is accumulated. Operations that differ only in what they make of the sum share the loops of one.
enum class Accumulation : uint8_t { kSum, kSumOfSizes, kSumOfSquares, kProduct, kMax, kMin, kLogSumExp };

Accumulation AccumulationOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kL1: return Accumulation::kSumOfSizes;
    case ReduceOp::kL2:
    case ReduceOp::kSumSquare: return Accumulation::kSumOfSquares;
    case ReduceOp::kProd: return Accumulation::kProduct;
    case ReduceOp::kMax: return Accumulation::kMax;
    case ReduceOp::kMin: return Accumulation::kMin;
    case ReduceOp::kLogSumExp: return Accumulation::kLogSumExp;
    default: return Accumulation::kSum;
  }
}

// The result of an operation, from what has been accumulated over `count` elements.
template <class T>
T Finished(ReduceOp op, double sum, int64_t count) {
  if (op == ReduceOp::kMean) sum /= static_cast<double>(count);
  if (op == ReduceOp::kL2) sum = std::sqrt(sum);
  if (op == ReduceOp::kLogSum) sum = std::log(sum);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(sum);
  else
    return SaturateCast<T>(sum);
}
template <class T>
T Finished(ReduceOp op, uint64_t sum, int64_t count) {
  if (op != ReduceOp::kMean) return static_cast<T>(sum);
  if (count == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(static_cast<int64_t>(sum) / count);
  else
    return static_cast<T>(sum / static_cast<uint64_t>(count));
}

// State: double, or uint64_t, which wraps: its low bits are the sum in any narrower integer type.
template <Accumulation kWhat, class T, class State>
class Accumulator {
 public:
  static constexpr size_t kLanes = 8;  // accumulators of a run

  void Add(T value) {
    const State x = static_cast<State>(value);
    if constexpr (kWhat == Accumulation::kProduct)
      state_ *= x;
    else if constexpr (kWhat == Accumulation::kSumOfSizes)
      state_ += value < 0 ? State{0} - x : x;
    else if constexpr (kWhat == Accumulation::kSumOfSquares)
      state_ += x * x;
    else
      state_ += x;
  }

  void Merge(const Accumulator& other) {
    if constexpr (kWhat == Accumulation::kProduct)
      state_ *= other.state_;
    else
      state_ += other.state_;
  }

  T Finish(ReduceOp op, int64_t count) const { return Finished<T>(op, state_, count); }

 private:
  State state_ = kWhat == Accumulation::kProduct ? State{1} : State{0};
};

template <bool kLargest, class T>
class ExtremeAccumulator {
 public:
  static constexpr size_t kLanes = 32;  // more than GCC unrolls: a loop over them becomes vector code

  void Add(T x) {
    const bool is_nan = x != x;  // `|`, not `||`: without branches, which keep loops from being vectorized
    if constexpr (kLargest)
      state_ = ((x > state_) | is_nan) ? x : state_;
    else
      state_ = ((x < state_) | is_nan) ? x : state_;
  }
  void Merge(const ExtremeAccumulator& other) { Add(other.state_); }
  T Finish(ReduceOp, int64_t) const { return state_; }

 private:
  using Limits = std::numeric_limits<T>;
  static constexpr T kLow = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  static constexpr T kHigh = Limits::has_infinity ? Limits::infinity() : Limits::max();
  T state_ = kLargest ? kLow : kHigh;
};

template <class T>
class Accumulator<Accumulation::kMax, T, T> : public ExtremeAccumulator<true, T> {};
template <class T>
class Accumulator<Accumulation::kMin, T, T> : public ExtremeAccumulator<false, T> {};

// log(sum(exp(x))) in one pass: the sum is kept relative to the largest element so far.
template <class T>
class Accumulator<Accumulation::kLogSumExp, T, double> {
 public:
  static constexpr size_t kLanes = 2;

  void Add(T x) { Include(static_cast<double>(x), 1); }
  void Merge(const Accumulator& other) { Include(other.largest_, other.sum_); }
  T Finish(ReduceOp op, int64_t count) const { return Finished<T>(op, largest_ + std::log(sum_), count); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // Adds weight * exp(x).
  void Include(double x, double weight) {
    if (x == largest_) {
      if (x != -kInfinity) sum_ += weight;
    } else if (x < largest_) {
      sum_ += weight * std::exp(x - largest_);
    } else {  // larger, or NaN on one side, which is kept
      sum_ = sum_ * std::exp(largest_ - x) + weight;
      largest_ = x;
    }
  }

  double largest_ = -kInfinity, sum_ = 0;
};

void Append(ReducePlan::Axes& axes, int64_t dim, int64_t stride) {
  axes.dims[axes.rank] = dim;
  axes.strides[axes.rank] = stride;
  ++axes.rank;
}

void Reverse(ReducePlan::Axes& axes) {
  std::reverse(axes.dims.begin(), axes.dims.begin() + static_cast<ptrdiff_t>(axes.rank));
  std::reverse(axes.strides.begin(), axes.strides.begin() + static_cast<ptrdiff_t>(axes.rank));
}

// Calls fn(offset) for every position in the first `rank` of the axes, in order, until the run ends; one call takes so
// many steps. None of the axes is empty.
template <class F>
void ForEachOffset(const ReducePlan::Axes& axes, size_t rank, int64_t steps, F&& fn) {
  EndCheck check;
  std::array<int64_t, kMaxBroadcastRank> index;
  std::fill_n(index.begin(), rank, 0);
  int64_t offset = 0;
  for (;;) {
    fn(offset);
    if (check.Ends(steps)) return;
    size_t axis = rank;
    for (; axis > 0; --axis) {
      offset += axes.strides[axis - 1];
      if (++index[axis - 1] < axes.dims[axis - 1]) break;
      offset -= axes.dims[axis - 1] * axes.strides[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

int64_t OffsetOf(const ReducePlan::Axes& axes, int64_t flat) {
  int64_t offset = 0;
  for (size_t axis = axes.rank; axis-- > 0;) {
    offset += flat % axes.dims[axis] * axes.strides[axis];
    flat /= axes.dims[axis];
  }
  return offset;
}

// Runs of float that a module of linalg/ sums up.
template <Accumulation kWhat, class T>
constexpr bool kByRows = std::is_same_v<T, float> &&
                         (kWhat == Accumulation::kSum || kWhat == Accumulation::kSumOfSquares);

bool LongRuns(const ReducePlan& plan) {
  return plan.reduced.rank != 0 && plan.reduced.dims[plan.reduced.rank - 1] >= 32;
}

template <Accumulation kWhat>
float ReduceFloatRuns(ReduceOp op, const ReducePlan& plan, const float* source) {
  const size_t last = plan.reduced.rank - 1;
  const int64_t run = plan.reduced.dims[last];
  double sum = 0;
  ForEachOffset(plan.reduced, last, run, [&](int64_t offset) {
    InParts(run, kLongRow, [&](int64_t begin, int64_t end) {
      if constexpr (kWhat == Accumulation::kSum)
        sum += linalg::Sum(source + offset + begin, end - begin);
      else
        sum += linalg::SumOfSquares(source + offset + begin, end - begin, 0);
    });
  });
  return Finished<float>(op, sum, plan.reduced.count);
}

// An exponential, at most.
constexpr int64_t kStepsOfElement = 8;

template <class A, class T>
void AddToLanes(const T* from, A (&lanes)[A::kLanes]) {
  if constexpr (A::kLanes <= 8) {  // in registers, which they are only where the loop is unrolled
#pragma GCC unroll 8
    for (size_t lane = 0; lane < A::kLanes; ++lane) lanes[lane].Add(from[lane]);
  } else {
    for (size_t lane = 0; lane < A::kLanes; ++lane) lanes[lane].Add(from[lane]);
  }
}

template <class A, class T>
T ReduceRuns(ReduceOp op, const ReducePlan& plan, const T* source) {
  constexpr size_t kLanes = A::kLanes;
  constexpr int64_t kPart = 1 << 20;  // a multiple of the lanes
  A lanes[kLanes];
  const size_t rank = plan.reduced.rank;
  const int64_t run = rank == 0 ? 1 : plan.reduced.dims[rank - 1];
  ForEachOffset(plan.reduced, rank == 0 ? 0 : rank - 1, StepsOf(run, kStepsOfElement), [&](int64_t offset) {
    InParts(run, kPart, [&](int64_t begin, int64_t end) {
      const T* from = source + offset;
      int64_t i = begin;
      for (; i + static_cast<int64_t>(kLanes) <= end; i += kLanes) AddToLanes(from + i, lanes);
      for (; i < end; ++i) lanes[0].Add(from[i]);
    });
  });
  for (size_t lane = 1; lane < kLanes; ++lane) lanes[0].Merge(lanes[lane]);
  return lanes[0].Finish(op, plan.reduced.count);
}

template <class A, class T>
void ReduceBlocks(ReduceOp op, const ReducePlan& plan, const T* source, T* target, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 128;
  const int64_t inner = plan.kept.dims[plan.kept.rank - 1];
  EndCheck check;
  while (begin < end) {
    const int64_t width = std::min({kBlock, end - begin, inner - begin % inner});
    A block[kBlock];
    const T* from = source + OffsetOf(plan.kept, begin);
    ForEachOffset(plan.reduced, plan.reduced.rank, width * kStepsOfElement, [&](int64_t offset) {
      const T* row = from + offset;
      for (int64_t i = 0; i < width; ++i) block[i].Add(row[i]);
    });
    for (int64_t i = 0; i < width; ++i) target[begin + i] = block[i].Finish(op, plan.reduced.count);
    begin += width;
    if (check.Ends(StepsOf(plan.reduced.count, width))) return;
  }
}

template <Accumulation kWhat, class T, class State>
void ReduceWith(ReduceOp op, const ReducePlan& plan, const void* source, void* target, ThreadPool& pool) {
  using A = Accumulator<kWhat, T, State>;
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(target);
  if (plan.reduced.count == 0) {
    const T result = A().Finish(op, 0);
    Fill(&result, to, plan.kept.count, sizeof result, pool);
    return;
  }
  constexpr int64_t kElements = 16384;  // of the source, the least number for a thread
  const int64_t grain = std::max<int64_t>(1, kElements / plan.reduced.count);
  pool.ParallelFor(plan.kept.count, plan.inner_is_reduced ? grain : std::max<int64_t>(grain, 32),
                   [&](int64_t begin, int64_t end) {
                     if (plan.inner_is_reduced)
                       ForEachUntilEnd(begin, end, plan.reduced.count, [&](int64_t i) {
                         const T* first = from + OffsetOf(plan.kept, i);
                         if constexpr (kByRows<kWhat, T>) {
                           if (LongRuns(plan)) {
                             to[i] = ReduceFloatRuns<kWhat>(op, plan, first);
                             return;
                           }
                         }
                         to[i] = ReduceRuns<A, T>(op, plan, first);
                       });
                     else
                       ReduceBlocks<A, T>(op, plan, from, to, begin, end);
                   });
}

using ReduceFunction = void (*)(ReduceOp, const ReducePlan&, const void*, void*, ThreadPool&);

template <Accumulation kWhat>
ReduceFunction FindInDouble(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return ReduceWith<kWhat, float, double>;
    case DType::kFloat64: return ReduceWith<kWhat, double, double>;
    case DType::kInt32: return ReduceWith<kWhat, int32_t, double>;
    case DType::kInt64: return ReduceWith<kWhat, int64_t, double>;
    case DType::kUint32: return ReduceWith<kWhat, uint32_t, double>;
    case DType::kUint64: return ReduceWith<kWhat, uint64_t, double>;
    default: return nullptr;
  }
}

// Integers wrap; those of which the sign has no part in the result are unsigned.
template <Accumulation kWhat>
ReduceFunction FindWrapping(DType dtype, bool is_signed) {
  switch (dtype) {
    case DType::kFloat32: return ReduceWith<kWhat, float, double>;
    case DType::kFloat64: return ReduceWith<kWhat, double, double>;
    case DType::kInt32:
      if (is_signed) return ReduceWith<kWhat, int32_t, uint64_t>;
      [[fallthrough]];
    case DType::kUint32: return ReduceWith<kWhat, uint32_t, uint64_t>;
    case DType::kInt64:
      if (is_signed) return ReduceWith<kWhat, int64_t, uint64_t>;
      [[fallthrough]];
    case DType::kUint64: return ReduceWith<kWhat, uint64_t, uint64_t>;
    default: return nullptr;
  }
}

template <Accumulation kWhat>
ReduceFunction FindExtreme(DType dtype) {
  ReduceFunction found = nullptr;
  DispatchNumeric(dtype == DType::kBool ? DType::kUint8 : dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    found = ReduceWith<kWhat, T, T>;
  });
  return found;
}

ReduceFunction FindReduce(ReduceOp op, DType dtype) {
  switch (AccumulationOf(op)) {
    case Accumulation::kSum:
      if (op == ReduceOp::kLogSum) return FindInDouble<Accumulation::kSum>(dtype);
      return FindWrapping<Accumulation::kSum>(dtype, op == ReduceOp::kMean);
    case Accumulation::kSumOfSquares:
      if (op == ReduceOp::kL2) return FindInDouble<Accumulation::kSumOfSquares>(dtype);
      return FindWrapping<Accumulation::kSumOfSquares>(dtype, false);
    case Accumulation::kSumOfSizes: return FindWrapping<Accumulation::kSumOfSizes>(dtype, true);
    case Accumulation::kProduct: return FindWrapping<Accumulation::kProduct>(dtype, false);
    case Accumulation::kLogSumExp: return FindInDouble<Accumulation::kLogSumExp>(dtype);
    case Accumulation::kMax: return FindExtreme<Accumulation::kMax>(dtype);
    case Accumulation::kMin: return FindExtreme<Accumulation::kMin>(dtype);
  }
  return nullptr;
}

}  // namespace

Result<ReducePlan> PlanReduce(std::span<const int64_t> dims, std::span<const uint8_t> reduce) {
  if (dims.size() != reduce.size())
    return Error(StatusCode::kInternal, "a tensor of rank {} has {} reduction flags", dims.size(), reduce.size());
  ReducePlan plan;
  int64_t stride = 1;
  bool first = true, last_reduced = false;
  for (size_t axis = dims.size(); axis-- > 0;) {
    const bool reduced = reduce[axis] != 0;
    ReducePlan::Axes& axes = reduced ? plan.reduced : plan.kept;
    axes.count *= dims[axis];
    if (dims[axis] == 1) continue;
    if (!first && reduced == last_reduced) {
      axes.dims[axes.rank - 1] *= dims[axis];
    } else {
      if (axes.rank == kMaxBroadcastRank)
        return Error(StatusCode::kNotSupported, "reduction over more than {} axes is not supported", kMaxBroadcastRank);
      if (first) plan.inner_is_reduced = reduced;
      Append(axes, dims[axis], stride);
    }
    stride *= dims[axis];
    first = false;
    last_reduced = reduced;
  }
  Reverse(plan.kept);
  Reverse(plan.reduced);
  return plan;
}

bool SupportsReduce(ReduceOp op, DType dtype) { return FindReduce(op, dtype) != nullptr; }

bool Reduce(ReduceOp op, DType dtype, const ReducePlan& plan, const void* source, void* target, ThreadPool& pool) {
  const ReduceFunction function = FindReduce(op, dtype);
  if (function == nullptr) return false;
  if (dtype == DType::kBool && plan.reduced.count == 0)
    return Fill(op == ReduceOp::kMin ? "\1" : "\0", target, plan.kept.count, 1, pool), true;
  function(op, plan, source, target, pool);
  return true;
}

}  // namespace deputy::host
