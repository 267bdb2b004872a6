// Between floats and small integers.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

struct Limits {
  double low, high;
};

Limits LimitsOf(deputy_dtype dtype) {
  switch (dtype) {
    case DEPUTY_DTYPE_INT8: return {-128, 127};
    case DEPUTY_DTYPE_UINT16: return {0, 65535};
    case DEPUTY_DTYPE_INT16: return {-32768, 32767};
    default: return {0, 255};
  }
}

// Which scale and zero point hold for element `i`: one for all, one along an axis, or one per block of an axis.
int64_t Parameter(const Node& node, const Dims& dims, const Tensor& scale, int64_t i) {
  if (scale.count() == 1) return 0;
  const size_t axis = FromFront(node.Int("axis", 1), dims.size());
  Dims index = IndexOf(dims, i);
  const int64_t block = node.Int("block_size", 0);
  if (block == 0) return index[axis];
  index[axis] /= block;
  return Flat(scale.dims, index);
}

std::vector<Tensor> QuantizeLinear(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto named = static_cast<deputy_dtype>(node.Int("output_dtype", 0));
  const deputy_dtype to = At(in, 2) != nullptr ? in[2]->dtype : (named != 0 ? named : DEPUTY_DTYPE_UINT8);
  const Limits limits = LimitsOf(to);
  Tensor y(to, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = Parameter(node, x.dims, *in[1], i);
    const double zero = At(in, 2) != nullptr ? in[2]->Get(at) : 0;
    y.Put(i,
          std::clamp(std::nearbyint(Round(in[1]->dtype, x.Get(i) / in[1]->Get(at))) + zero, limits.low, limits.high));
  }
  return {y};
}

std::vector<Tensor> DequantizeLinear(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto named = static_cast<deputy_dtype>(node.Int("output_dtype", 0));
  Tensor y(named != 0 ? named : in[1]->dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = Parameter(node, x.dims, *in[1], i);
    y.Put(i, (x.Get(i) - (At(in, 2) != nullptr ? in[2]->Get(at) : 0)) * in[1]->Get(at));
  }
  return {y};
}

std::vector<Tensor> DynamicQuantizeLinear(const Node&, const Inputs& in) {
  const Tensor& x = *in[0];
  double low = 0, high = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    low = std::min(low, x.Get(i));
    high = std::max(high, x.Get(i));
  }
  Tensor y(DEPUTY_DTYPE_UINT8, x.dims), scale(DEPUTY_DTYPE_FLOAT32, {}), zero(DEPUTY_DTYPE_UINT8, {});
  // By ONNX's text the scale of all zeros is 0, by which division is impossible.
  scale.Put(0, high == low ? 1.0 : (high - low) / 255);
  // The quotients are rounded to the input's type, which affects ties.
  const auto steps = [&](double value) { return std::nearbyint(Round(x.dtype, value / scale.Get(0))); };
  zero.Put(0, std::clamp(steps(-low), 0.0, 255.0));
  for (int64_t i = 0; i < x.count(); ++i) y.Put(i, std::clamp(steps(x.Get(i)) + zero.Get(0), 0.0, 255.0));
  return {y, scale, zero};
}

}  // namespace

KernelRows QuantizationKernels() {
  return {{"DequantizeLinear", DequantizeLinear},
          {"DynamicQuantizeLinear", DynamicQuantizeLinear},
          {"QuantizeLinear", QuantizeLinear}};
}

}  // namespace deputy::conformance::reference
