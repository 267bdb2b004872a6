// Reductions over axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

using Step = double (*)(double accumulated, double value);

double Sum(double a, double b) { return a + b; }
double SumOfSizes(double a, double b) { return a + std::fabs(b); }
double SumOfSquares(double a, double b) { return a + b * b; }
double SumOfExponentials(double a, double b) { return a + std::exp(b); }
double Product(double a, double b) { return a * b; }
double AsItIs(double a, double) { return a; }
double Divide(double a, double count) { return a / count; }
double Root(double a, double) { return std::sqrt(a); }
double Logarithm(double a, double) { return std::log(a); }

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The extents of the result, with and without the reduced axes.
struct Shapes {
  Dims kept, dims;
};

Shapes ShapesOf(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  std::vector<int64_t> axes = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("axes", {});
  // Without axes all elements are reduced, or each element by itself.
  std::vector<bool> reduced(x.rank(), axes.empty() && node.Int("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : axes) reduced[FromFront(axis, x.rank())] = true;
  Shapes shapes;
  for (size_t i = 0; i < x.rank(); ++i) {
    shapes.kept.push_back(reduced[i] ? 1 : x.dims[i]);
    if (!reduced[i] || node.Int("keepdims", 1) != 0) shapes.dims.push_back(shapes.kept.back());
  }
  return shapes;
}

// `kFinish` gets the accumulated number and the count.
template <int kStart, Step kStep, Step kFinish>
std::vector<Tensor> Reduce(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto [kept, dims] = ShapesOf(node, in);
  Tensor wide(DEPUTY_DTYPE_FLOAT64, kept);
  std::fill(wide.real.begin(), wide.real.end(), double{kStart});
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = BroadcastFlat(kept, IndexOf(x.dims, i));
    wide.Put(at, kStep(wide.Get(at), x.Get(i)));
  }
  Tensor y(x.dtype, dims);
  const double count = y.count() == 0 ? 1 : static_cast<double>(x.count()) / static_cast<double>(y.count());
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, kFinish(wide.Get(i), count));
  return {y};
}

// The largest or smallest element; NaN is more extreme than every number. Of no elements it is the other limit of the
// type.
template <bool kLargest>
std::vector<Tensor> Extreme(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto [kept, dims] = ShapesOf(node, in);
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    if (IsReal(x.dtype))
      y.Put(i, kLargest ? -kInfinite : kInfinite);
    else
      y.Put(i, kLargest ? Least(x.dtype) : Most(x.dtype));
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = BroadcastFlat(kept, IndexOf(x.dims, i));
    if (IsNaN(x, i) || (kLargest ? Less(y, at, x, i) : Less(x, i, y, at))) y.Copy(at, x, i);
  }
  return {y};
}

}  // namespace

KernelRows ReductionKernels() {
  return {{"ReduceL1", Reduce<0, SumOfSizes, AsItIs>},
          {"ReduceL2", Reduce<0, SumOfSquares, Root>},
          {"ReduceLogSum", Reduce<0, Sum, Logarithm>},
          {"ReduceLogSumExp", Reduce<0, SumOfExponentials, Logarithm>},
          {"ReduceMax", Extreme<true>},
          {"ReduceMean", Reduce<0, Sum, Divide>},
          {"ReduceMin", Extreme<false>},
          {"ReduceProd", Reduce<1, Product, AsItIs>},
          {"ReduceSum", Reduce<0, Sum, AsItIs>},
          {"ReduceSumSquare", Reduce<0, SumOfSquares, AsItIs>}};
}

}  // namespace deputy::conformance::reference
