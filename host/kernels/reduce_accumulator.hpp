// The accumulators of reductions: one small class per operation and type.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/reduce.hpp"
#include "kernels/saturate.hpp"

namespace deputy::host {

template <ReduceOp kOp, class T>
class Accumulator {
  static constexpr bool kFloat = std::is_floating_point_v<T>;
  static constexpr bool kInDouble = kFloat || kOp == ReduceOp::kL2 || kOp == ReduceOp::kLogSum;
  // Unsigned, because it wraps; its low bits are the sum in any narrower integer type.
  using State = std::conditional_t<kInDouble, double, uint64_t>;

 public:
  void Add(T value) {
    const State x = static_cast<State>(value);
    if constexpr (kOp == ReduceOp::kProd)
      state_ *= x;
    else if constexpr (kOp == ReduceOp::kL1)
      state_ += value < 0 ? State{0} - x : x;
    else if constexpr (kOp == ReduceOp::kL2 || kOp == ReduceOp::kSumSquare)
      state_ += x * x;
    else
      state_ += x;
  }

  void Merge(const Accumulator& other) {
    if constexpr (kOp == ReduceOp::kProd)
      state_ *= other.state_;
    else
      state_ += other.state_;
  }

  T Finish(int64_t count) const {
    if constexpr (kOp == ReduceOp::kMean && !kFloat) {
      if (count == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        return static_cast<T>(static_cast<int64_t>(state_) / count);
      else
        return static_cast<T>(state_ / static_cast<uint64_t>(count));
    } else if constexpr (kInDouble) {
      double result = state_;
      if constexpr (kOp == ReduceOp::kMean) result /= static_cast<double>(count);
      if constexpr (kOp == ReduceOp::kL2) result = std::sqrt(result);
      if constexpr (kOp == ReduceOp::kLogSum) result = std::log(result);
      if constexpr (kFloat)
        return static_cast<T>(result);
      else
        return SaturateCast<T>(result);
    } else {
      return static_cast<T>(state_);
    }
  }

 private:
  State state_ = kOp == ReduceOp::kProd ? State{1} : State{0};
};

template <bool kLargest, class T>
class ExtremeAccumulator {
 public:
  void Add(T x) {
    if constexpr (kLargest)
      state_ = x > state_ || x != x ? x : state_;
    else
      state_ = x < state_ || x != x ? x : state_;
  }
  void Merge(const ExtremeAccumulator& other) { Add(other.state_); }
  T Finish(int64_t) const { return state_; }

 private:
  using Limits = std::numeric_limits<T>;
  static constexpr T kLow = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  static constexpr T kHigh = Limits::has_infinity ? Limits::infinity() : Limits::max();
  T state_ = kLargest ? kLow : kHigh;
};

template <class T>
class Accumulator<ReduceOp::kMax, T> : public ExtremeAccumulator<true, T> {};
template <class T>
class Accumulator<ReduceOp::kMin, T> : public ExtremeAccumulator<false, T> {};

// log(sum(exp(x))) in one pass: the sum is kept relative to the largest element so far.
template <class T>
class Accumulator<ReduceOp::kLogSumExp, T> {
 public:
  void Add(T x) { Include(static_cast<double>(x), 1); }
  void Merge(const Accumulator& other) { Include(other.largest_, other.sum_); }
  T Finish(int64_t) const {
    const double result = largest_ + std::log(sum_);
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(result);
    else
      return SaturateCast<T>(result);
  }

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

}  // namespace deputy::host
