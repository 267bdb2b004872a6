// Pools over windows, global pools, and the operators that write elements back to the positions of windows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

// The first definition has it as a float.
double PowerOf(const Node& node) {
  return node.since_version < 2 ? node.Float("p", 2) : static_cast<double>(node.Int("p", 2));
}

Dims PooledDims(const Tensor& x, const Window& window) {
  Dims dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  return dims;
}

std::vector<Tensor> MaxPool(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const Window window = Window::Of(node, x.dims, node.Ints("kernel_shape", {}), Window::Overhang::kLessThanAStride);
  const bool column_major = node.Int("storage_order", 0) != 0;
  Tensor y(x.dtype, PooledDims(x, window)), indices(DEPUTY_DTYPE_INT64, y.dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(y.dims, i);
    int64_t best = -1, best_index = 0;
    for (int64_t t = 0; t < CountOf(window.kernel); ++t) {
      const Dims tap = IndexOf(window.kernel, t);
      Dims from = {at[0], at[1]};
      bool inside = true;
      for (size_t d = 0; d < window.rank(); ++d) {
        from.push_back(window.Position(d, at[d + 2], tap[d]));
        inside = inside && from.back() >= 0 && from.back() < x.dims[d + 2];
      }
      if (!inside) continue;
      const int64_t flat = Flat(x.dims, from);
      if (best >= 0 && x.Get(flat) <= x.Get(best)) continue;
      best = flat;
      best_index = flat;
      if (!column_major) continue;
      // Batch and channel stay outermost; the first spatial extent runs fastest.
      int64_t spatial = 0, plane = 1;
      for (size_t d = from.size(); d-- > 2;) spatial = spatial * x.dims[d] + from[d];
      for (size_t d = 2; d < from.size(); ++d) plane *= x.dims[d];
      best_index = (from[0] * x.dims[1] + from[1]) * plane + spatial;
    }
    if (best >= 0) y.Copy(i, x, best);
    indices.Put(i, best_index);
  }
  return node.output_count > 1 ? std::vector<Tensor>{y, indices} : std::vector<Tensor>{y};
}

// Visits the elements of every window that lie inside the input; `finish` gets their sum, their number, and the number
// of taps that lie inside the input or its padding.
template <class Term, class Finish>
Tensor SumPool(const Node& node, const Tensor& x, const Term& term, const Finish& finish) {
  const Window window = Window::Of(node, x.dims, node.Ints("kernel_shape", {}), Window::Overhang::kLessThanAStride);
  Tensor y(x.dtype, PooledDims(x, window));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(y.dims, i);
    double sum = 0;
    int64_t real = 0, padded = 0;
    for (int64_t t = 0; t < CountOf(window.kernel); ++t) {
      const Dims tap = IndexOf(window.kernel, t);
      Dims from = {at[0], at[1]};
      bool inside = true, in_padding = true;
      for (size_t d = 0; d < window.rank(); ++d) {
        const int64_t position = window.Position(d, at[d + 2], tap[d]);
        from.push_back(position);
        inside = inside && position >= 0 && position < x.dims[d + 2];
        in_padding = in_padding && position < x.dims[d + 2] + window.after[d];
      }
      if (in_padding) ++padded;
      if (!inside) continue;
      ++real;
      sum += term(x.Get(Flat(x.dims, from)));
    }
    y.Put(i, finish(sum, real, padded));
  }
  return y;
}

std::vector<Tensor> AveragePool(const Node& node, const Inputs& in) {
  return {AveragePooled(node, *in[0], node.since_version < 19 && node.Int("ceil_mode", 0) == 0)};
}

std::vector<Tensor> LpPool(const Node& node, const Inputs& in) {
  const double p = PowerOf(node);
  return {SumPool(
      node, *in[0], [=](double v) { return std::pow(std::fabs(v), p); },
      [=](double sum, int64_t, int64_t) { return std::pow(sum, 1 / p); })};
}

template <class Start, class Step, class Finish>
std::vector<Tensor> Global(const Tensor& x, const Start& start, const Step& step, const Finish& finish) {
  Dims dims = x.dims;
  for (size_t i = 2; i < dims.size(); ++i) dims[i] = 1;
  Tensor y(x.dtype, dims);
  const int64_t plane = y.count() == 0 ? 0 : x.count() / y.count();
  for (int64_t i = 0; i < y.count(); ++i) {
    double value = start;
    for (int64_t j = 0; j < plane; ++j) value = step(value, x.Get(i * plane + j));
    y.Put(i, finish(value, static_cast<double>(plane)));
  }
  return {y};
}

std::vector<Tensor> GlobalAveragePool(const Node&, const Inputs& in) {
  return Global(
      *in[0], 0.0, [](double a, double b) { return a + b; }, [](double sum, double count) { return sum / count; });
}
std::vector<Tensor> GlobalMaxPool(const Node&, const Inputs& in) {
  return Global(
      *in[0], -std::numeric_limits<double>::infinity(), [](double a, double b) { return b > a ? b : a; },
      [](double best, double) { return best; });
}
std::vector<Tensor> GlobalLpPool(const Node& node, const Inputs& in) {
  const double p = PowerOf(node);
  return Global(
      *in[0], 0.0, [=](double a, double b) { return a + std::pow(std::fabs(b), p); },
      [=](double sum, double) { return std::pow(sum, 1 / p); });
}

// Every column is a window over the image; where windows overlap, elements are added up.
std::vector<Tensor> Col2Im(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const Dims image = ListOf(*in[1]), block = ListOf(*in[2]), ones(image.size(), 1);
  const Dims strides = node.Ints("strides", ones), dilations = node.Ints("dilations", ones);
  const Dims pads = node.Ints("pads", Dims(2 * image.size(), 0));
  const int64_t taps = CountOf(block), channels = x.dims[1] / taps;
  Dims windows, dims = {x.dims[0], channels};
  for (size_t d = 0; d < image.size(); ++d) {
    const int64_t reach = (block[d] - 1) * dilations[d] + 1;
    windows.push_back((image[d] + pads[d] + pads[d + image.size()] - reach) / strides[d] + 1);
    dims.push_back(image[d]);
  }
  const bool real = IsReal(x.dtype);
  Tensor sum(real ? DEPUTY_DTYPE_FLOAT64 : x.dtype, dims), y(x.dtype, dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = IndexOf(x.dims, i), tap = IndexOf(block, at[1] % taps), window = IndexOf(windows, at[2]);
    Dims to = {at[0], at[1] / taps};
    bool inside = true;
    for (size_t d = 0; d < image.size(); ++d) {
      to.push_back(window[d] * strides[d] + tap[d] * dilations[d] - pads[d]);
      inside = inside && to.back() >= 0 && to.back() < image[d];
    }
    if (!inside) continue;
    const int64_t flat = Flat(dims, to);
    if (real)
      sum.Put(flat, sum.Get(flat) + x.Get(i));
    else
      sum.Put(flat, sum.whole[static_cast<size_t>(flat)] + x.whole[static_cast<size_t>(i)]);
  }
  if (!real) return {sum};
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, sum.Get(i));
  return {y};
}

// Indices count in the output, whose shape is given or follows from the attributes.
std::vector<Tensor> MaxUnpool(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &indices = *in[1];
  const Dims kernel = node.Ints("kernel_shape", {}), strides = node.Ints("strides", Dims(kernel.size(), 1));
  const Dims pads = node.Ints("pads", Dims(2 * kernel.size(), 0));
  Dims dims = {x.dims[0], x.dims[1]};
  for (size_t d = 0; d < kernel.size(); ++d)
    dims.push_back((x.dims[d + 2] - 1) * strides[d] - pads[d] - pads[d + kernel.size()] + kernel[d]);
  Tensor y(x.dtype, At(in, 2) != nullptr ? ListOf(*in[2]) : dims);
  for (int64_t i = 0; i < x.count(); ++i) y.Copy(static_cast<int64_t>(indices.Get(i)), x, i);
  return {y};
}

}  // namespace

Tensor AveragePooled(const Node& node, const Tensor& x, bool count_all) {
  const bool include = node.Int("count_include_pad", 0) != 0;
  const int64_t taps = CountOf(node.Ints("kernel_shape", {}));
  return SumPool(
      node, x, [](double v) { return v; },
      [=](double sum, int64_t real, int64_t padded) {
        const int64_t count = include ? (count_all ? taps : padded) : real;
        return sum / static_cast<double>(std::max<int64_t>(1, count));
      });
}

KernelRows PoolingKernels() {
  return {{"AveragePool", AveragePool},
          {"Col2Im", Col2Im},
          {"GlobalAveragePool", GlobalAveragePool},
          {"GlobalLpPool", GlobalLpPool},
          {"GlobalMaxPool", GlobalMaxPool},
          {"LpPool", LpPool},
          {"MaxPool", MaxPool},
          {"MaxUnpool", MaxUnpool}};
}

}  // namespace deputy::conformance::reference
