#include "base/cancellation.hpp"
#include "graph/passes/folding.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

PassOptions Budget(size_t bytes) {
  PassOptions options;
  options.fold_budget_bytes = bytes;
  return options;
}

TEST(FoldConstants, NodesOnConstantsAreComputed) {
  PassGraph made;
  const ValueId sum = made.Node("Add", {made.Constant(Floats({2}, {1, 2})), made.Constant(Floats({}, {1}))});
  made.Output(made.Node("Mul", {made.Input("x", {2}), made.Node("Neg", {sum})}));
  const Graph graph = Passed(made.graph);
  ASSERT_EQ(Operators(graph), "Mul");
  EXPECT_EQ(graph.values[graph.nodes[0].inputs[1]].constant.values<float>()[1], -3);
  EXPECT_TRUE(graph.values[sum].constant.empty()) << "a step on the way was kept";
}

TEST(FoldConstants, DrawsAreNotFixedForGood) {
  PassGraph made;
  const ValueId noise = made.Node("RandomNormalLike", {made.Constant(Floats({2}, {1, 2}))});
  made.Output(made.Node("Add", {made.Input("x", {2}), noise}));
  EXPECT_EQ(Operators(Passed(made.graph)), "RandomNormalLike,Add");
}

TEST(FoldConstants, ExpansionBeyondTheBudgetStays) {
  for (const char* op : {"Expand", "Tile"}) {
    PassGraph made;
    const ValueId large = made.Node(op, {made.Constant(Floats({1}, {3})), made.Constant(Ints({1000}))});
    made.Output(made.Node("Add", {made.Input("x", {1000}), large}));
    EXPECT_EQ(Operators(Passed(made.graph, Budget(3900))), std::string(op) + ",Add");
    EXPECT_EQ(Operators(Passed(made.graph, Budget(4000))), "Add");
  }
}

TEST(FoldConstants, HugeExpansionIsNotEvenTried) {
  PassGraph made;
  const ValueId huge = made.Node("ConstantOfShape", {made.Constant(Ints({10'000, 100'000, 100'000}))});
  made.Output(made.Node("Shape", {huge}));
  made.Output(made.Node("Gather", {huge, made.Input("i", {}, DType::kInt64)}));
  EXPECT_EQ(Operators(Passed(made.graph)), "ConstantOfShape,Gather");
}

TEST(FoldConstants, AllFoldsTogetherHaveABudgetToo) {
  PassGraph made;
  const ValueId x = made.Input("x", {1000});
  for (int i = 0; i < 20; ++i) {
    const ValueId part =
        made.Node("Expand", {made.Constant(Floats({1}, {static_cast<float>(i)})), made.Constant(Ints({1000}))});
    made.Output(made.Node("Add", {x, part}));
  }
  const Graph graph = Passed(made.graph, Budget(4000));
  EXPECT_EQ(graph.nodes.size(), 24u);  // sixteen of twenty fit
}

TEST(FoldConstants, WhatReplacesItsInputCostsNothing) {
  PassGraph made;
  const ValueId weights = made.Constant(Numbers(1).Floats({100, 50}));
  made.Output(made.Node("MatMul", {made.Input("x", {1, 50}), made.Transpose(weights, {1, 0})}));
  EXPECT_EQ(Operators(Passed(made.graph, Budget(0))), "MatMul");
}

TEST(FoldConstants, CopyOfWhatSomebodyElseReadsDoesCost) {
  PassGraph made;
  const ValueId weights = made.Constant(Numbers(1).Floats({50, 50})), x = made.Input("x", {1, 50});
  made.Output(made.Node("MatMul", {x, made.Transpose(weights, {1, 0})}));
  made.Output(made.Node("MatMul", {x, weights}));
  EXPECT_EQ(Operators(Passed(made.graph, Budget(9999))), "Transpose,MatMul,MatMul");
  const Graph folded = Passed(made.graph, Budget(10'000));
  EXPECT_EQ(Operators(folded), "MatMul,MatMul");
  EXPECT_TRUE(folded.values[weights].is_constant());
}

TEST(FoldConstants, ReshapedConstantSharesItsBytes) {
  PassGraph made;
  const ValueId weights = made.Constant(Numbers(1).Floats({6}));
  const void* bytes = made.graph.values[weights].constant.data();
  const ValueId matrix = made.Node("Reshape", {weights, made.Constant(Ints({2, 3}))});
  made.Output(made.Node("MatMul", {made.Input("x", {1, 2}), matrix}));
  const Graph graph = Passed(made.graph, Budget(0));
  EXPECT_EQ(graph.values[matrix].constant.data(), bytes);
  EXPECT_EQ(graph.values[matrix].constant.shape(), (Dims{2, 3}));
}

TEST(FoldConstants, QuantizedWeightsStayQuantized) {
  PassGraph made;
  const ValueId weights = made.Constant(Values<int8_t>(DType::kInt8, {2, 2}, {1, 2, 3, 4}));
  const ValueId real = made.Node("DequantizeLinear", {weights, made.Constant(Floats({}, {0.5f}))});
  made.Output(made.Node("MatMul", {made.Input("x", {1, 2}), real}));
  EXPECT_EQ(Operators(Passed(made.graph)), "DequantizeLinear,MatMul");
}

TEST(FoldConstants, WrongConstantsAreAnErrorWithTheNode) {
  PassGraph made;
  made.Output(made.Node("Gather", {made.Constant(Floats({2}, {1, 2})), made.Constant(Int(5))}));
  PassOptions options;
  options.evaluator = MakeCpuEvaluator();
  EXPECT_EQ(RunPasses(made.graph, options).where(), "node 'Gather1' (Gather)");
}

TEST(FoldConstants, ANodeThatNeedsTooMuchMemoryOrTimeStays) {
  for (const StatusCode code : {StatusCode::kResourceExhausted, StatusCode::kDeadlineExceeded}) {
    PassGraph made;
    const ValueId opposite = made.Node("Neg", {made.Constant(Floats({2}, {1, 2}))});
    made.Output(made.Node("Add", {made.Input("x", {2}), opposite}));
    InferenceOptions options;
    options.evaluator = [&](const Node&, std::span<const Tensor>) -> Result<std::vector<Tensor>> {
      return Status(code, "too much");
    };
    ASSERT_TRUE(InferGraph(made.graph, options).ok());
    EXPECT_EQ(Operators(made.graph), "Neg,Add");
  }
}

TEST(FoldConstants, AllFoldsTogetherHaveLimitedTime) {
  PassGraph made;
  made.Output(made.Node("Neg", {made.Constant(Floats({2}, {1, 2}))}));
  const std::vector<Tensor> inputs = {Floats({2}, {1, 2})};
  int calls = 0;
  const Evaluator evaluator = [&](const Node&, std::span<const Tensor> given) -> Result<std::vector<Tensor>> {
    ++calls;
    for (const uint64_t begin = NowNs(); NowNs() == begin;) {
    }
    return std::vector<Tensor>(given.begin(), given.end());
  };
  FoldBudget budget(1000);
  EXPECT_TRUE(FoldNode(made.graph, made.graph.nodes[0], inputs, evaluator, 0, budget).value().has_value());
  EXPECT_LT(budget.left_ns, FoldBudget(1000).left_ns);
  budget.left_ns = 0;
  EXPECT_FALSE(FoldNode(made.graph, made.graph.nodes[0], inputs, evaluator, 0, budget).value().has_value());
  EXPECT_EQ(calls, 1);
}

// Each element is the sum of all: minutes, if it were computed.
TEST(FoldConstants, ANodeThatTakesLongStays) {
  PassGraph made;
  const Tensor many = Tensor::Allocate(DType::kFloat32, {1, 1 << 20, 1}).value();
  PrimitiveBuilder builder("", "LRN", 13);
  builder.Set("size", INT64_MAX);
  made.Output(made.Node(builder, {made.Constant(many)}));
  EXPECT_EQ(Operators(Passed(made.graph)), "LRN");
}

// The working memory of Unique is 32 bytes per element here, 320 MB.
TEST(FoldConstants, WorkingMemoryHasALimit) {
  PassGraph made;
  Tensor bytes = Tensor::Allocate(DType::kUint8, {10'000'000}).value();
  made.Output(made.Node("Unique", {made.Constant(bytes)}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Unique");
}

}  // namespace
}  // namespace deputy::host
