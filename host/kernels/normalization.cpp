#include "kernels/normalization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

// In deviations. With a smaller mean at most two digits are lost.
constexpr double kLargeMean = 8;

// The least number of rows of `size` elements for a thread.
int64_t Grain(int64_t size) { return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, size)); }

struct Statistics {
  double mean = 0, inverse_deviation = 0;
};

// In two passes, and in double: the squares of large means would swallow small variances.
template <class T>
Statistics StatisticsOf(const T* x, int64_t size, double epsilon) {
  const double count = static_cast<double>(size);
  double mean = 0, squares = 0;
  InParts(size, kLongRow, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      mean += linalg::Sum(x + begin, end - begin);
    else
      for (int64_t i = begin; i < end; ++i) mean += x[i];
  });
  mean /= count;
  InParts(size, kLongRow, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      squares += linalg::SumOfSquares(x + begin, end - begin, mean);
    else
      for (int64_t i = begin; i < end; ++i) squares += (x[i] - mean) * (x[i] - mean);
  });
  return {mean, 1 / std::sqrt(squares / count + epsilon)};
}

template <class T>
void ScaleRow(const T* x, T factor, T offset, int64_t size, T* y) {
  InParts(size, kLongRow, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      linalg::Apply(linalg::RowFunction::kAffine, x + begin, end - begin, factor, offset, y + begin);
    else
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * factor + offset;
  });
}

template <class T>
void NormalizeRow(const LayerNormalization<T>& args, const T* x, T mean, T inverse, T* y) {
  InParts(args.size, kLongRow, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      linalg::Normalize(x + begin, end - begin, mean, inverse, args.scale + begin,
                        args.bias == nullptr ? nullptr : args.bias + begin, y + begin);
    } else {
      for (int64_t i = begin; i < end; ++i)
        y[i] = (x[i] - mean) * inverse * args.scale[i] + (args.bias == nullptr ? T(0) : args.bias[i]);
    }
  });
}

constexpr int64_t kNormalizationGrain = 8192;

int64_t RowGrain(int64_t elements) { return kNormalizationGrain / std::max<int64_t>(elements, 1) + 1; }

}  // namespace

template <class T>
void ScaleChannels(const ChannelShape& shape, const T* x, const T* factors, const T* offsets, T* y, ThreadPool& pool) {
  // Without inner elements, channels are adjacent: a row is all channels of one image.
  if (shape.size == 1) {
    pool.ParallelFor(shape.batch, Grain(shape.channels), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        InPartsOf(shape.channels, 1, [&](int64_t first, int64_t last) {
          for (int64_t c = first; c < last; ++c)
            y[n * shape.channels + c] = x[n * shape.channels + c] * factors[c] + offsets[c];
        });
    });
    return;
  }
  pool.ParallelFor(shape.batch * shape.channels, Grain(shape.size), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      ScaleRow(x + p * shape.size, factors[p % shape.channels], offsets[p % shape.channels], shape.size,
               y + p * shape.size);
  });
}

template <class T>
void InstanceNormalize(const ChannelShape& shape, const T* x, const T* scale, const T* bias, double epsilon, T* y,
                       ThreadPool& pool) {
  pool.ParallelFor(shape.batch * shape.channels, Grain(shape.size), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const Statistics statistics = StatisticsOf(x + p * shape.size, shape.size, epsilon);
      const double factor = static_cast<double>(scale[p % shape.channels]) * statistics.inverse_deviation;
      const double shift = static_cast<double>(bias[p % shape.channels]), mean = statistics.mean;
      const T* from = x + p * shape.size;
      T* to = y + p * shape.size;
      // One pass, unless the mean is so much larger than the deviation that the product would lose precision.
      if (std::fabs(mean) * statistics.inverse_deviation < kLargeMean) {
        ScaleRow(from, static_cast<T>(factor), static_cast<T>(shift - mean * factor), shape.size, to);
        continue;
      }
      InParts(shape.size, kLongRow, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i)
          to[i] = static_cast<T>((static_cast<double>(from[i]) - mean) * factor + shift);
      });
    }
  });
}

template <class T>
void LayerNormalize(const LayerNormalization<T>& args, ThreadPool& pool) {
  pool.ParallelFor(args.rows, Grain(args.size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = args.x + r * args.size;
      const Statistics statistics = StatisticsOf(x, args.size, args.epsilon);
      NormalizeRow(args, x, static_cast<T>(statistics.mean), static_cast<T>(statistics.inverse_deviation),
                   args.y + r * args.size);
      if (args.means != nullptr) args.means[r] = static_cast<float>(statistics.mean);
      if (args.inverse_deviations != nullptr)
        args.inverse_deviations[r] = static_cast<float>(statistics.inverse_deviation);
    }
  });
}

template <class T>
void NormalizeResponse(const ChannelShape& shape, const ResponseNormalization& how, const T* x, T* y,
                       ThreadPool& pool) {
  const T alpha = static_cast<T>(how.alpha / static_cast<double>(how.window)), bias = static_cast<T>(how.bias);
  const T beta = static_cast<T>(how.beta);
  const bool three_quarters = how.beta == 0.75;  // the value in nearly every model
  constexpr int64_t kMostSquares = 1 << 22;      // between two checks whether the run ends
  const int64_t squares = std::max<int64_t>(1, std::min(how.window, shape.channels) * shape.size);
  pool.ParallelFor(shape.batch * shape.channels, Grain(shape.size), [&](int64_t begin, int64_t end) {
    InParts(end - begin, std::max<int64_t>(1, kMostSquares / squares), [&](int64_t from, int64_t to) {
      for (int64_t p = begin + from; p < begin + to; ++p) {
        const int64_t channel = p % shape.channels;
        const int64_t first = std::max<int64_t>(0, channel - (how.window - 1) / 2);
        const int64_t last = std::min(shape.channels - 1, channel + how.window / 2);
        const int64_t part = std::max<int64_t>(1, kMostSquares / std::max<int64_t>(1, last - first + 1));
        InParts(shape.size, part, [&](int64_t low, int64_t high) {
          T* sums = y + p * shape.size;
          std::fill(sums + low, sums + high, T(0));
          for (int64_t c = first; c <= last; ++c) {
            const T* neighbour = x + (p - channel + c) * shape.size;
            for (int64_t i = low; i < high; ++i) sums[i] += neighbour[i] * neighbour[i];
          }
          const T* own = x + p * shape.size;
          for (int64_t i = low; i < high; ++i) {
            const T base = bias + alpha * sums[i];
            if (three_quarters) {
              const T root = std::sqrt(base);
              sums[i] = own[i] / (root * std::sqrt(root));
            } else {
              sums[i] = own[i] / std::pow(base, beta);
            }
          }
        });
      }
    });
  });
}

template void ScaleChannels(const ChannelShape&, const float*, const float*, const float*, float*, ThreadPool&);
template void ScaleChannels(const ChannelShape&, const double*, const double*, const double*, double*, ThreadPool&);
template void InstanceNormalize(const ChannelShape&, const float*, const float*, const float*, double, float*,
                                ThreadPool&);
template void InstanceNormalize(const ChannelShape&, const double*, const double*, const double*, double, double*,
                                ThreadPool&);
template void LayerNormalize(const LayerNormalization<float>&, ThreadPool&);
template void LayerNormalize(const LayerNormalization<double>&, ThreadPool&);
template void NormalizeResponse(const ChannelShape&, const ResponseNormalization&, const float*, float*, ThreadPool&);
template void NormalizeResponse(const ChannelShape&, const ResponseNormalization&, const double*, double*, ThreadPool&);

template <class T>
void RootMeanSquareNormalize(int64_t rows, int64_t size, double epsilon, const T* x, const T* scale, T* y,
                             ThreadPool& pool) {
  pool.ParallelFor(rows, RowGrain(size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x + row * size;
      T* to = y + row * size;
      double sum = 0;
      InParts(size, kLongRow, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) sum += static_cast<double>(from[i]) * static_cast<double>(from[i]);
      });
      const T factor = static_cast<T>(1 / std::sqrt(sum / static_cast<double>(size) + epsilon));
      InParts(size, kLongRow, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) to[i] = from[i] * factor * scale[i];
      });
    }
  });
}

double LineNorm::Divide(double x) const { return (exponent == 0 ? x : std::ldexp(x, -exponent)) / value; }

template <class T>
LineNorm NormOf(int p, const T* x, int64_t count, int64_t stride) {
  LineNorm norm;
  const auto add = [&](auto scaled) {
    norm.value = 0;
    InParts(count, kLongRow, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const double value = scaled(static_cast<double>(x[i * stride]));
        norm.value += p == 1 ? std::fabs(value) : value * value;
      }
    });
  };
  add([](double value) { return value; });
  if constexpr (std::is_same_v<T, double>) {
    // Below this the squares that count are subnormal. Sums of subnormal magnitudes are exact.
    constexpr double kLeastSum = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
    if (std::isinf(norm.value) || (p == 2 && norm.value < kLeastSum)) {
      double most = 0;
      InParts(count, kLongRow, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) most = std::max(most, std::fabs(x[i * stride]));
      });
      if (most != 0 && !std::isinf(most)) {
        norm.exponent = std::ilogb(most);
        // The scaled magnitudes are less than 2, so that no sum of them overflows.
        add([&](double value) { return std::ldexp(value, -norm.exponent); });
      }
    }
  }
  if (p != 1) norm.value = std::sqrt(norm.value);
  return norm;
}

template <class T>
void NormNormalize(const AxisView& view, int p, const T* x, T* y, ThreadPool& pool) {
  pool.ParallelFor(view.outer * view.inner, RowGrain(view.extent), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / view.inner * view.extent * view.inner + line % view.inner;
      const LineNorm norm = NormOf(p, x + first, view.extent, view.inner);
      InParts(view.extent, kLongRow, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
          const int64_t at = first + i * view.inner;
          y[at] = norm.value == 0 ? x[at] : static_cast<T>(norm.Divide(static_cast<double>(x[at])));
        }
      });
    }
  });
}

template void RootMeanSquareNormalize<float>(int64_t, int64_t, double, const float*, const float*, float*, ThreadPool&);
template void RootMeanSquareNormalize<double>(int64_t, int64_t, double, const double*, const double*, double*,
                                              ThreadPool&);
template LineNorm NormOf<float>(int, const float*, int64_t, int64_t);
template LineNorm NormOf<double>(int, const double*, int64_t, int64_t);
template LineNorm NormOf<int32_t>(int, const int32_t*, int64_t, int64_t);
template LineNorm NormOf<int64_t>(int, const int64_t*, int64_t, int64_t);
template void NormNormalize<float>(const AxisView&, int, const float*, float*, ThreadPool&);
template void NormNormalize<double>(const AxisView&, int, const double*, double*, ThreadPool&);

}  // namespace deputy::host
