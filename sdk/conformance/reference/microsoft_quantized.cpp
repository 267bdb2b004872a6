// The operators of com.microsoft on integers of 8 bits: the dequantized numbers are computed in double precision, and
// quantized again where the operator requires it.
#include <algorithm>
#include <cmath>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {

Tensor Quantized(const Tensor& x, const Tensor& scale, const Tensor* zero, deputy_dtype dtype) {
  const double low = dtype == DEPUTY_DTYPE_INT8 ? -128 : 0;
  return Filled(dtype, x.dims, [&](const Dims& at) {
    const double steps = std::nearbyint(Round(DEPUTY_DTYPE_FLOAT32, x.Get(Flat(x.dims, at)) / scale.Get(0)));
    return std::clamp(steps + (zero == nullptr ? 0 : zero->Get(0)), low, low + 255);
  });
}

namespace {

// fn: Tensor(const Tensor&) of the dequantized input 0.
template <class F>
std::vector<Tensor> Through(const Inputs& in, F fn) {
  return {Quantized(fn(Reals(*in[0], *in[1], At(in, 2))), *in[3], At(in, 4), in[0]->dtype)};
}

std::vector<Tensor> Sigmoid(const Node&, const Inputs& in) {
  return Through(in, [](const Tensor& x) { return Apply("Sigmoid", {x}); });
}

std::vector<Tensor> LeakyRelu(const Node& node, const Inputs& in) {
  const auto alpha = static_cast<float>(node.Float("alpha", 0.01f));
  return Through(in, [&](const Tensor& x) { return Apply("LeakyRelu", {x}, {{"alpha", Attribute::Float(alpha)}}); });
}

std::vector<Tensor> Softmax(const Node& node, const Inputs& in) {
  return Through(in, [&](const Tensor& x) {
    const size_t axis = FromFront(node.Int("axis", -1), x.rank());
    if (node.Int("opset", 13) >= 13)
      return Apply("Softmax", {x}, {{"axis", Attribute::Int(static_cast<int64_t>(axis))}});
    Tensor flat = x;
    flat.dims = {1, 1};
    for (size_t i = 0; i < x.rank(); ++i) flat.dims[i < axis ? 0 : 1] *= x.dims[i];
    Tensor y = Apply("Softmax", {flat}, {{"axis", Attribute::Int(1)}});
    y.dims = x.dims;
    return y;
  });
}

std::vector<Tensor> Pair(const Inputs& in, const char* op_type) {
  const Tensor made = Apply(op_type, {Reals(*in[0], *in[1], At(in, 2)), Reals(*in[3], *in[4], At(in, 5))});
  return {Quantized(made, *in[6], At(in, 7), in[0]->dtype)};
}
std::vector<Tensor> Add(const Node&, const Inputs& in) { return Pair(in, "Add"); }
std::vector<Tensor> Multiply(const Node&, const Inputs& in) { return Pair(in, "Mul"); }

// A pool whose channels may be last. fn: Tensor(const Tensor&) of one whose channels are first.
template <class F>
std::vector<Tensor> Pool(const Node& node, const Inputs& in, F fn) {
  const bool last = node.Int("channels_last", 0) != 0;
  return Through(in, [&](const Tensor& x) {
    if (!last) return fn(x);
    std::vector<int64_t> there = {0, static_cast<int64_t>(x.rank()) - 1}, back = {0};
    for (int64_t i = 1; i + 1 < static_cast<int64_t>(x.rank()); ++i) {
      there.push_back(i);
      back.push_back(i + 1);
    }
    back.push_back(1);
    const Tensor first = Apply("Transpose", {x}, {{"perm", Attribute::Ints(there)}});
    return Apply("Transpose", {fn(first)}, {{"perm", Attribute::Ints(back)}});
  });
}
std::vector<Tensor> AveragePool(const Node& node, const Inputs& in) {
  return Pool(node, in, [&](const Tensor& x) { return AveragePooled(node, x, /*count_all=*/true); });
}
std::vector<Tensor> GlobalAveragePool(const Node& node, const Inputs& in) {
  return Pool(node, in, [](const Tensor& x) { return Apply("GlobalAveragePool", {x}); });
}

std::vector<Tensor> Concat(const Node& node, const Inputs& in) {
  std::vector<Tensor> parts;
  for (size_t i = 2; i + 2 < in.size(); i += 3)
    parts.push_back(Quantized(Reals(*in[i], *in[i + 1], in[i + 2]), *in[0], in[1], in[1]->dtype));
  return {Apply("Concat", parts, {{"axis", Attribute::Int(node.Int("axis", 0))}})};
}

std::vector<Tensor> ToFloat(const Node&, const Inputs& in) {
  const size_t columns = in[1]->rank() - 1;
  Tensor y = Apply("MatMul", {Reals(*in[0], *in[2], At(in, 4)), Reals(*in[1], *in[3], At(in, 5), columns)});
  if (At(in, 6) != nullptr) y = Apply("Add", {y, Wide(*in[6])});
  return {InType(y, in[2]->dtype)};
}

std::vector<Tensor> Dynamic(const Node&, const Inputs& in) {
  Node node;
  node.op_type = "DynamicQuantizeLinear";
  node.output_count = 3;
  const std::vector<Tensor> a = Compute(node, {in[0]});
  const size_t columns = in[1]->rank() - 1;
  Tensor y = Apply("MatMul", {Reals(a[0], a[1], &a[2]), Reals(*in[1], *in[2], At(in, 3), columns)});
  if (At(in, 4) != nullptr) y = Apply("Add", {y, Wide(*in[4])});
  return {InType(y, DEPUTY_DTYPE_FLOAT32)};
}

std::vector<Tensor> General(const Node& node, const Inputs& in) {
  const bool turned = node.Int("transB", 0) != 0;
  const double alpha = node.Float("alpha", 1);
  Attributes attributes;
  for (const char* name : {"transA", "transB"}) attributes[name] = Attribute::Int(node.Int(name, 0));
  Tensor one(DEPUTY_DTYPE_FLOAT64, {});
  one.Put(0, 1.0);
  std::vector<Tensor> factors = {Reals(*in[0], one, in[2]), Reals(*in[3], one, in[5], turned ? 0 : 1)};
  if (At(in, 6) != nullptr) factors.push_back(InType(*in[6], DEPUTY_DTYPE_FLOAT64));
  Tensor y = Apply("Gemm", factors, attributes);
  for (int64_t i = 0; i < y.count(); ++i)
    y.Put(i, y.Get(i) * alpha * in[1]->Get(0) * in[4]->Get(in[4]->count() == 1 ? 0 : i % y.dims[1]));
  if (At(in, 7) == nullptr) return {InType(y, DEPUTY_DTYPE_FLOAT32)};
  return {Quantized(y, *in[7], At(in, 8), At(in, 8) == nullptr ? in[0]->dtype : in[8]->dtype)};
}

std::vector<Tensor> Same(const char* op_type, const Node& node, const Inputs& in) {
  Node own = node;
  own.domain.clear();
  own.op_type = op_type;
  return Compute(own, in);
}
std::vector<Tensor> Quantize(const Node& node, const Inputs& in) { return Same("QuantizeLinear", node, in); }
std::vector<Tensor> Dequantize(const Node& node, const Inputs& in) { return Same("DequantizeLinear", node, in); }

}  // namespace

KernelRows MicrosoftQuantizedKernels() {
  return {{"Microsoft_DequantizeLinear", Dequantize},
          {"Microsoft_DynamicQuantizeMatMul", Dynamic},
          {"Microsoft_MatMulIntegerToFloat", ToFloat},
          {"Microsoft_QGemm", General},
          {"Microsoft_QLinearAdd", Add},
          {"Microsoft_QLinearAveragePool", AveragePool},
          {"Microsoft_QLinearConcat", Concat},
          {"Microsoft_QLinearGlobalAveragePool", GlobalAveragePool},
          {"Microsoft_QLinearLeakyRelu", LeakyRelu},
          {"Microsoft_QLinearMul", Multiply},
          {"Microsoft_QLinearSigmoid", Sigmoid},
          {"Microsoft_QLinearSoftmax", Softmax},
          {"Microsoft_QuantizeLinear", Quantize}};
}

}  // namespace deputy::conformance::reference
