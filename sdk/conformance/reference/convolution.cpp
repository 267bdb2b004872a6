// Conv and ConvTranspose, any number of spatial dimensions; also ConvInteger and QLinearConv, which are built on Conv.
#include <algorithm>
#include <cmath>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

// In double, not yet rounded. `x` and `w` may hold whole numbers.
Tensor Convolved(const Node& node, const Tensor& x, const Tensor& w, const Tensor* bias) {
  const Window window = Window::Of(node, x.dims, Dims(w.dims.begin() + 2, w.dims.end()), Window::Overhang::kNone);
  const int64_t groups = node.Int("group", 1), channels = x.dims[1] / groups, made = w.dims[0] / groups;
  Dims dims = {x.dims[0], w.dims[0]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  Tensor y(DEPUTY_DTYPE_FLOAT64, dims);
  const int64_t taps = CountOf(window.kernel);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    const int64_t group = at[1] / made;
    double sum = bias == nullptr ? 0 : bias->Get(at[1]);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const Dims tap = IndexOf(window.kernel, t);
        Dims from = {at[0], group * channels + c}, weight = {at[1], c};
        bool inside = true;
        for (size_t d = 0; d < window.rank(); ++d) {
          from.push_back(window.Position(d, at[d + 2], tap[d]));
          weight.push_back(tap[d]);
          inside = inside && from.back() >= 0 && from.back() < x.dims[d + 2];
        }
        if (inside) sum += x.Get(Flat(x.dims, from)) * w.Get(Flat(w.dims, weight));
      }
    y.Put(i, sum);
  }
  return y;
}

std::vector<Tensor> Conv(const Node& node, const Inputs& in) {
  return {InType(Convolved(node, *in[0], *in[1], At(in, 2)), in[0]->dtype)};
}

// The zero point of channel `c`, or the one of all.
double ZeroPoint(const Tensor* zero, int64_t c) { return zero == nullptr ? 0 : zero->Get(zero->count() == 1 ? 0 : c); }

Tensor Shifted(const Tensor& tensor, const Tensor* zero) {
  Tensor y(DEPUTY_DTYPE_FLOAT64, tensor.dims);
  for (int64_t i = 0; i < y.count(); ++i)
    y.Put(i, tensor.Get(i) - ZeroPoint(zero, zero != nullptr && zero->count() > 1 ? IndexOf(tensor.dims, i)[0] : 0));
  return y;
}

std::vector<Tensor> ConvInteger(const Node& node, const Inputs& in) {
  return {InType(Convolved(node, Shifted(*in[0], At(in, 2)), Shifted(*in[1], At(in, 3)), nullptr), DEPUTY_DTYPE_INT32)};
}

std::vector<Tensor> QLinearConv(const Node& node, const Inputs& in) {
  const Tensor &x_scale = *in[1], &w_scale = *in[4], &y_scale = *in[6], &y_zero = *in[7];
  const Tensor sum = Convolved(node, Shifted(*in[0], in[2]), Shifted(*in[3], in[5]), At(in, 8));
  Tensor y(y_zero.dtype, sum.dims);
  const double low = y.dtype == DEPUTY_DTYPE_INT8 ? -128 : 0;
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t channel = w_scale.count() == 1 ? 0 : IndexOf(y.dims, i)[1];
    const double real = sum.Get(i) * x_scale.Get(0) * w_scale.Get(channel) / y_scale.Get(0);
    y.Put(i, std::clamp(std::nearbyint(real) + y_zero.Get(0), low, low + 255));
  }
  return {y};
}

// Every input element adds its window, weighted, to the output; parts on the padding are dropped.
std::vector<Tensor> ConvTranspose(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &w = *in[1];
  const size_t rank = x.rank() - 2;
  const Dims kernel(w.dims.begin() + 2, w.dims.end()), ones(rank, 1);
  const Dims strides = node.Ints("strides", ones), dilations = node.Ints("dilations", ones);
  const Dims extra = node.Ints("output_padding", Dims(rank, 0)), wanted = node.Ints("output_shape", {});
  Dims pads = node.Ints("pads", Dims(2 * rank, 0));
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  const int64_t groups = node.Int("group", 1), made = w.dims[1], channels = x.dims[1] / groups;
  Dims dims = {x.dims[0], made * groups};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t full = (x.dims[i + 2] - 1) * strides[i] + extra[i] + (kernel[i] - 1) * dilations[i] + 1;
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (!wanted.empty() || same) {
      const int64_t out = wanted.empty() ? x.dims[i + 2] * strides[i] : wanted[wanted.size() - rank + i];
      const int64_t total = std::max<int64_t>(0, full - out);
      pads[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[i + rank] = total - pads[i];
      dims.push_back(out);
    } else {
      if (auto_pad == "VALID") pads[i] = pads[i + rank] = 0;
      dims.push_back(full - pads[i] - pads[i + rank]);
    }
  }
  Tensor wide(DEPUTY_DTYPE_FLOAT64, dims);
  if (At(in, 2) != nullptr)
    for (int64_t i = 0; i < wide.count(); ++i) wide.Put(i, in[2]->Get(IndexOf(dims, i)[1]));
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims from = IndexOf(x.dims, i);
    for (int64_t m = 0; m < made; ++m)
      for (int64_t t = 0; t < CountOf(kernel); ++t) {
        const Dims tap = IndexOf(kernel, t);
        Dims to = {from[0], from[1] / channels * made + m}, weight = {from[1], m};
        bool inside = true;
        for (size_t d = 0; d < rank; ++d) {
          to.push_back(from[d + 2] * strides[d] + tap[d] * dilations[d] - pads[d]);
          weight.push_back(tap[d]);
          inside = inside && to.back() >= 0 && to.back() < dims[d + 2];
        }
        if (!inside) continue;
        const int64_t at = Flat(dims, to);
        wide.Put(at, wide.Get(at) + x.Get(i) * w.Get(Flat(w.dims, weight)));
      }
  }
  return {InType(wide, x.dtype)};
}

}  // namespace

KernelRows ConvolutionKernels() {
  return {{"Conv", Conv}, {"ConvInteger", ConvInteger}, {"ConvTranspose", ConvTranspose}, {"QLinearConv", QLinearConv}};
}

}  // namespace deputy::conformance::reference
