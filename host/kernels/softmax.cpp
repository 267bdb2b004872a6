// The largest element is subtracted before the exponential, which then cannot overflow.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"
#include "kernels/reduce.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

constexpr size_t kSoftmaxLanes = 8;

template <class T>
T LargestOf(const T* row, int64_t count) {
  T lanes[kSoftmaxLanes];
  std::fill_n(lanes, kSoftmaxLanes, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kSoftmaxLanes) <= count; i += kSoftmaxLanes)
    for (size_t lane = 0; lane < kSoftmaxLanes; ++lane) {
      const T x = row[i + static_cast<int64_t>(lane)];
      lanes[lane] = x > lanes[lane] ? x : lanes[lane];
    }
  for (; i < count; ++i) lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  return *std::max_element(lanes, lanes + kSoftmaxLanes);
}

template <class T>
T SumOf(const T* row, int64_t count) {
  T lanes[kSoftmaxLanes] = {};
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kSoftmaxLanes) <= count; i += kSoftmaxLanes)
    for (size_t lane = 0; lane < kSoftmaxLanes; ++lane) lanes[lane] += row[i + static_cast<int64_t>(lane)];
  T sum = 0;
  for (; i < count; ++i) sum += row[i];
  for (const T lane : lanes) sum += lane;
  return sum;
}

// The maximum may ignore NaN: the element itself makes the sum NaN.
template <class T>
void SoftmaxRow(const T* from, T* to, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    if (count <= kLongRow) return linalg::Softmax(from, count, to);
  }
  constexpr int64_t kBlock = 1024;
  T largest = -std::numeric_limits<T>::infinity();
  double sum = 0;  // of short sums
  InParts(count, kLongRow,
          [&](int64_t begin, int64_t end) { largest = std::max(largest, LargestOf(from + begin, end - begin)); });
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = ExpOf(from[i] - largest);
    for (int64_t at = begin; at < end; at += kBlock)
      sum += static_cast<double>(SumOf(to + at, std::min(kBlock, end - at)));
  });
  const T scale = static_cast<T>(1 / sum);
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] *= scale;
  });
}

template <class T>
void LogSoftmaxRow(const T* from, T* to, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    if (count <= kLongRow) return linalg::LogSoftmax(from, count, to);
  }
  constexpr int64_t kBlock = 256;
  T powers[kBlock];  // not in `to`, which may be the source
  T largest = -std::numeric_limits<T>::infinity();
  double sum = 0;  // of short sums
  InParts(count, kLongRow,
          [&](int64_t begin, int64_t end) { largest = std::max(largest, LargestOf(from + begin, end - begin)); });
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t block = std::min(kBlock, end - at);
      for (int64_t i = 0; i < block; ++i) powers[i] = ExpOf(from[at + i] - largest);
      sum += static_cast<double>(SumOf(powers, block));
    }
  });
  const T log_sum = static_cast<T>(std::log(sum));
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[i] - largest - log_sum;
  });
}

// So many columns are computed side by side.
constexpr int64_t kSoftmaxBlock = 64;

// Adjacent columns side by side; begin and end count columns of all outer positions.
template <bool kLog, class T>
void SoftmaxColumns(const AxisView& view, const T* source, T* target, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = kSoftmaxBlock;
  EndCheck columns;
  while (begin < end) {
    const int64_t column = begin % view.inner;
    const int64_t width = std::min({kBlock, end - begin, view.inner - column});
    const int64_t base = begin / view.inner * view.extent * view.inner + column;
    const T* from = source + base;
    T* to = target + base;
    T largest[kBlock], sum[kBlock];
    std::fill_n(largest, kBlock, -std::numeric_limits<T>::infinity());
    InPartsOf(view.extent, width, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k)
        for (int64_t i = 0; i < width; ++i)
          largest[i] = from[k * view.inner + i] > largest[i] ? from[k * view.inner + i] : largest[i];
    });
    // A long sum would lose small terms: it is divided into short ones.
    constexpr int64_t kTerms = 64;
    double total[kBlock] = {};
    EndCheck check;
    for (int64_t first = 0; first < view.extent && !check.Ends(kTerms * width * 8); first += kTerms) {
      std::fill_n(sum, kBlock, T{0});
      for (int64_t k = first; k < std::min(first + kTerms, view.extent); ++k) {
        for (int64_t i = 0; i < width; ++i) {
          const T power = ExpOf(from[k * view.inner + i] - largest[i]);
          sum[i] += power;
          if constexpr (!kLog) to[k * view.inner + i] = power;
        }
      }
      for (int64_t i = 0; i < width; ++i) total[i] += static_cast<double>(sum[i]);
    }
    for (int64_t i = 0; i < width; ++i) sum[i] = static_cast<T>(kLog ? std::log(total[i]) : 1 / total[i]);
    InPartsOf(view.extent, width, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        for (int64_t i = 0; i < width; ++i) {
          if constexpr (kLog)
            to[k * view.inner + i] = from[k * view.inner + i] - largest[i] - sum[i];
          else
            to[k * view.inner + i] *= sum[i];
        }
      }
    });
    begin += width;
    if (columns.Ends(StepsOf(view.extent, width))) return;
  }
}

template <class T>
void HardmaxColumns(const AxisView& view, const T* source, T* target, int64_t begin, int64_t end) {
  if (view.extent == 0) return;
  EndCheck check;
  while (begin < end) {
    const int64_t column = begin % view.inner;
    const int64_t width = std::min({kSoftmaxBlock, end - begin, view.inner - column});
    const int64_t base = begin / view.inner * view.extent * view.inner + column;
    const T* from = source + base;
    T* to = target + base;
    T largest[kSoftmaxBlock];
    int64_t best[kSoftmaxBlock];
    std::copy_n(from, width, largest);
    std::fill_n(best, width, 0);
    InPartsOf(view.extent, width, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        for (int64_t i = 0; i < width; ++i) {
          if (from[k * view.inner + i] > largest[i]) {
            largest[i] = from[k * view.inner + i];
            best[i] = k;
          }
        }
      }
    });
    InPartsOf(view.extent, width, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k)
        for (int64_t i = 0; i < width; ++i) to[k * view.inner + i] = k == best[i] ? T{1} : T{0};
    });
    begin += width;
    if (check.Ends(StepsOf(view.extent, width))) return;
  }
}

template <class T>
void SoftmaxRange(SoftmaxOp op, const AxisView& view, const T* source, T* target, int64_t begin, int64_t end) {
  if (op == SoftmaxOp::kHardmax) {
    HardmaxColumns(view, source, target, begin, end);
  } else if (view.inner == 1) {
    ForEachUntilEnd(begin, end, view.extent, [&](int64_t at) {
      const T* from = source + at * view.extent;
      T* to = target + at * view.extent;
      if (op == SoftmaxOp::kSoftmax)
        SoftmaxRow(from, to, view.extent);
      else
        LogSoftmaxRow(from, to, view.extent);
    });
  } else if (op == SoftmaxOp::kSoftmax) {
    SoftmaxColumns<false>(view, source, target, begin, end);
  } else {
    SoftmaxColumns<true>(view, source, target, begin, end);
  }
}

// Sums or products.
template <CumulativeOp kOp, class T>
void CumulateRange(const AxisView& view, bool exclusive, bool reverse, const T* source, T* target, int64_t begin,
                   int64_t end) {
  constexpr T kStart = kOp == CumulativeOp::kProduct ? 1 : 0;
  const auto join = [](T total, T element) {
    if constexpr (kOp == CumulativeOp::kProduct) return total * element;
    return total + element;
  };
  const int64_t step = reverse ? -view.inner : view.inner;
  constexpr int64_t kBlock = kSoftmaxBlock;
  EndCheck check;
  while (view.inner > 1 && begin < end) {  // adjacent columns side by side
    const int64_t column = begin % view.inner, width = std::min({kBlock, end - begin, view.inner - column});
    int64_t offset = begin / view.inner * view.extent * view.inner + column;
    if (reverse) offset += (view.extent - 1) * view.inner;
    T totals[kBlock];
    std::fill_n(totals, kBlock, kStart);
    InParts(view.extent, kLongRow / kBlock, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k, offset += step) {
        const T* from = source + offset;
        T* to = target + offset;
        for (int64_t i = 0; i < width; ++i) {
          const T next = join(totals[i], from[i]);
          to[i] = exclusive ? totals[i] : next;
          totals[i] = next;
        }
      }
    });
    begin += width;
    if (check.Ends(StepsOf(view.extent, width))) return;
  }
  ForEachUntilEnd(begin, end, view.extent, [&](int64_t at) {
    int64_t offset = at / view.inner * view.extent * view.inner + at % view.inner;
    if (reverse) offset += (view.extent - 1) * view.inner;
    T total = kStart;
    InParts(view.extent, kLongRow, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k, offset += step) {
        const T next = join(total, source[offset]);
        target[offset] = exclusive ? total : next;
        total = next;
      }
    });
  });
}

int64_t Grain(const AxisView& view, int64_t elements) {
  return std::max<int64_t>(std::min(view.inner, kSoftmaxBlock), elements / std::max<int64_t>(view.extent, 1));
}

}  // namespace

bool Softmax(SoftmaxOp op, DType dtype, const AxisView& view, const void* source, void* target, ThreadPool& pool) {
  if (view.extent == 0) return dtype == DType::kFloat32 || dtype == DType::kFloat64;
  return DispatchFloat(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(view.outer * view.inner, Grain(view, 4096), [&](int64_t begin, int64_t end) {
      SoftmaxRange(op, view, static_cast<const T*>(source), static_cast<T*>(target), begin, end);
    });
  });
}

bool Cumulate(CumulativeOp op, DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* source,
              void* target, ThreadPool& pool) {
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto range =
        op == CumulativeOp::kSum ? CumulateRange<CumulativeOp::kSum, T> : CumulateRange<CumulativeOp::kProduct, T>;
    pool.ParallelFor(view.outer * view.inner, Grain(view, 16384), [&](int64_t begin, int64_t end) {
      range(view, exclusive, reverse, static_cast<const T*>(source), static_cast<T*>(target), begin, end);
    });
    return true;
  };
  switch (dtype) {
    case DType::kFloat32: return run(TypeTag<float>());
    case DType::kFloat64: return run(TypeTag<double>());
    // A signed sum or product has the bits of the unsigned one, which may overflow.
    case DType::kInt32:
    case DType::kUint32: return run(TypeTag<uint32_t>());
    case DType::kInt64:
    case DType::kUint64: return run(TypeTag<uint64_t>());
    default: return false;
  }
}

}  // namespace deputy::host
