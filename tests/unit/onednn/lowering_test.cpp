// Layouts, memory and arguments of what a program is turned into.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

void Pads(fake::PrimitiveBytes& p) { p.Ints("pads", {1, 1, 1, 1}); }

const Dims kMap = {1, 16, 12, 12};

deputy_value_id Conv(Graph& graph, deputy_value_id x) {
  return graph.Add("Conv", {x, graph.Constant({16, 16, 3, 3})}, kMap, Pads);
}

size_t Reorders(const Executable& executable) {
  return static_cast<size_t>(std::count_if(executable.steps().begin(), executable.steps().end(), [](const Step& step) {
    return step.function == nullptr && step.primitive.get_kind() == dnnl::primitive::kind::reorder;
  }));
}

TEST(Lowering, ConvolutionsHandOnTheirLayout) {
  Graph graph;
  deputy_value_id x = graph.Input(kMap);
  for (int i = 0; i < 5; ++i)
    x = graph.Add("MaxPool", {graph.Add("Relu", {Conv(graph, x)}, kMap)}, kMap, [](fake::PrimitiveBytes& p) {
      p.Ints("kernel_shape", {3, 3}).Ints("pads", {1, 1, 1, 1});
    });
  graph.Output(x);
  // One at each border at most.
  EXPECT_LE(Reorders(*graph.Compile()), 2u);
}

TEST(Lowering, ReshapedOutputIsWrittenOnce) {
  Graph graph;
  const deputy_value_id y = graph.Add("Softmax", {graph.Input({4, 50})}, {4, 50});
  graph.Output(graph.Add("Reshape", {y, graph.Constant({2})}, {2, 100}));
  EXPECT_EQ(graph.Compile()->steps().size(), 1u);
}

TEST(Lowering, TransposedOperandsOfAProductAreViews) {
  Graph graph;
  const auto last_two = [](fake::PrimitiveBytes& p) { p.Ints("perm", {0, 2, 1}); };
  const deputy_value_id a = graph.Add("Transpose", {graph.Input({3, 8, 5})}, {3, 5, 8}, last_two);
  const deputy_value_id b = graph.Add("Transpose", {graph.Input({3, 6, 8})}, {3, 8, 6}, last_two);
  graph.Output(graph.Add("MatMul", {a, b}, {3, 5, 6}));
  EXPECT_EQ(graph.Compile()->steps().size(), 1u);
  EXPECT_EQ(graph.Run(true).size(), 90u);
}

// Channels are padded to a vector there.
TEST(Lowering, ASecondOperandOfOneChannelIsReadBeforeItIsOverwritten) {
  Graph graph;
  const Dims line = {1, 1, 16};
  const deputy_value_id made = graph.Add("ConvTranspose", {graph.Input({1, 2, 16}), graph.Constant({2, 1, 2})}, line,
                                         [](fake::PrimitiveBytes& p) {
                                           p.Ints("pads", {0, 1});
                                         });
  const deputy_value_id x = graph.Add("Add", {made, graph.Constant({1, 1}, {-2.0f})}, line);
  const deputy_value_id power = graph.Add("Exp", {graph.Add("Max", {made, made}, line)}, line);
  graph.Output(x);
  graph.Output(graph.Add("Div", {x, power}, line));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(all[16 + i], all[i] / std::exp(all[i] + 2), 1e-5f);
}

TEST(Lowering, ATransposedTensorOfOneChannelIsNormalized) {
  Graph graph;
  const deputy_value_id x = graph.Add("Transpose", {graph.Input({1, 4, 7})}, {4, 1, 7}, [](fake::PrimitiveBytes& p) {
    p.Ints("perm", {1, 0, 2});
  });
  const deputy_value_id one = graph.Constant({1}, {1.0f}), two = graph.Constant({1}, {2.0f});
  graph.Output(x);
  graph.Output(graph.Add("BatchNormalization", {x, two, one, one, one}, {4, 1, 7},
                         [](fake::PrimitiveBytes& p) { p.Float("epsilon", 0.0f); }));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 28; ++i) EXPECT_NEAR(all[28 + i], 2 * (all[i] - 1) + 1, 1e-5f);
}

TEST(Lowering, AnInputThatIsOnlyViewedIsCopiedOut) {
  Graph graph;
  const deputy_value_id x = graph.Input({2, 6});
  graph.Output(graph.Add("Reshape", {x, graph.Constant({2})}, {3, 4}));
  graph.Output(graph.Add("Relu", {x}, {2, 6}));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(std::max(0.0f, all[i]), all[12 + i]);
}

TEST(Lowering, OneValueThatLeavesTwiceIsInBothOutputs) {
  Graph graph;
  const deputy_value_id y = graph.Add("Relu", {graph.Input({2, 6})}, {2, 6});
  graph.Output(graph.Add("Reshape", {y, graph.Constant({1})}, {12}));
  graph.Output(graph.Add("Reshape", {y, graph.Constant({2})}, {3, 4}));
  graph.Output(y);
  const std::vector<float> all = graph.Run();
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 12, all.begin() + 12));
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 12, all.begin() + 24));
}

TEST(Lowering, AChainOfFunctionsNeedsTheMemoryOfOne) {
  Graph graph;
  deputy_value_id x = graph.Input({1000});
  for (int i = 0; i < 10; ++i) x = graph.Add(i % 2 == 0 ? "Exp" : "Tanh", {x}, {1000});
  graph.Output(x);
  EXPECT_LE(graph.Compile()->arena_bytes(), 4096u);
}

TEST(Lowering, ValuesOfAWideGraphDoNotOverlap) {
  Graph graph;
  std::vector<deputy_value_id> parts;
  deputy_value_id x = graph.Input(kMap);
  for (int i = 0; i < 4; ++i) parts.push_back(x = Conv(graph, x));
  graph.Output(graph.Add("Concat", parts, {1, 64, 12, 12}, [](fake::PrimitiveBytes& p) { p.Int("axis", 1); }));
  EXPECT_EQ(graph.Run(true), graph.Run(false));
}

TEST(Lowering, TwoContextsOfOneExecutableRunApart) {
  Graph graph;
  graph.Output(graph.Add("Relu", {Conv(graph, graph.Input(kMap))}, kMap));
  const auto executable = graph.Compile();
  EXPECT_TRUE(executable->CreateContext().ok());
  EXPECT_TRUE(executable->CreateContext().ok());
}

}  // namespace
}  // namespace onednn
