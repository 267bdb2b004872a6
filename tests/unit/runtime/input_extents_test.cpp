#include "runtime/input_extents.hpp"

#include <gtest/gtest.h>

#include "format/model_file.hpp"
#include "support/temp_folder.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

// x [2,3] -> Relu -> y, all declared.
Graph Fixed() { return TestGraph({{"y", "Relu"}}, {DType::kFloat32, true, {2, 3}}).graph; }

ValueType TypeOf(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values)
    if (value.name == name) return value.type;
  return {};
}

TEST(InputExtents, FixedExtentsChangeAndOtherShapesAreForgotten) {
  Graph graph = Fixed();
  const Result<std::string> changed = ChangeInputExtents(graph, {{"x", {4, 3}}});
  ASSERT_TRUE(changed.ok()) << changed.status().ToString();
  EXPECT_EQ(*changed, "'x' is float32 [2,3] in the file");
  EXPECT_EQ(TypeOf(graph, "x").dims, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(TypeOf(graph, "y").dims, (std::vector<int64_t>{kUnknownDim, kUnknownDim}));
}

TEST(InputExtents, TheShapeOfTheFileChangesNothing) {
  Graph graph = Fixed();
  EXPECT_EQ(ChangeInputExtents(graph, {{"x", {2, 3}}}).value(), "");
  EXPECT_EQ(TypeOf(graph, "y").dims, (std::vector<int64_t>{2, 3}));
}

TEST(InputExtents, DynamicExtentsStayDynamicAndFixedOnesMayBecomeSo) {
  Graph graph = TestGraph({{"y", "Relu"}}, {DType::kFloat32, true, {kUnknownDim, 3}}).graph;
  EXPECT_EQ(ChangeInputExtents(graph, {{"x", {8, 3}}}).value(), "");
  EXPECT_EQ(TypeOf(graph, "x").dims, (std::vector<int64_t>{kUnknownDim, 3}));
  EXPECT_NE(ChangeInputExtents(graph, {{"x", {8, -1}}}).value(), "");
  EXPECT_EQ(TypeOf(graph, "x").dims, (std::vector<int64_t>{kUnknownDim, kUnknownDim}));
}

TEST(InputExtents, OtherNamesRanksAndNegativeExtentsAreRefused) {
  for (const NamedShapes& shapes : {NamedShapes{{"X1", {2, 3}}}, NamedShapes{{"x", {2}}}, NamedShapes{{"x", {2, -2}}},
                                    NamedShapes{{"x", {2, 3}}, {"x", {2, 3}}}}) {
    Graph graph = Fixed();
    EXPECT_EQ(ChangeInputExtents(graph, shapes).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(InputExtents, AModelIsBuiltForOtherExtentsAndSavedWithThem) {
  const TempFolder folder;
  const std::string file = folder.path() / "m.dpm", saved = folder.path() / "saved.dpm";
  Graph graph = Fixed();
  graph.input_extents = InputExtents::kChangeable;
  ASSERT_TRUE(WriteModelFile(graph, file).ok());
  Context context;
  BuildOptions options;
  options.input_shapes = {{"x", {5, 3}}};
  Model model;
  Status built = model.Build(file, context, options);
  ASSERT_TRUE(built.ok()) << built.ToString();
  EXPECT_EQ(model.inputs()[0].shape, (Shape{5, 3}));
  EXPECT_EQ(model.outputs()[0].shape, (Shape{5, 3}));
  Result<Session> session = model.CreateSession();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({*Tensor::Allocate(DType::kFloat32, {5, 3})}, &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{5, 3}));

  ASSERT_TRUE(model.Save(saved).ok());
  Model again;
  built = again.Build(saved, context);
  ASSERT_TRUE(built.ok()) << built.ToString();
  EXPECT_EQ(again.inputs()[0].shape, (Shape{5, 3}));
}

TEST(InputExtents, ADynamicExtentInPlaceOfAFixedOneTakesAnyNumber) {
  const TempFolder folder;
  const std::string file = folder.path() / "m.dpm";
  Graph graph = Fixed();
  graph.input_extents = InputExtents::kChangeable;
  ASSERT_TRUE(WriteModelFile(graph, file).ok());
  Model model;
  BuildOptions options;
  options.input_shapes = {{"x", {-1, 3}}};
  ASSERT_TRUE(model.Build(file, Context(), options).ok());
  Result<Session> session = model.CreateSession();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (const int64_t batch : {1, 7}) {
    std::vector<Tensor> outputs;
    ASSERT_TRUE(session->Predict({*Tensor::Allocate(DType::kFloat32, {batch, 3})}, &outputs).ok());
    EXPECT_EQ(outputs[0].shape(), (Shape{batch, 3}));
  }
}

TEST(InputExtents, ADpmFileThatMayHaveComputedAttributesIsRefused) {
  const TempFolder folder;
  const std::string file = folder.path() / "m.dpm";
  BuildOptions options;
  options.input_shapes = {{"x", {5, 3}}};
  for (const InputExtents extents : {InputExtents::kNotStated, InputExtents::kComputedWith}) {
    Graph graph = Fixed();
    graph.metadata.emplace_back("opset", "ai.onnx 13");  // metadata decides nothing
    graph.input_extents = extents;
    ASSERT_TRUE(WriteModelFile(graph, file).ok());
    Model model;
    EXPECT_EQ(model.Build(file, Context(), options).code(), StatusCode::kNotSupported);
  }
}

}  // namespace
}  // namespace deputy::host
