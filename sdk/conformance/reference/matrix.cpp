// Products of matrices, and Einsum.
#include <algorithm>
#include <cmath>

#include "reference/compose.hpp"

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

std::vector<Tensor> MatMul(const Node&, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[1];
  const Tensor y = Product(
      a.dims, b.dims, [&](int64_t i) { return a.Get(i); }, [&](int64_t i) { return b.Get(i); });
  return {InType(y, a.dtype)};
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
  const Tensor y = Product(
      a.dims, b.dims, [&](int64_t i) { return Centered(a, a_zero, true, i); },
      [&](int64_t i) { return Centered(b, b_zero, false, i); });
  return {InType(y, DEPUTY_DTYPE_INT32)};
}

std::vector<Tensor> QLinearMatMul(const Node&, const Inputs& in) {
  const Tensor &a = *in[0], &b = *in[3], &y_zero = *in[7];
  const Tensor sum = Product(
      a.dims, b.dims,
      [&](int64_t i) { return Centered(a, in[2], true, i) * in[1]->Get(Parameter(a.dims, *in[1], true, i)); },
      [&](int64_t i) { return Centered(b, in[5], false, i) * in[4]->Get(Parameter(b.dims, *in[4], false, i)); });
  Tensor y(y_zero.dtype, sum.dims);
  const double low = y.dtype == DEPUTY_DTYPE_INT8 ? -128 : 0;
  for (int64_t i = 0; i < y.count(); ++i)
    y.Put(i, std::clamp(std::nearbyint(sum.Get(i) / in[6]->Get(0)) + y_zero.Get(0), low, low + 255));
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

// Einsum: the equation is read into one label per dimension; every output element is a sum over the labels that the
// output does not name. Dimensions under "..." get the labels '0', '1', ... counted from the last one, so that they
// align at the end.
std::string Spelled(const std::string& term, size_t under_dots) {
  std::string labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels += term[i];
      continue;
    }
    for (size_t d = under_dots; d-- > 0;) labels += static_cast<char>('0' + d);
    i += 2;
  }
  return labels;
}

size_t LettersIn(const std::string& term) {
  return static_cast<size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
}

struct Equation {
  std::vector<std::string> inputs;  // labels, one per dimension
  std::string output, summed;
  std::map<char, int64_t> extents;

  Dims ExtentsOf(const std::string& labels) const {
    Dims dims;
    for (const char label : labels) dims.push_back(extents.at(label));
    return dims;
  }
};

// Without "->" the output has the dots' dimensions, then, in alphabetical order, the labels that occur once.
std::string Implied(const std::vector<std::string>& terms) {
  std::map<char, int> times;
  std::string output;
  for (const std::string& term : terms) {
    if (term.find('.') != std::string::npos) output = "...";
    for (const char label : term)
      if (label != '.') ++times[label];
  }
  for (const auto& [label, count] : times)
    if (count == 1) output += label;
  return output;
}

Equation Read(std::string text, const Inputs& in) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char letter : text.substr(0, arrow))
    if (letter == ',')
      terms.emplace_back();
    else
      terms.back() += letter;
  const std::string output = arrow == std::string::npos ? Implied(terms) : text.substr(arrow + 2);
  Equation equation;
  size_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t under_dots = in[i]->rank() - LettersIn(terms[i]);
    widest = std::max(widest, under_dots);
    equation.inputs.push_back(Spelled(terms[i], under_dots));
    for (size_t d = 0; d < in[i]->rank(); ++d) {
      int64_t& extent = equation.extents.emplace(equation.inputs[i][d], 1).first->second;
      if (in[i]->dims[d] != 1) extent = in[i]->dims[d];
    }
  }
  equation.output = Spelled(output, widest);
  for (const auto& label : equation.extents)
    if (equation.output.find(label.first) == std::string::npos) equation.summed += label.first;
  return equation;
}

std::vector<Tensor> Einsum(const Node& node, const Inputs& in) {
  const Equation equation = Read(node.String("equation", ""), in);
  const Dims dims = equation.ExtentsOf(equation.output), summed = equation.ExtentsOf(equation.summed);
  Tensor y(in[0]->dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    std::map<char, int64_t> at;
    const Dims index = IndexOf(dims, i);
    for (size_t d = 0; d < index.size(); ++d) at[equation.output[d]] = index[d];
    double real = 0;
    uint64_t whole = 0;
    for (int64_t s = 0; s < CountOf(summed); ++s) {
      const Dims inner = IndexOf(summed, s);
      for (size_t d = 0; d < inner.size(); ++d) at[equation.summed[d]] = inner[d];
      double real_term = 1;
      uint64_t whole_term = 1;
      for (size_t operand = 0; operand < in.size(); ++operand) {
        Dims from;
        for (size_t d = 0; d < in[operand]->rank(); ++d)
          from.push_back(in[operand]->dims[d] == 1 ? 0 : at[equation.inputs[operand][d]]);
        const int64_t flat = Flat(in[operand]->dims, from);
        real_term *= in[operand]->Get(flat);
        if (!IsReal(y.dtype)) whole_term *= static_cast<uint64_t>(in[operand]->whole[static_cast<size_t>(flat)]);
      }
      real += real_term;
      whole += whole_term;
    }
    if (IsReal(y.dtype))
      y.Put(i, real);
    else
      y.Put(i, static_cast<int64_t>(whole));
  }
  return {y};
}

}  // namespace

KernelRows MatrixKernels() {
  return {{"Det", Det},
          {"Einsum", Einsum},
          {"Gemm", Gemm},
          {"MatMul", MatMul},
          {"MatMulInteger", MatMulInteger},
          {"QLinearMatMul", QLinearMatMul}};
}

}  // namespace deputy::conformance::reference
