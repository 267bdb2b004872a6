// Iterates over a reduction's axes. If the innermost axis is reduced, runs of it are added to a few independent
// accumulators; if it is kept, a block of outputs is accumulated side by side. Both are vector code.
#include "kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

constexpr size_t kAccumulatorBytes = 16;  // at most
constexpr int64_t kLongRun = 32;          // of floats, for a module of linalg/

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

// Adjacent outputs that are accumulated side by side, and an exponential for each element, at most.
constexpr int64_t kOutputsOfBlock = 128, kStepsOfElement = 8;

// The loops of one accumulation and type. What goes over axes and threads is the same for all, and is there once.
struct Loops {
  size_t element_bytes;
  // Accumulators, of which there are as many as outputs of a block, or as lanes of a run.
  void (*begin)(void* accumulators, int64_t count);
  void (*finish)(ReduceOp op, const void* accumulators, int64_t count, int64_t reduced, void* target);
  // Adds a row to the accumulators of a block.
  void (*add_row)(void* accumulators, const void* row, int64_t width);
  // Adds a run to the lanes.
  void (*add_run)(void* lanes, const void* run, int64_t count);
  // Finishes the sum of all lanes.
  void (*finish_run)(ReduceOp op, void* lanes, int64_t reduced, void* target);
  // One run that is all of an output.
  void (*reduce_run)(ReduceOp op, const void* run, int64_t count, void* target);
  size_t lanes;
  // For runs of float that a module of linalg/ sums up; else null.
  double (*sum_floats)(const float* run, int64_t count);
};

template <class A, class T>
struct LoopsOf {
  static constexpr int64_t kLanes = static_cast<int64_t>(A::kLanes);

  static void Begin(void* accumulators, int64_t count) { std::fill_n(static_cast<A*>(accumulators), count, A()); }
  static void Finish(ReduceOp op, const void* accumulators, int64_t count, int64_t reduced, void* target) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<T*>(target)[i] = static_cast<const A*>(accumulators)[i].Finish(op, reduced);
  }
  static void AddRow(void* accumulators, const void* row, int64_t width) {
    A* const block = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < width; ++i) block[i].Add(static_cast<const T*>(row)[i]);
  }
  [[gnu::noinline]] static void AddRun(void* accumulators, const void* run, int64_t count) {
    A lanes[A::kLanes];
    std::copy_n(static_cast<const A*>(accumulators), kLanes, lanes);
    const T* const from = static_cast<const T*>(run);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) AddToLanes(from + i, lanes);
    for (; i < count; ++i) lanes[0].Add(from[i]);
    std::copy_n(lanes, kLanes, static_cast<A*>(accumulators));
  }
  [[gnu::noinline]] static void FinishRun(ReduceOp op, void* accumulators, int64_t reduced, void* target) {
    A* const lanes = static_cast<A*>(accumulators);
    for (int64_t lane = 1; lane < kLanes; ++lane) lanes[0].Merge(lanes[lane]);
    *static_cast<T*>(target) = lanes[0].Finish(op, reduced);
  }
  static void ReduceRun(ReduceOp op, const void* run, int64_t count, void* target) {
    A lanes[A::kLanes];
    AddRun(lanes, run, count);
    FinishRun(op, lanes, count, target);
  }

 private:
  static void AddToLanes(const T* from, A (&lanes)[A::kLanes]) {
    if constexpr (A::kLanes <= 8) {  // in registers, which they are only where the loop is unrolled
#pragma GCC unroll 8
      for (size_t lane = 0; lane < A::kLanes; ++lane) lanes[lane].Add(from[lane]);
    } else {
      for (size_t lane = 0; lane < A::kLanes; ++lane) lanes[lane].Add(from[lane]);
    }
  }
};

double SumOfSquares(const float* run, int64_t count) { return linalg::SumOfSquares(run, count, 0); }

template <Accumulation kWhat, class T, class State>
const Loops* LoopsFor() {
  using A = Accumulator<kWhat, T, State>;
  using L = LoopsOf<A, T>;
  static_assert(sizeof(A) <= kAccumulatorBytes && std::is_trivially_copyable_v<A> && A::kLanes <= kOutputsOfBlock);
  static constexpr bool kIsFloat = std::is_same_v<T, float>;
  static constexpr Loops kLoops = {sizeof(T),
                                   L::Begin,
                                   L::Finish,
                                   L::AddRow,
                                   L::AddRun,
                                   L::FinishRun,
                                   L::ReduceRun,
                                   A::kLanes,
                                   kIsFloat && kWhat == Accumulation::kSum            ? linalg::Sum
                                   : kIsFloat && kWhat == Accumulation::kSumOfSquares ? SumOfSquares
                                                                                      : nullptr};
  return &kLoops;
}

struct alignas(64) Accumulators {
  std::byte bytes[kOutputsOfBlock * kAccumulatorBytes];
};

// One output, the sum of runs.
void ReduceRuns(const Loops& loops, ReduceOp op, const ReducePlan& plan, const std::byte* source, void* target) {
  constexpr int64_t kPart = 1 << 20;  // a multiple of the lanes
  const size_t rank = plan.reduced.rank;
  const int64_t run = rank == 0 ? 1 : plan.reduced.dims[rank - 1];
  if (rank <= 1 && run <= kPart && (loops.sum_floats == nullptr || run < kLongRun))
    return loops.reduce_run(op, source, run, target);
  const size_t outer = rank == 0 ? 0 : rank - 1;
  if (loops.sum_floats != nullptr && run >= kLongRun) {
    double sum = 0;
    ForEachOffset(plan.reduced, outer, run, [&](int64_t offset) {
      InParts(run, kLongRow, [&](int64_t begin, int64_t end) {
        sum += loops.sum_floats(reinterpret_cast<const float*>(source) + offset + begin, end - begin);
      });
    });
    *static_cast<float*>(target) = Finished<float>(op, sum, plan.reduced.count);
    return;
  }
  Accumulators lanes;
  loops.begin(lanes.bytes, static_cast<int64_t>(loops.lanes));
  ForEachOffset(plan.reduced, outer, StepsOf(run, kStepsOfElement), [&](int64_t offset) {
    InParts(run, kPart, [&](int64_t begin, int64_t end) {
      loops.add_run(lanes.bytes, source + (offset + begin) * static_cast<int64_t>(loops.element_bytes), end - begin);
    });
  });
  loops.finish_run(op, lanes.bytes, plan.reduced.count, target);
}

void ReduceBlocks(const Loops& loops, ReduceOp op, const ReducePlan& plan, const std::byte* source, std::byte* target,
                  int64_t begin, int64_t end) {
  const int64_t inner = plan.kept.dims[plan.kept.rank - 1], bytes = static_cast<int64_t>(loops.element_bytes);
  EndCheck check;
  Accumulators block;
  while (begin < end) {
    const int64_t width = std::min({kOutputsOfBlock, end - begin, inner - begin % inner});
    loops.begin(block.bytes, width);
    const std::byte* from = source + OffsetOf(plan.kept, begin) * bytes;
    ForEachOffset(plan.reduced, plan.reduced.rank, width * kStepsOfElement,
                  [&](int64_t offset) { loops.add_row(block.bytes, from + offset * bytes, width); });
    loops.finish(op, block.bytes, width, plan.reduced.count, target + begin * bytes);
    begin += width;
    if (check.Ends(StepsOf(plan.reduced.count, width))) return;
  }
}

void ReduceWith(const Loops& loops, ReduceOp op, const ReducePlan& plan, const void* source, void* target,
                ThreadPool& pool) {
  const int64_t bytes = static_cast<int64_t>(loops.element_bytes);
  if (plan.reduced.count == 0) {
    alignas(8) std::byte result[8];
    Accumulators none;
    loops.begin(none.bytes, 1);
    loops.finish(op, none.bytes, 1, 0, result);
    Fill(result, target, plan.kept.count, loops.element_bytes, pool);
    return;
  }
  constexpr int64_t kElements = 16384;  // of the source, the least number for a thread
  const int64_t grain = std::max<int64_t>(1, kElements / plan.reduced.count);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  pool.ParallelFor(plan.kept.count, plan.inner_is_reduced ? grain : std::max<int64_t>(grain, 32),
                   [&](int64_t begin, int64_t end) {
                     if (plan.inner_is_reduced)
                       ForEachUntilEnd(begin, end, plan.reduced.count, [&](int64_t i) {
                         ReduceRuns(loops, op, plan, from + OffsetOf(plan.kept, i) * bytes, to + i * bytes);
                       });
                     else
                       ReduceBlocks(loops, op, plan, from, to, begin, end);
                   });
}

template <Accumulation kWhat>
const Loops* FindInDouble(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return LoopsFor<kWhat, float, double>();
    case DType::kFloat64: return LoopsFor<kWhat, double, double>();
    case DType::kInt32: return LoopsFor<kWhat, int32_t, double>();
    case DType::kInt64: return LoopsFor<kWhat, int64_t, double>();
    case DType::kUint32: return LoopsFor<kWhat, uint32_t, double>();
    case DType::kUint64: return LoopsFor<kWhat, uint64_t, double>();
    default: return nullptr;
  }
}

// Integers wrap; those of which the sign has no part in the result are unsigned.
template <Accumulation kWhat>
const Loops* FindWrapping(DType dtype, bool is_signed) {
  switch (dtype) {
    case DType::kFloat32: return LoopsFor<kWhat, float, double>();
    case DType::kFloat64: return LoopsFor<kWhat, double, double>();
    case DType::kInt32:
      if (is_signed) return LoopsFor<kWhat, int32_t, uint64_t>();
      [[fallthrough]];
    case DType::kUint32: return LoopsFor<kWhat, uint32_t, uint64_t>();
    case DType::kInt64:
      if (is_signed) return LoopsFor<kWhat, int64_t, uint64_t>();
      [[fallthrough]];
    case DType::kUint64: return LoopsFor<kWhat, uint64_t, uint64_t>();
    default: return nullptr;
  }
}

template <Accumulation kWhat>
const Loops* FindExtreme(DType dtype) {
  const Loops* found = nullptr;
  DispatchNumeric(dtype == DType::kBool ? DType::kUint8 : dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    found = LoopsFor<kWhat, T, T>();
  });
  return found;
}

const Loops* FindLoops(ReduceOp op, DType dtype) {
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

bool SupportsReduce(ReduceOp op, DType dtype) { return FindLoops(op, dtype) != nullptr; }

bool Reduce(ReduceOp op, DType dtype, const ReducePlan& plan, const void* source, void* target, ThreadPool& pool) {
  const Loops* const loops = FindLoops(op, dtype);
  if (loops == nullptr) return false;
  if (dtype == DType::kBool && plan.reduced.count == 0)
    return Fill(op == ReduceOp::kMin ? "\1" : "\0", target, plan.kept.count, 1, pool), true;
  ReduceWith(*loops, op, plan, source, target, pool);
  return true;
}

}  // namespace deputy::host
