// The operators that look at shapes, change nothing but them, or make tensors from them, each as a node would run.
#include "cpu/delegate.hpp"
#include "support/test_graph.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Ints = std::vector<int64_t>;

TEST(Reshape, NoElementsStayNone) {
  const Tensor out =
      RunOne(MakeReshape, PrimitiveBuilder("", "Reshape", 14), {TensorOf<float>({0, 3}, {}), List({-1, 4})});
  EXPECT_EQ(out.shape(), (Shape{0, 4}));
}

TEST(Reshape, IsAViewOfItsDataOnly) {
  TestGraph made;
  made.Input("x").Input("shape").Node("y", "Reshape", {"x", "shape"}).Output("y");
  const PartitionSpec partition{{0}, made.graph.inputs, made.graph.outputs, nullptr, "cpu/0"};
  const auto cpu = MakeCpuDelegate(std::make_shared<ThreadPool>(1));
  const auto executable = cpu->Compile(OfferAll(made.graph), partition);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  const std::vector<Alias> aliases = (*executable)->aliases();
  ASSERT_EQ(aliases.size(), 1u);
  EXPECT_EQ(aliases[0].input, 0u);
}

TEST(Reshape, OutputOfAnotherSizeIsNeverWritten) {
  const Tensor output = TensorOf<float>({1}, {-1});
  const Status status =
      RunUnchecked(MakeReshape, PrimitiveBuilder("", "Reshape", 14), {TensorOf<float>({2}, {1, 2}), List({1})}, output);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ValuesOf<float>(output), (std::vector<float>{-1}));
}

TEST(Flatten, ScalarBecomesAMatrix) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Flatten", 13).Set("axis", int64_t{0});
  const Tensor out = RunOne(MakeFlatten, builder, {TensorOf<float>({}, {3})});
  EXPECT_EQ(out.shape(), (Shape{1, 1}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{3}));
}

TEST(Unsqueeze, UnsortedAxes) {
  const Tensor out =
      RunOne(MakeUnsqueeze, PrimitiveBuilder("", "Unsqueeze", 13), {TensorOf<float>({2}, {3, 4}), List({2, 0})});
  EXPECT_EQ(out.shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{3, 4}));
}

TEST(Range, ReachesOverAllOfInt64) {
  const Tensor out = RunOne(
      MakeRange, PrimitiveBuilder("", "Range", 11),
      {TensorOf<int64_t>({}, {INT64_MIN}), TensorOf<int64_t>({}, {INT64_MAX}), TensorOf<int64_t>({}, {INT64_MAX})});
  EXPECT_EQ(ValuesOf<int64_t>(out), (Ints{INT64_MIN, -1, INT64_MAX - 1}));
}

TEST(Region, IfAndConstantSayWhyTheyAreNoKernels) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "If", 13).Finish();
  EXPECT_EQ(MakeIf({node, graph}).status().message(), "the branches of an If are run by the executor, not by a kernel");
  EXPECT_EQ(MakeConstant({node, graph}).status().message(), "a Constant is a value of the graph, not a node that runs");
}

TEST(BlackmanWindow, ItsPeakIsOneAsAnInteger) {
  const PrimitiveBuilder whole = PrimitiveBuilder("", "BlackmanWindow", 17).Set("output_datatype", int64_t{6});
  EXPECT_EQ(ValuesOf<int32_t>(RunNode(MakeBlackmanWindow, whole, {TensorOf<int64_t>({}, {4})})[0]),
            (std::vector<int32_t>{0, 0, 1, 0}));
}

}  // namespace
}  // namespace deputy::host
