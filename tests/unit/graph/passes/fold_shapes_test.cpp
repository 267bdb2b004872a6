#include "graph/passes/folding.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

// x is [N,3,H,W]; N, H, W are symbols.
class FoldShapes : public ::testing::Test {
 protected:
  FoldShapes() {
    n = SymbolDim(made.graph.AddSymbol("N"));
    h = SymbolDim(made.graph.AddSymbol("H"));
    w = SymbolDim(made.graph.AddSymbol("W"));
    x = made.Input("x", {n, 3, h, w});
  }

  ValueId Shape() { return made.Node("Shape", {x}); }
  ValueId Extent(int64_t axis) { return made.Node("Gather", {Shape(), made.Constant(Int(axis))}); }
  ValueId List(ValueId scalar) { return made.Node("Unsqueeze", {scalar, made.Constant(Ints({0}))}); }
  ValueId Join(std::vector<ValueId> parts) {
    return made.Node(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}), std::move(parts));
  }
  Dims DimsOf(ValueId value, PassOptions options = {}) {
    made.Output(value);
    const Graph graph = Passed(made.graph, std::move(options));
    return graph.values[value].type.dims;
  }

  PassGraph made;
  int64_t n, h, w;
  ValueId x;
};

TEST_F(FoldShapes, KnownExtentOfAnOpenShapeIsAConstant) {
  made.Output(made.Node("Neg", {Extent(1)}));
  const Graph graph = Passed(made.graph);
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(graph.values[graph.outputs[0]].constant.values<int64_t>()[0], -3);
}

TEST_F(FoldShapes, OpenExtentIsNot) {
  made.Output(Extent(0));
  EXPECT_EQ(Operators(Passed(made.graph)), "Shape,Gather");
}

TEST_F(FoldShapes, FlattenedTargetKeepsTheSymbolAndTheChannels) {
  // view(x.size(0), x.size(1), -1) of [N,3,H,W]
  const ValueId target = Join({List(Extent(0)), List(Extent(1)), made.Constant(Ints({-1}))});
  EXPECT_EQ(DimsOf(made.Node("Reshape", {x, target})), (Dims{n, 3, kUnknownDim}));
}

TEST_F(FoldShapes, SymbolsOfATargetCancel) {
  const ValueId target = Join({List(Extent(0)), List(Extent(2)), List(Extent(3)), made.Constant(Ints({-1}))});
  EXPECT_EQ(DimsOf(made.Node("Reshape", {x, target})), (Dims{n, h, w, 3}));
}

TEST_F(FoldShapes, ArithmeticOnKnownExtentsIsDone) {
  const ValueId half = made.Node("Div", {Extent(1), made.Constant(Int(2))});
  const ValueId sum = made.Node("Add", {made.Node("Mul", {half, made.Constant(Int(6))}), made.Constant(Int(-1))});
  made.Output(sum);
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(graph.values[sum].constant.values<int64_t>()[0], 5);
}

TEST_F(FoldShapes, NeutralArithmeticKeepsTheSymbol) {
  const ValueId same = made.Node("Add", {made.Node("Mul", {Extent(2), made.Constant(Int(1))}), made.Constant(Int(0))});
  const ValueId none = made.Node("Sub", {same, Extent(2)});
  const ValueId target =
      Join({List(Extent(0)), List(made.Node("Add", {none, made.Constant(Int(3))})), List(same), List(Extent(3))});
  EXPECT_EQ(DimsOf(made.Node("ConstantOfShape", {target})), (Dims{n, 3, h, w}));
}

TEST_F(FoldShapes, SlicedAndCastShapeIsFollowed) {
  const ValueId space =
      made.Node("Slice", {Shape(), made.Constant(Ints({2})), made.Constant(Ints({4})), made.Constant(Ints({0}))});
  const ValueId cast =
      made.Node(PrimitiveBuilder("", "Cast", 13).Set("to", static_cast<int64_t>(DType::kInt64)), {space});
  EXPECT_EQ(DimsOf(made.Node("ConstantOfShape", {Join({made.Constant(Ints({1})), cast})})), (Dims{1, h, w}));
}

TEST_F(FoldShapes, ExpandAsExportersWriteIt) {
  // where(equal(size, -1), shape(x), size)
  const ValueId size = Join({List(Extent(0)), made.Constant(Ints({-1, 5, 1}))});
  const ValueId open = made.Node("Equal", {size, made.Constant(Ints({-1}))});
  const ValueId target = made.Node("Where", {open, made.Constant(Ints({1, 1, 1, 1})), size});
  EXPECT_EQ(DimsOf(made.Node("ConstantOfShape", {target})), (Dims{n, 1, 5, 1}));
}

TEST_F(FoldShapes, OneOpenExtentFollowsFromTheNumberOfElements) {
  const ValueId y = made.Input("y", {4, 6}), k = made.Input("k", {1}, DType::kInt64);
  EXPECT_EQ(DimsOf(made.Node("Reshape", {y, Join({k, made.Constant(Ints({3, 4}))})})), (Dims{2, 3, 4}));
}

TEST_F(FoldShapes, ElementThatMayBeMinusOneSaysNothing) {
  const ValueId k = made.Input("k", {2}, DType::kInt64);
  EXPECT_EQ(DimsOf(made.Node("Reshape", {x, Join({k, made.Constant(Ints({3}))})})),
            (Dims{kUnknownDim, kUnknownDim, 3}));
}

TEST_F(FoldShapes, SizeAndProductOfStaticExtents) {
  const ValueId y = made.Input("y", {4, 6});
  made.Output(made.Node("Size", {y}));
  made.Output(made.Node(PrimitiveBuilder("", "ReduceProd", 18).Set("keepdims", int64_t{0}), {made.Node("Shape", {y})}));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(graph.values[graph.outputs[0]].constant.values<int64_t>()[0], 24);
  EXPECT_EQ(graph.values[graph.outputs[1]].constant.values<int64_t>()[0], 24);
}

TEST_F(FoldShapes, ReductionOfNoAxesIsNoProduct) {
  const ValueId shape = made.Node("Shape", {made.Input("y", {4, 6})});
  made.Output(made.Node(PrimitiveBuilder("", "ReduceProd", 18).Set("noop_with_empty_axes", int64_t{1}), {shape}));
  PassOptions options;
  options.Off(Pass::kFoldConstants);
  EXPECT_EQ(Operators(Passed(made.graph, options)), "ReduceProd");
}

TEST_F(FoldShapes, CastToInt32AndBackKeepsTheSymbol) {
  const auto to = [](DType dtype) { return PrimitiveBuilder("", "Cast", 13).Set("to", static_cast<int64_t>(dtype)); };
  const ValueId narrow = made.Node(to(DType::kInt32), {Shape()});
  EXPECT_EQ(DimsOf(made.Node("ConstantOfShape", {made.Node(to(DType::kInt64), {narrow})})), (Dims{n, 3, h, w}));
}

TEST_F(FoldShapes, Int32IsNotFollowedBeyondItsRange) {
  const ValueId big = made.Constant(Values<int32_t>(DType::kInt32, {}, {INT32_MAX}));
  const ValueId cast =
      made.Node(PrimitiveBuilder("", "Cast", 13).Set("to", static_cast<int64_t>(DType::kInt32)), {Extent(1)});
  made.Output(made.Node("Mul", {cast, big}));
  PassOptions options;
  options.Off(Pass::kFoldConstants);
  EXPECT_EQ(Operators(Passed(made.graph, options)), "Mul");
}

TEST_F(FoldShapes, SwitchedOffTheShapeIsComputedInTheRun) {
  made.Output(Extent(1));
  PassOptions options;
  options.Off(Pass::kFoldShapes);
  EXPECT_EQ(Operators(Passed(made.graph, options)), "Shape,Gather");
}

TEST_F(FoldShapes, NumbersAreThoseOfTheRun) {
  const ValueId target = Join({List(Extent(0)), List(made.Node("Mul", {Extent(1), Extent(2)})), List(Extent(3))});
  made.Output(made.Node("Reshape", {x, target}));
  ExpectSameNumbers(made, {Numbers(3).Floats({2, 3, 4, 5})});
}

}  // namespace
}  // namespace deputy::host
