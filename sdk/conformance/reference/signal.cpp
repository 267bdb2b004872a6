// Fourier transforms by their definition, sum by sum; windows; the filters of the mel scale.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

const double kPi = std::acos(-1.0);

struct Complex {
  double real = 0, imaginary = 0;
};

Complex Coefficient(const std::vector<Complex>& signal, int64_t k, bool inverse) {
  Complex sum;
  const auto n = static_cast<int64_t>(signal.size());
  for (int64_t i = 0; i < n; ++i) {
    // Full turns are removed while the numbers are integers.
    const double angle = (inverse ? 2 : -2) * kPi * static_cast<double>(i * k % n) / static_cast<double>(n);
    const Complex& x = signal[static_cast<size_t>(i)];
    sum.real += x.real * std::cos(angle) - x.imaginary * std::sin(angle);
    sum.imaginary += x.real * std::sin(angle) + x.imaginary * std::cos(angle);
  }
  if (inverse) sum = {sum.real / static_cast<double>(n), sum.imaginary / static_cast<double>(n)};
  return sum;
}

// The last dimension of `x` is 1 for real numbers and 2 for complex ones.
Complex ComplexAt(const Tensor& x, const Dims& at) {
  const int64_t parts = x.dims.back(), flat = Flat(Dims(x.dims.begin(), x.dims.end() - 1), at) * parts;
  return {x.Get(flat), parts == 2 ? x.Get(flat + 1) : 0};
}

// The first half of the coefficients of real numbers determines the other one.
void Mirror(std::vector<Complex>& half) {
  for (size_t k = half.size() / 2 + 1; k < half.size(); ++k)
    half[k] = {half[half.size() - k].real, -half[half.size() - k].imaginary};
}

std::vector<Tensor> Dft(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const bool inverse = node.Int("inverse", 0) != 0, onesided = node.Int("onesided", 0) != 0;
  int64_t named = node.since_version < 20 ? node.Int("axis", 1) : -2;
  if (At(in, 2) != nullptr) named = static_cast<int64_t>(in[2]->Get(0));
  const size_t axis = FromFront(named, x.rank());
  const bool to_real = inverse && onesided;
  const int64_t given = to_real ? 2 * (x.dims[axis] - 1) : x.dims[axis];
  const int64_t length = At(in, 1) != nullptr ? static_cast<int64_t>(in[1]->Get(0)) : given;
  const int64_t read = std::min(to_real ? length / 2 + 1 : length, x.dims[axis]);
  Dims dims = x.dims;
  dims[axis] = onesided && !inverse ? length / 2 + 1 : length;
  dims.back() = to_real ? 1 : 2;
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); i += dims.back()) {
    Dims at = IndexOf(dims, i);
    at.pop_back();
    const int64_t k = at[axis];
    std::vector<Complex> signal(static_cast<size_t>(length));
    for (at[axis] = 0; at[axis] < read; ++at[axis]) signal[static_cast<size_t>(at[axis])] = ComplexAt(x, at);
    if (to_real) Mirror(signal);
    const Complex sum = Coefficient(signal, k, inverse);
    y.Put(i, sum.real);
    if (!to_real) y.Put(i + 1, sum.imaginary);
  }
  return {y};
}

std::vector<Tensor> Stft(const Node& node, const Inputs& in) {
  Tensor x = *in[0];
  if (x.rank() == 2) x.dims.push_back(1);
  const Tensor* window = At(in, 2);
  const auto step = static_cast<int64_t>(in[1]->Get(0));
  const int64_t length = At(in, 3) != nullptr ? static_cast<int64_t>(in[3]->Get(0)) : window->count();
  const int64_t frames = (x.dims[1] - length) / step + 1;
  const int64_t bins = node.Int("onesided", 1) != 0 ? length / 2 + 1 : length;
  Tensor y(x.dtype, {x.dims[0], frames, bins, 2});
  for (int64_t i = 0; i < y.count(); i += 2) {
    const Dims at = IndexOf(y.dims, i);
    std::vector<Complex> signal;
    for (int64_t t = 0; t < length; ++t) {
      const Complex value = ComplexAt(x, {at[0], at[1] * step + t});
      const double weight = window == nullptr ? 1 : window->Get(t);
      signal.push_back({value.real * weight, value.imaginary * weight});
    }
    const Complex sum = Coefficient(signal, at[2], false);
    y.Put(i, sum.real);
    y.Put(i + 1, sum.imaginary);
  }
  return {y};
}

// a0 - a1 cos(t) + a2 cos(2t), over one period or over the samples from one end to the other.
std::vector<Tensor> Cosines(const Node& node, const Inputs& in, double a0, double a1, double a2) {
  const auto size = static_cast<int64_t>(in[0]->Get(0));
  const auto period = static_cast<double>(node.Int("periodic", 1) != 0 ? size : size - 1);
  Tensor y(static_cast<deputy_dtype>(node.Int("output_datatype", DEPUTY_DTYPE_FLOAT32)), {size});
  for (int64_t i = 0; i < size; ++i) {
    const double t = 2 * kPi * static_cast<double>(i) / period;
    y.Put(i, a0 - a1 * std::cos(t) + a2 * std::cos(2 * t));
  }
  return {y};
}

std::vector<Tensor> HannWindow(const Node& node, const Inputs& in) { return Cosines(node, in, 0.5, 0.5, 0); }
std::vector<Tensor> HammingWindow(const Node& node, const Inputs& in) {
  return Cosines(node, in, 25.0 / 46, 21.0 / 46, 0);
}
std::vector<Tensor> BlackmanWindow(const Node& node, const Inputs& in) { return Cosines(node, in, 0.42, 0.5, 0.08); }

// Triangles whose corners are equally far apart on the mel scale, each from the bin of its left corner to that of its
// right one.
std::vector<Tensor> MelWeightMatrix(const Node& node, const Inputs& in) {
  const auto bins = static_cast<int64_t>(in[0]->Get(0)), length = static_cast<int64_t>(in[1]->Get(0));
  const double rate = in[2]->Get(0);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(in[3]->Get(0)), step = (mel(in[4]->Get(0)) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    corners.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  Tensor y(static_cast<deputy_dtype>(node.Int("output_datatype", DEPUTY_DTYPE_FLOAT32)), {length / 2 + 1, bins});
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t left = corners[at], middle = corners[at + 1], right = corners[at + 2];
    if (left == middle) y.Put(middle * bins + i, 1.0);
    for (int64_t j = left; left != middle && j <= middle; ++j)
      y.Put(j * bins + i, static_cast<double>(j - left) / static_cast<double>(middle - left));
    for (int64_t j = middle; j < right; ++j)
      y.Put(j * bins + i, static_cast<double>(right - j) / static_cast<double>(right - middle));
  }
  return {y};
}

}  // namespace

KernelRows SignalKernels() {
  return {{"BlackmanWindow", BlackmanWindow}, {"DFT", Dft},   {"HammingWindow", HammingWindow},
          {"HannWindow", HannWindow},         {"STFT", Stft}, {"MelWeightMatrix", MelWeightMatrix}};
}

}  // namespace deputy::conformance::reference
