#include "graph/passes/passes.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

struct Convolution {
  const char* op = "Conv";
  int64_t channels_in = 4, channels_out = 6, group = 1;
  bool bias = true;
};

// x → convolution; the value that it makes.
ValueId AddConvolution(PassGraph& made, Numbers& numbers, const Convolution& it, ValueId x) {
  const bool transposed = std::string(it.op) == "ConvTranspose";
  const Shape shape = transposed ? Shape{it.channels_in, it.channels_out / it.group, 3, 3}
                                 : Shape{it.channels_out, it.channels_in / it.group, 3, 3};
  std::vector<ValueId> inputs = {x, made.Constant(numbers.Floats(shape), "w")};
  if (it.bias) inputs.push_back(made.Constant(numbers.Floats({it.channels_out}), "b"));
  return made.Node(PrimitiveBuilder("", it.op, 1).Set("group", it.group), inputs);
}

ValueId AddBatchNorm(PassGraph& made, Numbers& numbers, ValueId x, int64_t channels) {
  return made.Node(PrimitiveBuilder("", "BatchNormalization", 15).Set("epsilon", 1e-3f),
                   {x, made.Constant(numbers.Floats({channels})), made.Constant(numbers.Floats({channels})),
                    made.Constant(numbers.Floats({channels})), made.Constant(numbers.Floats({channels}, 0.4f, 1))});
}

void ExpectFolded(const Convolution& it) {
  Numbers numbers(7);
  PassGraph made;
  const ValueId x = made.Input("x", {1, it.channels_in, 5, 5});
  made.Output(AddBatchNorm(made, numbers, AddConvolution(made, numbers, it, x), it.channels_out));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(Operators(graph), it.op);
  EXPECT_EQ(graph.nodes[0].name, std::string(it.op) + "1");
  ExpectSameNumbers(made, {numbers.Floats({1, it.channels_in, 5, 5})});
}

TEST(FoldBatchNorm, ConvWithAndWithoutBias) {
  ExpectFolded({});
  ExpectFolded({"Conv", 4, 6, 1, false});
}

TEST(FoldBatchNorm, GroupedAndDepthwiseConv) {
  ExpectFolded({"Conv", 4, 6, 2, true});
  ExpectFolded({"Conv", 4, 4, 4, true});
}

TEST(FoldBatchNorm, ConvTransposeWithGroups) {
  ExpectFolded({"ConvTranspose", 4, 6, 1, true});
  ExpectFolded({"ConvTranspose", 4, 6, 2, false});
}

TEST(FoldBatchNorm, OutputKeepsItsName) {
  Numbers numbers(1);
  PassGraph made;
  made.Output(AddBatchNorm(made, numbers, AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5})), 6));
  const std::string name = made.graph.values[made.graph.outputs[0]].name;
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(graph.values[graph.outputs[0]].name, name);
}

TEST(FoldBatchNorm, GemmWithEitherLayoutAlphaAndBeta) {
  for (const int64_t transposed : {0, 1}) {
    for (const bool bias : {false, true}) {
      Numbers numbers(3);
      PassGraph made;
      std::vector<ValueId> inputs = {made.Input("x", {2, 4}),
                                     made.Constant(numbers.Floats(transposed != 0 ? Shape{6, 4} : Shape{4, 6}))};
      if (bias) inputs.push_back(made.Constant(numbers.Floats({1, 6})));
      const ValueId product = made.Node(
          PrimitiveBuilder("", "Gemm", 13).Set("transB", transposed).Set("alpha", 0.5f).Set("beta", 2.0f), inputs);
      made.Output(AddBatchNorm(made, numbers, product, 6));
      EXPECT_EQ(Operators(Passed(made.graph)), "Gemm");
      ExpectSameNumbers(made, {numbers.Floats({2, 4})});
    }
  }
}

TEST(FoldBatchNorm, ChainOfArithmeticPerChannelIsTakenInAsOne) {
  Numbers numbers(5);
  PassGraph made;
  ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  y = made.Node("Mul", {y, made.Constant(numbers.Floats({6, 1, 1}))});
  y = made.Node("Add", {made.Constant(numbers.Floats({1, 6, 1, 1})), y});
  y = AddBatchNorm(made, numbers, y, 6);
  y = made.Node("Sub", {made.Constant(numbers.Floats({})), y});
  y = made.Node("Sub", {y, made.Constant(numbers.Floats({1}))});
  y = made.Node("Div", {y, made.Constant(numbers.Floats({6, 1, 1}, 0.1f, 2))});
  made.Output(y);
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv");
  ExpectSameNumbers(made, {numbers.Floats({1, 4, 5, 5})});
}

TEST(FoldBatchNorm, ConstantPerColumnStays) {
  Numbers numbers(5);
  PassGraph made;
  // 3 columns: a constant of 6 would be per channel, this is not.
  const ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  made.Output(made.Node("Mul", {y, made.Constant(numbers.Floats({3}))}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,Mul");
}

TEST(FoldBatchNorm, ConstantThatWidensTheResultStays) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  made.Output(made.Node("Mul", {y, made.Constant(numbers.Floats({2, 6, 1, 1}))}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,Mul");
}

TEST(FoldBatchNorm, ValueThatSomebodyElseReadsStays) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  made.Output(AddBatchNorm(made, numbers, y, 6));
  made.Output(made.Node("Relu", {y}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,BatchNormalization,Relu");
}

TEST(FoldBatchNorm, ValueThatIsAnOutputStays) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  made.Output(y);
  made.Output(AddBatchNorm(made, numbers, y, 6));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,BatchNormalization");
}

TEST(FoldBatchNorm, WeightsThatAreComputedStay) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId x = made.Input("x", {1, 4, 5, 5}), w = made.Input("w", {6, 4, 3, 3});
  made.Output(AddBatchNorm(made, numbers, made.Node("Conv", {x, w}), 6));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,BatchNormalization");
}

TEST(FoldBatchNorm, WeightsThatWouldOverflowStay) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId y = AddConvolution(made, numbers, {}, made.Input("x", {1, 4, 5, 5}));
  made.Output(made.Node("Div", {y, made.Constant(Floats({}, {0}))}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,Div");
}

TEST(FoldBatchNorm, ConvolutionsThatShareWeightsAreFoldedApart) {
  Numbers numbers(5);
  PassGraph made;
  const ValueId x = made.Input("x", {1, 4, 5, 5}), w = made.Constant(numbers.Floats({6, 4, 3, 3}));
  made.Output(AddBatchNorm(made, numbers, made.Node(PrimitiveBuilder("", "Conv", 1), {x, w}), 6));
  made.Output(
      AddBatchNorm(made, numbers, made.Node(PrimitiveBuilder("", "Conv", 1).Set("pads", Dims{1, 1, 1, 1}), {x, w}), 6));
  EXPECT_EQ(Operators(Passed(made.graph)), "Conv,Conv");
  ExpectSameNumbers(made, {numbers.Floats({1, 4, 5, 5})});
}

TEST(FoldBatchNorm, HalfPrecisionWeightsAreRoundedOnce) {
  PassGraph made;
  const auto halves = [](Shape shape, const std::vector<uint16_t>& bits) {
    return Values(DType::kFloat16, std::move(shape), bits);
  };
  const ValueId x = made.Input("x", {1, 1, 1, 1}, DType::kFloat16);
  const ValueId y = made.Node("Conv", {x, made.Constant(halves({1, 1, 1, 1}, {0x3c00}))});
  made.Output(made.Node("Mul", {y, made.Constant(halves({}, {0x4000}))}));  // 1 times 2
  const Graph graph = Passed(made.graph);
  ASSERT_EQ(Operators(graph), "Conv");
  EXPECT_EQ(graph.values[graph.nodes[0].inputs[1]].constant.values<uint16_t>()[0], 0x4000);
}

}  // namespace
}  // namespace deputy::host
