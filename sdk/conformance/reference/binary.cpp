// Functions of the elements of two inputs, or of several, with broadcasting.
#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

using RealFunction = std::function<double(double, double)>;
using WholeFunction = std::function<int64_t(int64_t, int64_t)>;

Tensor Join(const Tensor& a, const Tensor& b, const RealFunction& real, const WholeFunction& whole) {
  Tensor y(a.dtype, BroadcastDims(a.dims, b.dims));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(y.dims, i);
    const int64_t at_a = BroadcastFlat(a.dims, index), at_b = BroadcastFlat(b.dims, index);
    if (IsReal(a.dtype))
      y.Put(i, real(a.Get(at_a), b.Get(at_b)));
    else
      y.Put(i, whole(a.whole[static_cast<size_t>(at_a)], b.whole[static_cast<size_t>(at_b)]));
  }
  return y;
}

// On two's complement numbers whose overflow wraps.
int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrappingDifference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t WrappingProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

std::vector<Tensor> Add(const Node&, const Inputs& in) { return {Join(*in[0], *in[1], std::plus<>(), WrappingSum)}; }
std::vector<Tensor> Sub(const Node&, const Inputs& in) {
  return {Join(*in[0], *in[1], std::minus<>(), WrappingDifference)};
}
std::vector<Tensor> Mul(const Node&, const Inputs& in) {
  return {Join(*in[0], *in[1], std::multiplies<>(), WrappingProduct)};
}
std::vector<Tensor> Div(const Node&, const Inputs& in) {
  return {Join(*in[0], *in[1], std::divides<>(), [](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; })};
}

std::vector<Tensor> Pow(const Node&, const Inputs& in) {
  Tensor y(in[0]->dtype, BroadcastDims(in[0]->dims, in[1]->dims));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(y.dims, i);
    y.Put(i, std::pow(in[0]->Get(BroadcastFlat(in[0]->dims, index)), in[1]->Get(BroadcastFlat(in[1]->dims, index))));
  }
  return {y};
}

// fmod: the sign of the dividend; otherwise that of the divisor.
std::vector<Tensor> Mod(const Node& node, const Inputs& in) {
  const bool fmod = node.Int("fmod", 0) != 0;
  return {Join(
      *in[0], *in[1],
      [=](double a, double b) {
        const double rest = std::fmod(a, b);
        if (fmod) return rest;
        if (rest == 0) return std::copysign(0.0, b);
        return (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [=](int64_t a, int64_t b) {
        const int64_t rest = b == 0 ? 0 : a % b;
        return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      })};
}

std::vector<Tensor> PRelu(const Node&, const Inputs& in) {
  const bool has_sign = !IsUnsigned(in[0]->dtype);
  return {Join(
      *in[0], *in[1], [](double x, double slope) { return x < 0 ? slope * x : x; },
      [=](int64_t x, int64_t slope) { return has_sign && x < 0 ? WrappingProduct(slope, x) : x; })};
}

// Before definition 7 a list of slopes has one for each channel.
std::vector<Tensor> PReluOfChannels(const Node& node, const Inputs& in) {
  Tensor slope = *in[1];
  if (node.since_version < 7 && slope.rank() == 1 && slope.count() > 1) slope.dims.resize(in[0]->rank() - 1, 1);
  return PRelu(node, {in[0], &slope});
}

// To the right the sign is kept; by a negative number, or by all bits, the sign alone is left.
std::vector<Tensor> BitShift(const Node& node, const Inputs& in) {
  const bool left = node.String("direction", "LEFT") == "LEFT", has_sign = !IsUnsigned(in[0]->dtype);
  const auto width = static_cast<int64_t>(8 * BytesOf(in[0]->dtype));
  return {Join(*in[0], *in[1], std::plus<>(), [=](int64_t a, int64_t b) -> int64_t {
    const bool out = b < 0 || b >= width;
    if (left) return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    if (has_sign) return a >> (out ? width - 1 : b);
    return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  })};
}

std::vector<Tensor> SwiGLU(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f);
  Tensor y(in[0]->dtype, in[0]->dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const double gate = in[0]->Get(i);
    y.Put(i, gate / (1 + std::exp(-alpha * gate)) * in[1]->Get(i));
  }
  return {y};
}

// Before definition 7 the second operand is broadcast if `broadcast` is set, from dimension `axis` of the first on.
template <Kernel kKernel>
std::vector<Tensor> Aligned(const Node& node, const Inputs& in) {
  if (node.since_version >= 7 || !node.Has("axis")) return kKernel(node, in);
  Tensor second = *in[1];
  const size_t axis = FromFront(node.Int("axis", 0), in[0]->rank());
  while (axis + second.rank() < in[0]->rank()) second.dims.push_back(1);
  return kKernel(node, {in[0], &second});
}

template <class Operation>
std::vector<Tensor> Bits(const Node&, const Inputs& in) {
  return {Join(*in[0], *in[1], std::plus<>(), Operation())};
}

using Relation = bool (*)(const Tensor& a, int64_t i, const Tensor& b, int64_t j);

template <Relation kRelation>
std::vector<Tensor> Compare(const Node&, const Inputs& in) {
  Tensor y(DEPUTY_DTYPE_BOOL, BroadcastDims(in[0]->dims, in[1]->dims));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(y.dims, i);
    y.Put(i, static_cast<int64_t>(
                 kRelation(*in[0], BroadcastFlat(in[0]->dims, index), *in[1], BroadcastFlat(in[1]->dims, index))));
  }
  return {y};
}

bool Greater(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return Less(b, j, a, i); }
bool LessOrSame(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return Less(a, i, b, j) || Same(a, i, b, j); }
bool GreaterOrSame(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return LessOrSame(b, j, a, i); }
bool And(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return a.Get(i) != 0 && b.Get(j) != 0; }
bool Or(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return a.Get(i) != 0 || b.Get(j) != 0; }
bool Xor(const Tensor& a, int64_t i, const Tensor& b, int64_t j) { return (a.Get(i) != 0) != (b.Get(j) != 0); }

std::vector<Tensor> Fold(const Inputs& in, const RealFunction& real, const WholeFunction& whole) {
  Tensor y = *in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    // Sums of many are rounded once.
    Tensor wide = y;
    if (IsReal(y.dtype)) wide.dtype = DEPUTY_DTYPE_FLOAT64;
    y = Join(wide, *in[i], real, whole);
  }
  return {y};
}

Tensor Rounded(Tensor wide, deputy_dtype dtype) {
  wide.dtype = dtype;
  for (double& value : wide.real) value = Round(dtype, value);
  return wide;
}

std::vector<Tensor> Sum(const Node&, const Inputs& in) {
  return {Rounded(Fold(in, std::plus<>(), WrappingSum)[0], in[0]->dtype)};
}
// The extreme of the inputs' elements, the first of equal ones; NaN is more extreme than every number.
std::vector<Tensor> Furthest(const Inputs& in, Relation beyond) {
  Dims dims;
  for (const Tensor* input : in) dims = BroadcastDims(dims, input->dims);
  Tensor y(in[0]->dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(dims, i);
    y.Copy(i, *in[0], BroadcastFlat(in[0]->dims, index));
    for (const Tensor* input : in) {
      const int64_t at = BroadcastFlat(input->dims, index);
      if (IsNaN(*input, at) || beyond(*input, at, y, i)) y.Copy(i, *input, at);
    }
  }
  return {y};
}
std::vector<Tensor> Max(const Node&, const Inputs& in) { return Furthest(in, Greater); }
std::vector<Tensor> Min(const Node&, const Inputs& in) { return Furthest(in, Less); }
std::vector<Tensor> Mean(const Node&, const Inputs& in) {
  Tensor sum = Fold(in, std::plus<>(), WrappingSum)[0];
  for (double& value : sum.real) value /= static_cast<double>(in.size());
  return {Rounded(sum, in[0]->dtype)};
}

std::vector<Tensor> Where(const Node&, const Inputs& in) {
  Tensor y(in[1]->dtype, BroadcastDims(in[0]->dims, BroadcastDims(in[1]->dims, in[2]->dims)));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(y.dims, i);
    const Tensor& source = in[0]->Get(BroadcastFlat(in[0]->dims, index)) != 0 ? *in[1] : *in[2];
    y.Copy(i, source, BroadcastFlat(source.dims, index));
  }
  return {y};
}

}  // namespace

KernelRows BinaryKernels() {
  return {{"Add", Aligned<Add>},
          {"And", Aligned<Compare<And>>},
          {"BitShift", BitShift},
          {"BitwiseAnd", Bits<std::bit_and<>>},
          {"BitwiseOr", Bits<std::bit_or<>>},
          {"BitwiseXor", Bits<std::bit_xor<>>},
          {"Div", Aligned<Div>},
          {"Equal", Aligned<Compare<Same>>},
          {"Greater", Aligned<Compare<Greater>>},
          {"GreaterOrEqual", Compare<GreaterOrSame>},
          {"Less", Aligned<Compare<Less>>},
          {"LessOrEqual", Compare<LessOrSame>},
          {"Max", Max},
          {"Mean", Mean},
          {"Min", Min},
          {"Mod", Mod},
          {"Mul", Aligned<Mul>},
          {"Or", Aligned<Compare<Or>>},
          {"PRelu", PReluOfChannels},
          {"Pow", Aligned<Pow>},
          {"Sub", Aligned<Sub>},
          {"Sum", Sum},
          {"SwiGLU", SwiGLU},
          {"Where", Where},
          {"Xor", Aligned<Compare<Xor>>}};
}

}  // namespace deputy::conformance::reference
