// The operators of com.microsoft that compute with floats, but for attention; and SimplifiedLayerNormalization.
#include <algorithm>
#include <cmath>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

std::vector<Tensor> InTypeOf(const Tensor& like, const Tensor& y) { return {InType(y, like.dtype)}; }

std::vector<Tensor> BiasGelu(const Node&, const Inputs& in) {
  return InTypeOf(*in[0], Apply("Gelu", {Apply("Add", {Wide(*in[0]), Wide(*in[1])})}));
}

std::vector<Tensor> FastGelu(const Node&, const Inputs& in) {
  const Tensor x = At(in, 1) == nullptr ? Wide(*in[0]) : Apply("Add", {Wide(*in[0]), Wide(*in[1])});
  return InTypeOf(*in[0], Apply("Gelu", {x}, {{"approximate", Attribute::String("tanh")}}));
}

std::vector<Tensor> PlainGelu(const Node&, const Inputs& in) { return InTypeOf(*in[0], Apply("Gelu", {Wide(*in[0])})); }

std::vector<Tensor> QuickGelu(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.702f);
  return {Filled(in[0]->dtype, in[0]->dims, [&](const Dims& index) {
    const double x = in[0]->Get(Flat(in[0]->dims, index));
    return x / (1 + std::exp(-alpha * x));
  })};
}

// The first axis behind the batches, then the last two exchanged.
Tensor Turned(const Tensor& x, bool batches, bool matrix) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (batches && axes.size() > 2) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (matrix && axes.size() > 1) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes.empty() ? x : Apply("Transpose", {x}, {{"perm", Attribute::Ints(axes)}});
}

std::vector<Tensor> FusedMatMul(const Node& node, const Inputs& in) {
  const auto says = [&](const char* name) { return node.Int(name, 0) != 0; };
  Tensor y = Apply("MatMul", {Turned(Wide(*in[0]), says("transBatchA"), says("transA")),
                              Turned(Wide(*in[1]), says("transBatchB"), says("transB"))});
  const double alpha = node.Float("alpha", 1);
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, y.Get(i) * alpha);
  return InTypeOf(*in[0], y);
}

// An operator of ONNX by its name, with the parameters that this node has for it.
Tensor Activated(const std::string& name, const Tensor& x, const std::vector<float>& parameters) {
  if (name.empty()) return x;
  if (name == "Clip") {
    Tensor low(x.dtype, {}), high(x.dtype, {});
    low.Put(0, static_cast<double>(parameters.at(0)));
    high.Put(0, static_cast<double>(parameters.at(1)));
    return Apply("Clip", {x, low, high});
  }
  Attributes attributes;
  const char* const names[] = {"alpha", name == "Selu" ? "gamma" : "beta"};
  for (size_t i = 0; i < parameters.size() && i < 2; ++i) attributes[names[i]] = Attribute::Float(parameters[i]);
  return Apply(name.c_str(), {x}, attributes);
}

std::vector<Tensor> FusedGemm(const Node& node, const Inputs& in) {
  Attributes attributes;
  for (const char* name : {"alpha", "beta", "transA", "transB"})
    if (node.Has(name)) attributes[name] = node.attributes.at(name);
  std::vector<Tensor> inputs = {Wide(*in[0]), Wide(*in[1])};
  if (At(in, 2) != nullptr) inputs.push_back(Wide(*in[2]));
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (node.Has(name)) parameters.push_back(static_cast<float>(node.Float(name, 0)));
  return InTypeOf(*in[0], Activated(node.String("activation", ""), Apply("Gemm", inputs, attributes), parameters));
}

std::vector<Tensor> FusedConv(const Node& node, const Inputs& in) {
  Attributes attributes = node.attributes;
  attributes.erase("activation");
  attributes.erase("activation_params");
  std::vector<Tensor> inputs = {Wide(*in[0]), Wide(*in[1])};
  if (At(in, 2) != nullptr) inputs.push_back(Wide(*in[2]));
  Tensor y = Apply("Conv", inputs, attributes);
  if (At(in, 3) != nullptr) y = Apply("Add", {y, Wide(*in[3])});
  return InTypeOf(*in[0], Activated(node.String("activation", ""), y, node.Floats("activation_params", {})));
}

// Rows of `x` normalized, with mean and inverse deviation of each.
struct Normalized {
  Tensor y, means, inverses;
};
Normalized Normalize(const Tensor& x, const Tensor& gamma, const Tensor* beta, double epsilon, bool simplified,
                     deputy_dtype dtype) {
  const int64_t size = gamma.count();
  Dims outer = x.dims;
  outer.back() = 1;
  Normalized made{Tensor(dtype, x.dims), Tensor(DEPUTY_DTYPE_FLOAT32, outer), Tensor(DEPUTY_DTYPE_FLOAT32, outer)};
  for (int64_t row = 0; row * size < x.count(); ++row) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < size && !simplified; ++i) mean += x.Get(row * size + i) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) squares += std::pow(x.Get(row * size + i) - mean, 2);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(size) + epsilon);
    for (int64_t i = 0; i < size; ++i)
      made.y.Put(row * size + i,
                 (x.Get(row * size + i) - mean) * inverse * gamma.Get(i) + (beta == nullptr ? 0 : beta->Get(i)));
    made.means.Put(row, mean);
    made.inverses.Put(row, inverse);
  }
  return made;
}

std::vector<Tensor> Skip(const Node& node, const Inputs& in, bool simplified) {
  const Tensor* const beta = simplified ? nullptr : At(in, 3);
  const Tensor* const bias = At(in, simplified ? 3 : 4);
  Tensor sum = Apply("Add", {Wide(*in[0]), Wide(*in[1])});
  if (bias != nullptr) sum = Apply("Add", {sum, Wide(*bias)});
  const Normalized made = Normalize(sum, *in[2], beta, node.Float("epsilon", 1e-12f), simplified, in[0]->dtype);
  std::vector<Tensor> outputs = {made.y, made.means, made.inverses, InType(sum, in[0]->dtype)};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

std::vector<Tensor> SkipLayer(const Node& node, const Inputs& in) { return Skip(node, in, false); }
std::vector<Tensor> SkipSimplified(const Node& node, const Inputs& in) { return Skip(node, in, true); }

std::vector<Tensor> Simplified(const Node& node, const Inputs& in) {
  return InTypeOf(*in[0], Apply("RMSNormalization", {Wide(*in[0]), Wide(*in[1])}, node.attributes, 23));
}

std::vector<Tensor> EmbedLayer(const Node& node, const Inputs& in) {
  const Tensor &ids = *in[0], &words = *in[2], &places = *in[3];
  const Tensor *segments = At(in, 1), *parts = At(in, 4), *mask = At(in, 7), *positions = At(in, 8);
  const int64_t batch = ids.dims[0], length = ids.dims[1], size = words.dims[1];
  const Tensor sum = Filled(DEPUTY_DTYPE_FLOAT64, {batch, length, size}, [&](const Dims& at) {
    const int64_t item = at[0] * length + at[1];
    const auto number = [](const Tensor& list, int64_t i) { return static_cast<int64_t>(list.Get(i)); };
    const int64_t place = positions == nullptr ? at[1] : number(*positions, positions->dims[0] == 1 ? at[1] : item);
    double value = words.Get(number(ids, item) * size + at[2]) + places.Get(place * size + at[2]);
    if (segments != nullptr) value += parts->Get(number(*segments, item) * size + at[2]);
    return value;
  });
  Tensor lengths(DEPUTY_DTYPE_INT32, {batch});
  for (int64_t i = 0; mask != nullptr && i < mask->count(); ++i)
    lengths.Put(i / length, lengths.Get(i / length) + (mask->Get(i) == 1 ? 1 : 0));
  std::vector<Tensor> outputs = {Normalize(sum, *in[5], in[6], node.Float("epsilon", 1e-12f), false, words.dtype).y,
                                 lengths, InType(sum, words.dtype)};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

// `bits` of each element, the lowest first.
int64_t Unpacked(const Tensor& bytes, int64_t first_byte, int64_t bit, int64_t bits) {
  const auto byte = static_cast<int64_t>(bytes.Get(first_byte + bit / 8));
  return byte >> (bit % 8) & ((int64_t{1} << bits) - 1);
}

std::vector<Tensor> MatMulNBits(const Node& node, const Inputs& in) {
  const int64_t rows = node.Int("K", 0), columns = node.Int("N", 0), block = node.Int("block_size", 0);
  const int64_t bits = node.Int("bits", 4), blocks = (rows + block - 1) / block;
  const Tensor *zeros = At(in, 3), *bias = At(in, 5);
  const Tensor weights = Filled(DEPUTY_DTYPE_FLOAT64, {rows, columns}, [&](const Dims& at) {
    const int64_t of_block = at[1] * blocks + at[0] / block;
    auto zero = static_cast<double>(int64_t{1} << (bits - 1));
    if (zeros != nullptr && IsReal(zeros->dtype)) zero = zeros->Get(of_block);
    if (zeros != nullptr && !IsReal(zeros->dtype))
      zero = static_cast<double>(Unpacked(*zeros, at[1] * ((blocks * bits + 7) / 8), at[0] / block * bits, bits));
    const auto number = static_cast<double>(Unpacked(*in[1], at[1] * blocks * block * bits / 8, at[0] * bits, bits));
    return (number - zero) * in[2]->Get(of_block);
  });
  Tensor y = Apply("MatMul", {Wide(*in[0]), weights});
  if (bias != nullptr) y = Apply("Add", {y, Wide(*bias)});
  return InTypeOf(*in[0], y);
}

}  // namespace

KernelRows MicrosoftKernels() {
  return {{"Microsoft_BiasGelu", BiasGelu},
          {"Microsoft_EmbedLayerNormalization", EmbedLayer},
          {"Microsoft_FastGelu", FastGelu},
          {"Microsoft_FusedConv", FusedConv},
          {"Microsoft_FusedGemm", FusedGemm},
          {"Microsoft_FusedMatMul", FusedMatMul},
          {"Microsoft_Gelu", PlainGelu},
          {"Microsoft_MatMulNBits", MatMulNBits},
          {"Microsoft_QuickGelu", QuickGelu},
          {"Microsoft_SkipLayerNormalization", SkipLayer},
          {"Microsoft_SkipSimplifiedLayerNormalization", SkipSimplified},
          {"Microsoft_TransposeMatMul", FusedMatMul},
          {"SimplifiedLayerNormalization", Simplified}};
}

}  // namespace deputy::conformance::reference
