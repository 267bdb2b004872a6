#include <gtest/gtest.h>

#include "graph/graph.hpp"

namespace deputy::host {
namespace {

Node MakeNode(const char* op, int32_t version, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.name = op;
  node.primitive = PrimitiveBuilder("", op, version).Finish();
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

// a -> Relu -> b -> Add (of a constant) -> c -> Tanh -> d
class SubgraphTest : public testing::Test {
 protected:
  SubgraphTest() {
    const ValueType type{DType::kFloat32, true, {2, 3}};
    for (const char* name : {"a", "b", "c", "d"}) whole_.AddValue(name, type);
    weight_ = whole_.AddConstant("w", *Tensor::Allocate(DType::kFloat32, {2, 3}));
    whole_.nodes = {MakeNode("Relu", 14, {0}, {1}), MakeNode("Add", 14, {1, weight_}, {2}),
                    MakeNode("Tanh", 13, {2}, {3})};
    whole_.inputs = {0};
    whole_.outputs = {3};
  }
  Graph whole_;
  ValueId weight_ = kNone;
};

TEST_F(SubgraphTest, InputsBecomeCapturesAndConstantsAreShared) {
  const NodeId nodes[] = {1, 2};
  const ValueId inputs[] = {1}, outputs[] = {3};
  const Graph part = Subgraph(whole_, nodes, inputs, outputs);
  EXPECT_TRUE(part.inputs.empty());
  ASSERT_EQ(part.captured.size(), 1u);
  ASSERT_EQ(part.outputs.size(), 1u);
  EXPECT_EQ(part.values[part.captured[0]].name, "b");
  EXPECT_EQ(part.values[part.outputs[0]].name, "d");
  ASSERT_EQ(part.nodes.size(), 2u);
  EXPECT_EQ(part.nodes[0].name, "Add");
  EXPECT_EQ(part.nodes[0].outputs, part.nodes[1].inputs);
  const Value& weight = part.values[part.nodes[0].inputs[1]];
  EXPECT_TRUE(weight.is_constant());
  EXPECT_EQ(weight.constant.data(), whole_.values[weight_].constant.data());
  EXPECT_EQ(part.values.size(), 4u);
}

TEST_F(SubgraphTest, WhatIsLeftOutStaysOut) {
  const NodeId nodes[] = {0};
  const ValueId inputs[] = {kNone, 0}, outputs[] = {1, kNone};
  const Graph part = Subgraph(whole_, nodes, inputs, outputs);
  EXPECT_EQ(part.captured.size(), 1u);
  EXPECT_EQ(part.outputs.size(), 1u);
}

}  // namespace
}  // namespace deputy::host
