// Products of matrices.
#include <cmath>

#include "reference/broadcast.hpp"
#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

// As numpy: a vector is a row on the left and a column on the right, which the result then lacks. In double.
template <class Left, class Right>
Tensor Product(Dims a, Dims b, const Left& left, const Right& right) {
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const Dims batch = BroadcastDims(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  Dims dims = batch;
  if (!row) dims.push_back(m);
  if (!column) dims.push_back(n);
  Tensor y(DEPUTY_DTYPE_FLOAT64, dims);
  const Dims a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  int64_t at = 0;
  for (int64_t i = 0; i < CountOf(batch); ++i) {
    const Dims index = IndexOf(batch, i);
    const int64_t a_at = BroadcastFlat(a_batch, index) * m * k, b_at = BroadcastFlat(b_batch, index) * k * n;
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < k; ++j) sum += left(a_at + r * k + j) * right(b_at + j * n + c);
        y.Put(at++, sum);
      }
  }
  return y;
}

Tensor As(deputy_dtype dtype, const Tensor& wide) {
  Tensor y(dtype, wide.dims);
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, wide.Get(i));
  return y;
}

std::vector<Tensor> MatMul(const Node&, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[1];
  return {As(a.dtype, Product(
                          a.dims, b.dims, [&](int64_t i) { return a.Get(i); }, [&](int64_t i) { return b.Get(i); }))};
}

// The index of the parameter for element `i` of a factor: one number for all, one for each row of the left factor or
// column of the right one, or one for each of those of every matrix, in a tensor of the factor's rank.
int64_t Parameter(const Dims& factor, const Tensor& parameter, bool left, int64_t i) {
  if (parameter.count() == 1) return 0;
  if (parameter.rank() == factor.size()) return BroadcastFlat(parameter.dims, IndexOf(factor, i));
  return left ? i / factor.back() % parameter.count() : i % factor.back();
}

double Centered(const Tensor& factor, const Tensor* zero, bool left, int64_t i) {
  return factor.Get(i) - (zero == nullptr ? 0 : zero->Get(Parameter(factor.dims, *zero, left, i)));
}

std::vector<Tensor> MatMulInteger(const Node&, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[1];
  const Tensor *a_zero = At(in, 2), *b_zero = At(in, 3);
  return {As(DEPUTY_DTYPE_INT32, Product(
                                     a.dims, b.dims, [&](int64_t i) { return Centered(a, a_zero, true, i); },
                                     [&](int64_t i) { return Centered(b, b_zero, false, i); }))};
}

std::vector<Tensor> QLinearMatMul(const Node&, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[3], &y_zero = *in[7];
  const Tensor sum = Product(
      a.dims, b.dims,
      [&](int64_t i) { return Centered(a, in[2], true, i) * in[1]->Get(Parameter(a.dims, *in[1], true, i)); },
      [&](int64_t i) { return Centered(b, in[5], false, i) * in[4]->Get(Parameter(b.dims, *in[4], false, i)); });
  Tensor y(y_zero.dtype, sum.dims);
  const double low = y.dtype == DEPUTY_DTYPE_INT8 ? -128 : 0, high = y.dtype == DEPUTY_DTYPE_INT8 ? 127 : 255;
  for (int64_t i = 0; i < y.count(); ++i) {
    const double real = sum.Get(i) / in[6]->Get(0);
    const double whole = std::nearbyint(real) + y_zero.Get(0);
    y.Put(i, whole < low ? low : (whole > high ? high : whole));
  }
  return {y};
}

std::vector<Tensor> Gemm(const Node& node, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[1];
  const bool turn_a = node.Int("transA", 0) != 0, turn_b = node.Int("transB", 0) != 0;
  const double alpha = node.Float("alpha", 1.0f), beta = node.Float("beta", 1.0f);
  const int64_t m = a.dims[turn_a ? 1 : 0], k = a.dims[turn_a ? 0 : 1], n = b.dims[turn_b ? 0 : 1];
  Tensor y(a.dtype, {m, n});
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < k; ++j)
        sum += a.Get(turn_a ? j * m + r : r * k + j) * b.Get(turn_b ? c * k + j : j * n + c);
      sum *= alpha;
      if (At(in, 2) != nullptr) sum += beta * in[2]->Get(BroadcastFlat(in[2]->dims, {r, c}));
      y.Put(r * n + c, sum);
    }
  return {y};
}

// By elimination, the largest element of a column first.
double Determinant(std::vector<double> m, size_t n) {
  double product = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column; row < n; ++row)
      if (std::fabs(m[row * n + column]) > std::fabs(m[pivot * n + column])) pivot = row;
    if (m[pivot * n + column] == 0) return 0;
    if (pivot != column) product = -product;
    for (size_t i = 0; i < n; ++i) std::swap(m[pivot * n + i], m[column * n + i]);
    product *= m[column * n + column];
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = m[row * n + column] / m[column * n + column];
      for (size_t i = column; i < n; ++i) m[row * n + i] -= factor * m[column * n + i];
    }
  }
  return product;
}

std::vector<Tensor> Det(const Node&, const Inputs& in) {
  const Tensor& x = *in[0];
  const int64_t n = x.dims.back();
  Tensor y(x.dtype, Dims(x.dims.begin(), x.dims.end() - 2));
  for (int64_t i = 0; i < y.count(); ++i) {
    std::vector<double> matrix;
    for (int64_t j = 0; j < n * n; ++j) matrix.push_back(x.Get(i * n * n + j));
    y.Put(i, Determinant(matrix, static_cast<size_t>(n)));
  }
  return {y};
}

}  // namespace

KernelRows MatrixKernels() {
  return {{"Det", Det},
          {"Gemm", Gemm},
          {"MatMul", MatMul},
          {"MatMulInteger", MatMulInteger},
          {"QLinearMatMul", QLinearMatMul}};
}

}  // namespace deputy::conformance::reference
