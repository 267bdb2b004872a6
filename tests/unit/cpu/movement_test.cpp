// The operators that move elements, each as a node would run.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

TEST(Split, MorePartsThanElementsLeavesTheLastEmpty) {
  const std::vector<Tensor> out = RunNode(MakeSplit, PrimitiveBuilder("", "Split", 18).Set("num_outputs", int64_t{4}),
                                          {Counting({5})}, {.outputs = 4});
  EXPECT_EQ(ValuesOf<float>(out[2]), (Floats{4}));
  EXPECT_EQ(out[3].shape(), (Shape{0}));
}

TEST(Slice, StepTooLargeToMultiplyTakesOneElement) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13),
                            {Counting({4, 2}), List({1}), List({4}), List({0}), List({INT64_MAX})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{2, 3}));
}

TEST(Slice, Int32PositionsAreTaken) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13),
                            {Counting({5}), TensorOf<int32_t>({1}, {1}), TensorOf<int32_t>({1}, {3})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{1, 2}));
}

TEST(Slice, AxisNamedTwiceIsRefused) {
  EXPECT_EQ(
      Failure(MakeSlice, PrimitiveBuilder("", "Slice", 13), {Counting({5}), List({0, 1}), List({3, 2}), List({0, -1})}),
      "axis -1 is repeated");
}

TEST(Tile, ShortRowsRepeatManyTimesInEachPlane) {
  const Tensor out = RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Counting({2, 1, 3}), List({2, 2, 5})});
  Floats wanted;
  for (int plane = 0; plane < 4; ++plane)
    for (int row = 0; row < 2; ++row)
      for (int i = 0; i < 15; ++i) wanted.push_back(static_cast<float>(plane % 2 * 3 + i % 3));
  EXPECT_EQ(ValuesOf<float>(out), wanted);
}

TEST(Tile, LongRowsRepeat) {
  const Tensor out = RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Counting({2, 40}), List({1, 3})});
  Floats wanted;
  for (int i = 0; i < 240; ++i) wanted.push_back(static_cast<float>(i / 120 * 40 + i % 40));
  EXPECT_EQ(ValuesOf<float>(out), wanted);
}

TEST(Pad, NothingCanBePaddedWithAConstant) {
  const Tensor out = RunOne(MakePad, PrimitiveBuilder("", "Pad", 13),
                            {Counting({0, 2}), List({1, 0, 0, 0}), TensorOf<float>({}, {4})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{4, 4}));
}

TEST(Pad, PadsAreThoseOfTheAxesNamed) {
  const Tensor out = RunOne(MakePad, PrimitiveBuilder("", "Pad", 18),
                            {Counting({2, 1}, 1), List({1, 2}), TensorOf<float>({}, {9}), List({1})});
  EXPECT_EQ(out.shape(), (Shape{2, 4}));
  EXPECT_EQ(ValuesOf<float>(out), (Floats{9, 1, 9, 9, 9, 2, 9, 9}));
}

TEST(Pad, NothingCannotBeReflected) {
  EXPECT_EQ(Failure(MakePad, PrimitiveBuilder("", "Pad", 13).Set("mode", std::string("reflect")),
                    {Counting({0, 2}), List({1, 0, 0, 0})}),
            "axis 0 of shape [0,2] has no elements to pad from");
}

TEST(Movement, StringsAreNotSupported) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Transpose", 13).Finish();
  node.inputs = {graph.AddValue("x", {DType::kString, true, {2}})};
  node.outputs = {graph.AddValue("y", {DType::kString, true, {2}})};
  EXPECT_EQ(MakeTranspose({node, graph}).status().code(), StatusCode::kNotSupported);
}

TEST(Movement, OutputOfTheWrongSizeIsNeverWritten) {
  const Tensor output = TensorOf<float>({3}, {-1, -1, -1});
  const PrimitiveBuilder concat = PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0});
  EXPECT_FALSE(RunUnchecked(MakeConcat, concat, {Counting({4})}, output).ok());
  EXPECT_EQ(ValuesOf<float>(output), (Floats{-1, -1, -1}));
}

// As where the extent of the input is known in the run only.
// The extents of the output follow from the input where the shape's elements are not known.
TEST(Expand, ShapeThatIsComputedIsChecked) {
  const PrimitiveBuilder expand("", "Expand", 13);
  const Tensor input = TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const auto& [shape, message] : {std::pair(List({-1, 3}), "shape [2,3] cannot be expanded to [-1,3]"),
                                       std::pair(List({0, 3}), "shape [2,3] cannot be expanded to [0,3]"),
                                       std::pair(List({5, 3}), "shape [2,3] cannot be expanded to [5,3]"),
                                       std::pair(List({1, 2, 3}), "shape [2,3] cannot be expanded to [1,2,3]")}) {
    const Status status = RunUnchecked(MakeExpand, expand, {input, shape}, Zeros({2, 3}));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
  for (const Tensor& shape : {List({2, 3}), List({1, 1}), List({3}), List({1})})
    EXPECT_TRUE(RunUnchecked(MakeExpand, expand, {input, shape}, Zeros({2, 3})).ok());
}

TEST(Expand, ToADifferentExtentIsAnErrorOfTheInputs) {
  const Tensor input = Counting({3});
  EXPECT_EQ(RunUnchecked(MakeExpand, PrimitiveBuilder("", "Expand", 13), {input, List({4})}, Zeros({4})).code(),
            StatusCode::kInvalidArgument);
  const Tensor higher = Counting({2, 2, 2});
  EXPECT_EQ(RunUnchecked(MakeExpand, PrimitiveBuilder("", "Expand", 13), {higher, List({2})}, Zeros({2})).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
