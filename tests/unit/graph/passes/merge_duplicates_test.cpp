#include "graph/passes/passes.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

std::string Left(const PassGraph& made) { return Operators(Passed(made.graph, Only(Pass::kMergeDuplicates))); }

TEST(MergeDuplicates, SameNodeOnTheSameInputIsComputedOnce) {
  PassGraph made;
  const ValueId x = made.Input("x", {2});
  made.Output(made.Node("Add", {made.Node("Exp", {x}), made.Node("Exp", {x})}));
  EXPECT_EQ(Left(made), "Exp,Add");
  ExpectSameNumbers(made, {Floats({2}, {1, 2})});
}

TEST(MergeDuplicates, FollowsWhatItHasMerged) {
  PassGraph made;
  const ValueId x = made.Input("x", {2});
  made.Output(made.Node("Add", {made.Node("Neg", {made.Node("Exp", {x})}), made.Node("Neg", {made.Node("Exp", {x})})}));
  EXPECT_EQ(Left(made), "Exp,Neg,Add");
}

TEST(MergeDuplicates, SmallConstantsOfTheSameContentAreOne) {
  PassGraph made;
  const ValueId x = made.Input("x", {kUnknownDim, 2});
  const auto extent = [&] { return made.Node("Gather", {made.Node("Shape", {x}), made.Constant(Int(0))}); };
  made.Output(made.Node("Add", {extent(), extent()}));
  EXPECT_EQ(Left(made), "Shape,Gather,Add");
}

TEST(MergeDuplicates, OtherAttributesInputsOrTypesAreNotTheSame) {
  PassGraph made;
  const ValueId x = made.Input("x", {2, 2});
  made.Output(made.Node("Add", {made.Transpose(x, {1, 0}), made.Transpose(x, {0, 1})}));
  for (const Shape& shape : {Shape{}, Shape{1, 1, 1}})  // the second makes the sum one of rank 3
    made.Output(made.Node("Neg", {made.Node("Add", {x, made.Constant(Floats(shape, {0}))})}));
  EXPECT_EQ(Left(made), "Transpose,Transpose,Add,Add,Neg,Add,Neg");
}

TEST(MergeDuplicates, OutputsStay) {
  PassGraph made;
  const ValueId x = made.Input("x", {2});
  made.Output(made.Node("Exp", {x}));
  made.Output(made.Node("Exp", {x}));
  EXPECT_EQ(Left(made), "Exp,Exp");
}

TEST(MergeDuplicates, DrawsStay) {
  PassGraph made;
  const ValueId x = made.Input("x", {2});
  made.Output(made.Node("Add", {made.Node("RandomNormalLike", {x}), made.Node("RandomNormalLike", {x})}));
  EXPECT_EQ(Left(made), "RandomNormalLike,RandomNormalLike,Add");
}

TEST(MergeDuplicates, UnknownOperatorsStay) {
  PassGraph made;
  const ValueId x = made.Input("x", {2});
  const PrimitiveBuilder random("vendor.example", "Random", 1);
  made.Output(made.Node("Concat", {}));
  Node& join = made.graph.nodes.back();
  join.primitive = PrimitiveBuilder("vendor.example", "Join", 1).Finish();
  Node concat = std::move(join);
  made.graph.nodes.clear();
  concat.inputs = {made.Node(random, {x}), made.Node(random, {x})};
  made.graph.nodes.push_back(std::move(concat));
  EXPECT_EQ(Left(made), "Random,Random,Join");
}

}  // namespace
}  // namespace deputy::host
