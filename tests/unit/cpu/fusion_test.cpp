// Operators between DequantizeLinear and QuantizeLinear: what the CPU computes from the integers, compared with the
// nodes one after another.
#include "cpu/fusion.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cpu/delegate.hpp"
#include "support/test_graph.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

// A network of quantized values, built node by node with inferred types.
class Network {
 public:
  ValueId Input(Shape shape, DType dtype = DType::kUint8) {
    const ValueId id = graph.AddValue("", {dtype, true, shape});
    graph.inputs.push_back(id);
    Tensor tensor = Tensor::Allocate(dtype, std::move(shape)).value();
    for (size_t i = 0; i < tensor.byte_size(); ++i)
      static_cast<uint8_t*>(tensor.mutable_data())[i] = static_cast<uint8_t>(random_());
    known_[id] = std::move(tensor);
    return id;
  }
  ValueId Constant(Tensor tensor) {
    known_[graph.AddConstant("", tensor)] = tensor;
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  // Weights of 7 bits, so that they are typical; all others are drawn from the whole range.
  ValueId Weights(Shape shape) {
    Tensor tensor = Tensor::Allocate(DType::kInt8, std::move(shape)).value();
    for (size_t i = 0; i < tensor.byte_size(); ++i)
      static_cast<int8_t*>(tensor.mutable_data())[i] = static_cast<int8_t>(static_cast<int8_t>(random_()) / 2);
    return Constant(std::move(tensor));
  }
  ValueId Scale(float value) { return Constant(TensorOf<float>({}, {value})); }
  ValueId Scales(const std::vector<float>& values) {
    return Constant(TensorOf<float>({static_cast<int64_t>(values.size())}, values));
  }
  ValueId Zero(int value, DType dtype = DType::kUint8) {
    return Constant(dtype == DType::kUint8 ? TensorOf<uint8_t>({}, {static_cast<uint8_t>(value)})
                                           : TensorOf<int8_t>({}, {static_cast<int8_t>(value)}));
  }
  ValueId Op(const PrimitiveBuilder& builder, std::vector<ValueId> inputs) {
    std::vector<Tensor> values;
    for (const ValueId id : inputs) values.push_back(id == kNone ? Tensor() : known_.at(id));
    Node node = MakeNode(builder, std::move(inputs), {0});
    const Tensor result = evaluate_(node, values).value().front();
    const ValueId id = graph.AddValue("", {result.dtype(), true, result.shape()});
    known_[id] = result;
    node.outputs = {id};
    graph.nodes.push_back(std::move(node));
    return id;
  }
  ValueId Op(const char* op, int32_t version, std::vector<ValueId> inputs) {
    return Op(PrimitiveBuilder("", op, version), std::move(inputs));
  }
  ValueId Real(ValueId integers, float scale, int zero) {
    return Op("DequantizeLinear", 13, {integers, Scale(scale), Zero(zero, graph.values[integers].type.dtype)});
  }
  ValueId Quantize(ValueId real, float scale, int zero, DType dtype = DType::kUint8) {
    return Op("QuantizeLinear", 13, {real, Scale(scale), Zero(zero, dtype)});
  }

  // Of the fused kernels, which must make exactly the given values, by what the nodes have computed: the largest
  // distance of an element.
  int Compare(const std::vector<ValueId>& wanted) {
    std::vector<ValueId> made;
    int distance = 0;
    for (const FusedNode& fused : MakeCpuDelegate(std::make_shared<ThreadPool>(2))->fuser()->Fuse(OfferAll(graph))) {
      const Tensor& expected = known_.at(fused.outputs[0]);
      Tensor result = Tensor::Allocate(expected.dtype(), expected.shape()).value();
      std::vector<deputy_tensor> inputs;
      for (const ValueId id : fused.inputs) inputs.push_back(AbiTensor(known_.at(id)));
      std::vector<const deputy_tensor*> bound;
      for (const deputy_tensor& input : inputs) bound.push_back(&input);
      deputy_tensor output = AbiTensor(result);
      deputy_tensor* const outputs[] = {&output};
      Scratch scratch;
      const Status status = fused.executable->CreateContext().value()->Execute({bound, outputs, nullptr, &scratch});
      EXPECT_TRUE(status.ok()) << status.ToString();
      const bool is_signed = expected.dtype() == DType::kInt8;
      for (size_t i = 0; i < expected.byte_size(); ++i) {
        const uint8_t a = static_cast<const uint8_t*>(expected.data())[i],
                      b = static_cast<const uint8_t*>(result.data())[i];
        distance = std::max(distance, std::abs(is_signed ? static_cast<int8_t>(a) - static_cast<int8_t>(b) : a - b));
      }
      made.push_back(fused.outputs[0]);
    }
    EXPECT_EQ(made, wanted);
    return distance;
  }

  Graph graph;

 private:
  std::mt19937 random_{7};
  std::map<ValueId, Tensor> known_;
  const Evaluator evaluate_ = MakeCpuEvaluator();
};

PrimitiveBuilder Conv(std::vector<int64_t> pads, int64_t group = 1) {
  return PrimitiveBuilder("", "Conv", 11).Set("pads", std::move(pads)).Set("group", group);
}

TEST(Fusion, ConvolutionWithScalesPerFilterAndABias) {
  Network net;
  const ValueId x = net.Real(net.Input({1, 5, 9, 8}), 0.02f, 120);
  const ValueId scales = net.Scales({0.01f, 0.003f, 0.02f});
  const ValueId w =
      net.Op(PrimitiveBuilder("", "DequantizeLinear", 13).Set("axis", int64_t{0}), {net.Weights({3, 5, 3, 3}), scales});
  const ValueId units = net.Scales({0.02f * 0.01f, 0.02f * 0.003f, 0.02f * 0.02f});
  const ValueId bias = net.Op(PrimitiveBuilder("", "DequantizeLinear", 13).Set("axis", int64_t{0}),
                              {net.Constant(TensorOf<int32_t>({3}, {500, -20000, 7})), units});
  const ValueId y = net.Quantize(net.Op(Conv({1, 1, 1, 1}), {x, w, bias}), 0.05f, 100);
  EXPECT_LE(net.Compare({y}), 1);
}

// The bias is rounded to a unit of the sums, which is small beside a step of the result.
TEST(Fusion, DepthwiseConvolutionWithABiasOfFloats) {
  Network net;
  const ValueId x = net.Real(net.Input({2, 4, 7, 7}, DType::kInt8), 0.02f, -3);
  const ValueId w = net.Op("DequantizeLinear", 13, {net.Weights({4, 1, 3, 3}), net.Scale(0.01f)});
  const ValueId bias = net.Scales({0.5f, -0.3f, 0.01f, 0});
  const ValueId y = net.Quantize(net.Op(Conv({1, 1, 1, 1}, 4), {x, w, bias}), 0.05f, 10, DType::kInt8);
  EXPECT_LE(net.Compare({y}), 1);
}

// Rounded, it would change some results: about as many as its error has of a step.
TEST(Fusion, ABiasThatIsNoMultipleOfAUnitOfTheSumsIsLeftAlone) {
  for (const float unit : {1.0f, 0.01f}) {
    SCOPED_TRACE(unit);
    Network net;
    const ValueId x = net.Real(net.Input({1, 4, 3, 3}), 1, 120);
    const ValueId w = net.Op("DequantizeLinear", 13, {net.Weights({4, 4, 1, 1}), net.Scale(unit)});
    net.Quantize(net.Op("Conv", 11, {x, w, net.Scales({unit / 2, 0, 0, 0})}), 0.9f, 10);
    EXPECT_EQ(net.Compare({}), 0);
  }
}

TEST(Fusion, ProductsOfMatrices) {
  Network net;
  const ValueId x = net.Real(net.Input({6, 20}), 0.02f, 120);
  const ValueId w = net.Op(PrimitiveBuilder("", "DequantizeLinear", 13).Set("axis", int64_t{1}),
                           {net.Weights({20, 2}), net.Scales({0.01f, 0.02f})});
  const ValueId y = net.Quantize(net.Op("MatMul", 13, {x, w}), 0.05f, 100);
  const ValueId v = net.Op(PrimitiveBuilder("", "DequantizeLinear", 13).Set("axis", int64_t{0}),
                           {net.Weights({3, 20}), net.Scales({0.01f, 0.02f, 0.03f})});
  const PrimitiveBuilder gemm = PrimitiveBuilder("", "Gemm", 13).Set("transB", int64_t{1}).Set("alpha", 0.5f);
  const ValueId z = net.Quantize(net.Op(gemm, {x, v, net.Scales({1, 2, 3})}), 0.05f, 100);
  EXPECT_LE(net.Compare({y, z}), 1);
}

TEST(Fusion, ElementwiseOperatorsGiveTheSameBits) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    SCOPED_TRACE(op);
    Network net;
    const ValueId a = net.Real(net.Input({3, 500}), 0.02f, 120), b = net.Real(net.Input({3, 1}), 0.04f, 256 - 1);
    const ValueId y = net.Quantize(net.Op(op, 14, {a, b}), 0.02f, 31);
    EXPECT_EQ(net.Compare({y}), 0);
  }
}

TEST(Fusion, FunctionsOfOneOperandAreTables) {
  Network net;
  const ValueId x = net.Real(net.Input({1000}, DType::kInt8), 0.05f, 3);
  const ValueId limited = net.Op("Clip", 13, {x, net.Scale(-2), net.Scale(1.5f)});
  const ValueId y = net.Quantize(net.Op("Sigmoid", 13, {limited}), 1 / 256.0f, -128, DType::kInt8);
  const ValueId z = net.Quantize(x, 0.03f, 0, DType::kInt8);
  EXPECT_EQ(net.Compare({y, z}), 0);
}

// A limit between an operator and its QuantizeLinear that the range of the integers does not imply.
TEST(Fusion, LimitsOfAResult) {
  Network net;
  const ValueId a = net.Real(net.Input({1, 2, 10, 10}), 0.02f, 120), b = net.Real(net.Input({1, 2, 10, 10}), 0.03f, 90);
  const ValueId relu = net.Op("Relu", 14, {net.Op("Add", 14, {a, b})});
  const ValueId y = net.Quantize(relu, 0.05f, 100);
  const ValueId clip = net.Op("Clip", 13, {net.Op("Mul", 14, {a, b}), net.Scale(0), net.Scale(1.02f)});
  const ValueId z = net.Quantize(clip, 0.05f, 0);
  EXPECT_EQ(net.Compare({y, z}), 0);
}

// Pool, Concat and Transpose between different scales.
TEST(Fusion, ChoicesAmongIntegersGiveTheSameBits) {
  Network net;
  const ValueId a = net.Real(net.Input({1, 3, 8, 8}), 0.02f, 120), b = net.Real(net.Input({1, 2, 8, 8}), 0.05f, 0);
  const auto ints = [](std::vector<int64_t> values) { return values; };
  const ValueId pool = net.Quantize(
      net.Op(PrimitiveBuilder("", "MaxPool", 12).Set("kernel_shape", ints({3, 3})).Set("pads", ints({1, 1, 1, 1})),
             {a}),
      0.03f, 60);
  const ValueId joined =
      net.Quantize(net.Op(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{1}), {a, b}), 0.03f, 60);
  const ValueId turned =
      net.Quantize(net.Op(PrimitiveBuilder("", "Transpose", 13).Set("perm", ints({0, 2, 3, 1})), {b}), 0.05f, 0);
  const ValueId mean = net.Quantize(net.Op("GlobalAveragePool", 1, {a}), 0.03f, 60);
  EXPECT_EQ(net.Compare({pool, joined, turned, mean}), 0);
}

TEST(Fusion, AveragesDivideAsThoseOfFloats) {
  struct Case {
    int32_t version;
    int64_t ceil, counts, kernel, pad;
    bool fused;
  };
  for (const Case& c : {Case{11, 0, 0, 3, 1, true}, Case{11, 0, 1, 3, 1, true}, Case{11, 1, 0, 3, 1, true},
                        Case{11, 1, 1, 2, 0, false}, Case{11, 1, 1, 3, 1, false}, Case{19, 0, 1, 3, 1, true},
                        Case{19, 0, 1, 8, 0, false}, Case{19, 1, 1, 3, 1, false}}) {
    Network net;
    const ValueId a = net.Real(net.Input({1, 3, 7, 7}), 0.02f, 120);
    PrimitiveBuilder pool("", "AveragePool", c.version);
    pool.Set("kernel_shape", std::vector<int64_t>{c.kernel, c.kernel}).Set("strides", std::vector<int64_t>{2, 2});
    pool.Set("pads", std::vector<int64_t>(4, c.pad)).Set("ceil_mode", c.ceil).Set("count_include_pad", c.counts);
    const ValueId mean = net.Quantize(net.Op(pool, {a}), 0.02f, 120);
    EXPECT_LE(net.Compare(c.fused ? std::vector<ValueId>{mean} : std::vector<ValueId>()), 1) << c.version << c.kernel;
  }
}

TEST(Fusion, AValueWithAnotherReaderIsComputedInFloats) {
  Network net;
  const ValueId a = net.Real(net.Input({8}), 0.02f, 120), b = net.Real(net.Input({8}), 0.05f, 0);
  const ValueId sum = net.Op("Add", 14, {a, b});
  net.Quantize(sum, 0.05f, 0);
  net.graph.outputs.push_back(sum);
  EXPECT_EQ(net.Compare({}), 0);
}

TEST(Fusion, OnlyNodesOnOfferAreFused) {
  Network net;
  const ValueId a = net.Real(net.Input({8}), 0.02f, 120);
  net.Quantize(net.Op("Add", 14, {a, a}), 0.05f, 0);
  const std::shared_ptr<Delegate> cpu = MakeCpuDelegate(std::make_shared<ThreadPool>(1));
  EXPECT_EQ(cpu->fuser()->Fuse(OfferAll(net.graph)).size(), 1u);
  for (NodeId other = 0; other < 3; ++other) {
    GraphView view = OfferAll(net.graph);
    view.offered[other] = 0;
    EXPECT_TRUE(cpu->fuser()->Fuse(view).empty()) << other;
  }
}

}  // namespace
}  // namespace deputy::host
