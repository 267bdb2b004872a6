#include <functional>

#include "cases/pattern_builder.hpp"
#include "cases/patterns.hpp"

namespace deputy::conformance {
namespace {

// Appends a node to a value; the settings are those of one of the two nodes.
using Append = std::function<size_t(PatternBuilder&, size_t x)>;

struct NodePair {
  std::string label;
  Dims dims;
  Append first, second;
};

Append Node(const std::string& type, const NodeSettings& settings) {
  return [=](PatternBuilder& b, size_t x) { return b.Op(type, {x}, settings); };
}

NodePair Attributes(const std::string& type, const char* name, const Attribute& one, const Attribute& other,
                    const Dims& dims = Square()) {
  return {type + " with " + name + "=" + TextOf(one) + " and " + TextOf(other), dims, Node(type, {{name, one}}),
          Node(type, {{name, other}})};
}

Append WithConstant(const std::string& type, const Dims& dims, double low, double high) {
  return [=](PatternBuilder& b, size_t x) { return b.Op(type, {x, b.Const(dims, low, high)}); };
}

Append Convolution(const std::string& type, const NodeSettings& settings, int64_t group, bool biased) {
  return [=](PatternBuilder& b, size_t x) {
    NodeSettings all = settings;
    all.push_back({"kernel_shape", Ints({3, 3})});
    if (group != 1) all.push_back({"group", Int(group)});
    std::vector<size_t> inputs = {x, b.Const({kSide, kSide / group, 3, 3}, -0.25, 0.25)};
    if (biased) inputs.push_back(b.Const(Row()));
    return b.Op(type, inputs, all);
  };
}

Append Pool(const std::string& type, int64_t kernel, int64_t pad, int64_t counted) {
  return [=](PatternBuilder& b, size_t x) {
    NodeSettings settings = {{"kernel_shape", Ints({kernel, kernel})}, {"pads", Ints({pad, pad, pad, pad})}};
    if (counted != 0) settings.push_back({"count_include_pad", Int(1)});
    return b.Op(type, {x}, settings);
  };
}

Append Slice(int64_t from, int64_t to, int64_t axis) {
  return [=](PatternBuilder& b, size_t x) {
    return b.Op("Slice", {x, b.Numbers({from}), b.Numbers({to}), b.Numbers({axis})});
  };
}

Append Mean(int64_t axis) {
  return [=](PatternBuilder& b, size_t x) { return b.Mean(x, {axis}); };
}

Append Sums(int64_t axis) {
  return [=](PatternBuilder& b, size_t x) { return b.Op("CumSum", {x, b.Axis(axis)}); };
}

Append Clip(double low, double high) {
  return [=](PatternBuilder& b, size_t x) { return b.Op("Clip", {x, b.Scalar(low), b.Scalar(high)}); };
}

Append Gemm(const NodeSettings& settings) {
  return [=](PatternBuilder& b, size_t x) {
    return b.Op("Gemm", {x, b.Const(Square(), -0.4, 0.4), b.Const(Row())}, settings);
  };
}

Append Normalization(const std::string& type, float epsilon) {
  return [=](PatternBuilder& b, size_t x) {
    std::vector<size_t> inputs = {x, b.Const(Row(), 0.5, 1.5), b.Const(Row())};
    if (type == "BatchNormalization") {
      inputs.push_back(b.Const(Row()));
      inputs.push_back(b.Const(Row(), 0.5, 2));
    }
    return b.Op(type, inputs, {{"epsilon", Float(epsilon)}});
  };
}

Append Quantization(double scale, int64_t zero) {
  return [=](PatternBuilder& b, size_t x) {
    const size_t step = b.Scalar(scale), middle = b.Zero(zero);
    return b.Op("DequantizeLinear", {b.Op("QuantizeLinear", {x, step, middle}), step, middle});
  };
}

Append Padding(const std::string& mode, double value) {
  return [=](PatternBuilder& b, size_t x) { return b.Pad(x, mode, value); };
}

Append Reshape(const Dims& dims) {
  return [=](PatternBuilder& b, size_t x) { return b.Op("Reshape", {x, b.Numbers(dims)}); };
}

Append Concat(int64_t axis) {
  return [=](PatternBuilder& b, size_t x) { return b.Op("Concat", {x, b.Op("Relu", {x})}, {{"axis", Int(axis)}}); };
}

std::vector<NodePair> AllNodePairs(deputy_dtype dtype) {
  const NodeSettings padded = {{"pads", Ints({1, 1, 1, 1})}};
  std::vector<NodePair> all = {
      Attributes("LeakyRelu", "alpha", Float(0.1f), Float(0.4f)),
      Attributes("Elu", "alpha", Float(1), Float(0.3f)),
      Attributes("Celu", "alpha", Float(1), Float(0.5f)),
      Attributes("Selu", "gamma", Float(1), Float(2)),
      Attributes("HardSigmoid", "alpha", Float(0.2f), Float(0.4f)),
      Attributes("ThresholdedRelu", "alpha", Float(0.25f), Float(0.5f)),
      Attributes("Gelu", "approximate", Text("none"), Text("tanh")),
      Attributes("Softmax", "axis", Int(0), Int(1)),
      Attributes("LogSoftmax", "axis", Int(1), Int(0)),
      Attributes("Transpose", "perm", Ints({1, 2, 0}), Ints({1, 0, 2}), Cube()),
      Attributes("Flatten", "axis", Int(3), Int(1), Cube()),
      Attributes("LpNormalization", "axis", Int(0), Int(1)),
      Attributes("LRN", "size", Int(3), Int(5), Image()),
      {"Clip with limits of -0.5 and -0.25", Square(), Clip(-0.5, 1), Clip(-0.25, 0.5)},
      {"Add of two constants", Square(), WithConstant("Add", Row(), -1, 1), WithConstant("Add", Row(), -1, 1)},
      {"Mul of two constants", Square(), WithConstant("Mul", Row(), -1, 1), WithConstant("Mul", Row(), -1, 1)},
      {"PRelu with two slopes", Square(), WithConstant("PRelu", Row(), 0.1, 0.4), WithConstant("PRelu", Row(), 0.5, 1)},
      {"MatMul of two weights", Square(), WithConstant("MatMul", Square(), -0.4, 0.4),
       WithConstant("MatMul", Square(), -0.4, 0.4)},
      {"Gemm with alpha=1 and 0.5", Square(), Gemm({}), Gemm({{"alpha", Float(0.5f)}})},
      {"Gemm with transB=0 and 1", Square(), Gemm({}), Gemm({{"transB", Int(1)}})},
      {"Conv of two weights", Image(), Convolution("Conv", padded, 1, true), Convolution("Conv", padded, 1, true)},
      {"Conv with and without a bias", Image(), Convolution("Conv", padded, 1, true),
       Convolution("Conv", padded, 1, false)},
      {"Conv with pads and without", Image(), Convolution("Conv", padded, 1, true), Convolution("Conv", {}, 1, true)},
      {"Conv with dilations and without", Image(),
       Convolution("Conv", {{"pads", Ints({2, 2, 2, 2})}, {"dilations", Ints({2, 2})}}, 1, true),
       Convolution("Conv", padded, 1, true)},
      {"Conv with strides and without", Image(), Convolution("Conv", padded, 1, true),
       Convolution("Conv", {{"pads", Ints({1, 1, 1, 1})}, {"strides", Ints({2, 2})}}, 1, true)},
      {"Conv by channel and whole", Image(), Convolution("Conv", padded, kSide, true),
       Convolution("Conv", padded, 1, true)},
      {"ConvTranspose with pads and without", Image(), Convolution("ConvTranspose", padded, 1, true),
       Convolution("ConvTranspose", {}, 1, true)},
      {"MaxPool of two kernels", Image(), Pool("MaxPool", 3, 1, 0), Pool("MaxPool", 2, 0, 0)},
      {"AveragePool with and without its padding", Image(), Pool("AveragePool", 3, 1, 1), Pool("AveragePool", 3, 1, 0)},
      {"BatchNormalization with two epsilons", Image(), Normalization("BatchNormalization", 0.001f),
       Normalization("BatchNormalization", 0.5f)},
      {"InstanceNormalization with two epsilons", Image(), Normalization("InstanceNormalization", 0.001f),
       Normalization("InstanceNormalization", 0.5f)},
      {"LayerNormalization with two epsilons", Square(), Normalization("LayerNormalization", 0.001f),
       Normalization("LayerNormalization", 0.5f)},
      {"ReduceMean along two axes", Image(), Mean(2), Mean(3)},
      {"CumSum along two axes", Square(), Sums(0), Sums(1)},
      {"Slice along two axes", Square(), Slice(1, 8, 0), Slice(2, 7, 1)},
      {"Reshape to two shapes", Image(), Reshape({1, kSide, kSide * kSide}), Reshape({kSide * kSide, kSide})},
      {"Concat along two axes", Square(), Concat(0), Concat(1)},
      {"Pad in two modes", Image(), Padding("edge", 0), Padding("constant", 0.5)}};
  if (dtype == kF32)
    all.push_back({"QuantizeLinear with two scales", Square(), Quantization(0.0625, 128), Quantization(0.03125, 64)});
  return all;
}

}  // namespace

std::vector<ModelCase> RepeatedOperators(deputy_dtype dtype, uint64_t seed) {
  std::vector<ModelCase> all;
  PatternBuilder b(all, dtype, seed);
  for (const NodePair& pair : AllNodePairs(dtype)) {
    b.Begin(pair.label);
    b.Done(pair.second(b, pair.first(b, b.In(pair.dims))));
  }
  return all;
}

}  // namespace deputy::conformance
