// Reductions over axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/broadcast.hpp"
#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

struct Reduction {
  double start;
  double (*step)(double accumulated, double value);
  double (*finish)(double accumulated, double count);
};

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

std::vector<Tensor> Reduce(const Node& node, const Inputs& in, const Reduction& how) {
  const Tensor& x = *in[0];
  const auto [kept, dims] = ShapesOf(node, in);
  Tensor wide(DEPUTY_DTYPE_FLOAT64, kept);
  std::fill(wide.real.begin(), wide.real.end(), how.start);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = BroadcastFlat(kept, IndexOf(x.dims, i));
    wide.Put(at, how.step(wide.Get(at), x.Get(i)));
  }
  Tensor y(x.dtype, dims);
  const double count = y.count() == 0 ? 1 : static_cast<double>(x.count()) / static_cast<double>(y.count());
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, how.finish(wide.Get(i), count));
  return {y};
}

std::vector<Tensor> ReduceSum(const Node& node, const Inputs& in) { return Reduce(node, in, {0, Sum, AsItIs}); }
std::vector<Tensor> ReduceMean(const Node& node, const Inputs& in) { return Reduce(node, in, {0, Sum, Divide}); }
std::vector<Tensor> ReduceProd(const Node& node, const Inputs& in) { return Reduce(node, in, {1, Product, AsItIs}); }
// The largest or smallest element; NaN is more extreme than every number. Of no elements it is the other limit of the
// type.
std::vector<Tensor> Extreme(const Node& node, const Inputs& in, bool largest) {
  const Tensor& x = *in[0];
  const auto [kept, dims] = ShapesOf(node, in);
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    if (IsReal(x.dtype))
      y.Put(i, largest ? -kInfinite : kInfinite);
    else
      y.Put(i, largest ? Least(x.dtype) : Most(x.dtype));
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = BroadcastFlat(kept, IndexOf(x.dims, i));
    if (IsNaN(x, i) || (largest ? Less(y, at, x, i) : Less(x, i, y, at))) y.Copy(at, x, i);
  }
  return {y};
}
std::vector<Tensor> ReduceMax(const Node& node, const Inputs& in) { return Extreme(node, in, true); }
std::vector<Tensor> ReduceMin(const Node& node, const Inputs& in) { return Extreme(node, in, false); }
std::vector<Tensor> ReduceL1(const Node& node, const Inputs& in) { return Reduce(node, in, {0, SumOfSizes, AsItIs}); }
std::vector<Tensor> ReduceL2(const Node& node, const Inputs& in) { return Reduce(node, in, {0, SumOfSquares, Root}); }
std::vector<Tensor> ReduceLogSum(const Node& node, const Inputs& in) { return Reduce(node, in, {0, Sum, Logarithm}); }
std::vector<Tensor> ReduceLogSumExp(const Node& node, const Inputs& in) {
  return Reduce(node, in, {0, SumOfExponentials, Logarithm});
}
std::vector<Tensor> ReduceSumSquare(const Node& node, const Inputs& in) {
  return Reduce(node, in, {0, SumOfSquares, AsItIs});
}

}  // namespace

KernelRows ReductionKernels() {
  return {{"ReduceL1", ReduceL1},         {"ReduceL2", ReduceL2},
          {"ReduceLogSum", ReduceLogSum}, {"ReduceLogSumExp", ReduceLogSumExp},
          {"ReduceMax", ReduceMax},       {"ReduceMean", ReduceMean},
          {"ReduceMin", ReduceMin},       {"ReduceProd", ReduceProd},
          {"ReduceSum", ReduceSum},       {"ReduceSumSquare", ReduceSumSquare}};
}

}  // namespace deputy::conformance::reference
