// Operators that write elements back to the positions of windows: Col2Im and MaxUnpool.
#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

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

KernelRows PatchKernels() { return {{"Col2Im", Col2Im}, {"MaxUnpool", MaxUnpool}}; }

}  // namespace deputy::conformance::reference
