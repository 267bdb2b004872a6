// What is exported is read back as it was.
#include <gtest/gtest.h>

#include <cstring>

#include "support/test_graph.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::OnnxImporter;

Result<Graph> Reimported(const Graph& graph) {
  DEPUTY_ASSIGN_OR_RETURN(const std::string bytes, OnnxImporter().Export(graph));
  return OnnxImporter().Import({{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, nullptr, {}});
}

Tensor Weights() {
  const std::vector<float> values = {1.5F, -2};
  return Tensor::FromValues<float>(DType::kFloat32, {2}, values).value();
}

TEST(OnnxExport, NodesAttributesAndConstantsAreKept) {
  TestGraph made({DType::kFloat32, true, {2}});
  made.Input("x").Node("a", "Add", {"x", "w"}).Node("y", "Elu", {"a"}).Output("y");
  made.graph.values[made.Value("w")].constant = Weights();
  Primitive& elu = made.graph.nodes[1].primitive;
  elu = PrimitiveBuilder(elu).Set("alpha", 0.25F).Finish();
  const Result<Graph> read = Reimported(made.graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->nodes.size(), 2u);
  EXPECT_EQ(read->nodes[0].primitive.op_type(), "Add");
  EXPECT_EQ(read->nodes[0].name, "a");
  EXPECT_EQ(read->nodes[1].primitive.GetFloat("alpha", 0), 0.25F);
  const Value& weights = read->values[read->nodes[0].inputs[1]];
  EXPECT_EQ(weights.name, "w");
  EXPECT_EQ(std::memcmp(weights.constant.data(), Weights().data(), 8), 0);
  EXPECT_EQ(read->values[read->inputs[0]].type.dims, (std::vector<int64_t>{2}));
  EXPECT_EQ(read->values[read->outputs[0]].name, "y");
}

TEST(OnnxExport, AConstantThatNoNodeReadsMayBeAnOutput) {
  TestGraph made({DType::kFloat32, true, {2}});
  made.Input("x").Node("y", "Relu", {"x"}).Output("y").Output("w");
  made.graph.values[made.Value("w")].constant = Weights();
  const Result<Graph> read = Reimported(made.graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const Tensor& weights = read->values[read->outputs[1]].constant;
  ASSERT_EQ(weights.byte_size(), 8u);
  EXPECT_EQ(std::memcmp(weights.data(), Weights().data(), 8), 0);
}

TEST(OnnxExport, AttributesOfEveryKindAreKept) {
  TestGraph made({std::pair("y", "Foreign")});
  const std::vector<std::pair<std::string, PrimitiveBuilder::Attribute>> attributes = {
      {"i", int64_t{7}},
      {"f", 1.5F},
      {"s", std::string("text")},
      {"is", std::vector<int64_t>{1, -2}},
      {"fs", std::vector<float>{0.5F}},
      {"ss", std::vector<std::string>{"a", "b"}},
      {"t", Weights()}};
  PrimitiveBuilder builder("com.example", "Foreign", 3);
  for (const auto& [name, value] : attributes) builder.Set(name, value);
  made.graph.nodes[0].primitive = builder.Finish();
  const Result<Graph> read = Reimported(made.graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const Primitive& primitive = read->nodes[0].primitive;
  EXPECT_EQ(primitive.domain(), "com.example");
  EXPECT_EQ(primitive.GetInt("i", 0), 7);
  EXPECT_EQ(primitive.GetFloat("f", 0), 1.5F);
  EXPECT_EQ(primitive.GetString("s", ""), "text");
  EXPECT_EQ(primitive.GetInts("is").size(), 2u);
  EXPECT_EQ(primitive.GetFloats("fs").front(), 0.5F);
  EXPECT_EQ(primitive.GetStrings("ss").back(), "b");
  EXPECT_EQ(primitive.GetTensor("t")->values<float>()[1], -2);
}

TEST(OnnxExport, CapturesAreInputsAndNamelessValuesGetNames) {
  TestGraph made({std::pair("y", "Relu")});
  made.graph.captured = made.graph.inputs;
  made.graph.inputs.clear();
  for (Value& value : made.graph.values) value.name.clear();
  const Result<Graph> read = Reimported(made.graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->inputs.size(), 1u);
  EXPECT_NE(read->values[read->inputs[0]].name, read->values[read->outputs[0]].name);
}

TEST(OnnxExport, ATensorIsReadBack) {
  const Result<std::string> bytes = OnnxImporter().ExportTensor(Weights(), "w");
  ASSERT_TRUE(bytes.ok());
  const Result<Tensor> read =
      OnnxImporter().ReadTensor({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->shape(), Weights().shape());
  EXPECT_EQ(std::memcmp(read->data(), Weights().data(), 8), 0);
}

TEST(OnnxExport, StringsAndRegionsAreRefused) {
  EXPECT_EQ(OnnxImporter().ExportTensor(*Tensor::Allocate(DType::kString, {1}), "s").status().code(),
            StatusCode::kNotSupported);
  TestGraph made({std::pair("y", "If")});
  made.graph.nodes[0].regions.push_back({"then_branch", std::make_shared<Graph>(), {}});
  EXPECT_EQ(OnnxImporter().Export(made.graph).status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace deputy::host
