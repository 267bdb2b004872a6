// Models that are rewritten before EPs see them: channels last, and a DequantizeLinear for each reader.
#include "plugins/onnxruntime/own/layout.hpp"

#include <gtest/gtest.h>

#include "plugins/onnxruntime/own/quantization.hpp"
#include "unit/onnxruntime/calls.hpp"

namespace ort::own {
namespace {

const std::vector<int64_t> kDims{1, 2, 3, 4}, kLastDims{1, 3, 4, 2};

class LayoutTest : public testing::Test {
 protected:
  deputy_value_id Value(const std::string& name, std::vector<int64_t> dims = kDims) {
    return host_.AddValue(name, std::move(dims));
  }
  void Rewrite(std::vector<deputy_value_id> inputs, std::vector<deputy_value_id> outputs) {
    host_.inputs = std::move(inputs);
    host_.outputs = std::move(outputs);
    part_ = std::make_unique<Part>(host_);
    model_ = part_->MakeModel();
    PutChannelsLast(*model_, DependsOnLayout);
  }
  std::string Types() const {
    std::string types;
    for (const ModelNode& node : model_->nodes())
      types += (types.empty() ? "" : " ") + node.type + (node.domain == kChannelsLastDomain ? "*" : "");
    return types;
  }
  const ModelValue& Input(size_t node, size_t input) const {
    return model_->values()[model_->nodes()[node].inputs[input]];
  }
  const ModelValue& Output(size_t node) const { return model_->values()[model_->nodes()[node].outputs[0]]; }

  fake::Host host_;
  std::unique_ptr<Part> part_;
  std::shared_ptr<Model> model_;
};

TEST_F(LayoutTest, AConvolutionStandsBetweenTransposes) {
  const auto x = Value("x"), w = host_.AddConstant("w", std::vector<float>(4), {2, 2, 1, 1}), y = Value("y");
  host_.AddNode({"Conv", {x, w}, {y}, true, 11});
  Rewrite({x}, {y});
  ASSERT_EQ(Types(), "Transpose Conv* Transpose");
  EXPECT_EQ(model_->nodes()[0].attributes[0].numbers, (std::vector<int64_t>{0, 2, 3, 1}));
  EXPECT_EQ(Input(1, 0).type.tensor.dims, kLastDims);
  EXPECT_EQ(Input(1, 1).name, "w") << "weights stay as they are";
  EXPECT_EQ(Output(1).type.tensor.dims, kLastDims);
  EXPECT_EQ(model_->nodes()[1].since_version, 11);
  EXPECT_EQ(model_->nodes()[1].id, 0u);
  EXPECT_EQ(model_->nodes()[2].id, DEPUTY_NO_NODE);
  EXPECT_EQ(model_->nodes()[2].attributes[0].numbers, (std::vector<int64_t>{0, 3, 1, 2}));
  EXPECT_EQ(Output(2).id, y) << "the value that others read has its number";
  EXPECT_EQ(Output(2).type.tensor.dims, kDims);
}

TEST_F(LayoutTest, NodesOfEachElementFollowTheirInputs) {
  const auto x = Value("x"), a = Value("a"), b = Value("b"), c = Value("c"), y = Value("y");
  // Of the rank of the data, but for one axis: its elements are put in the other order.
  const auto scale = host_.AddConstant("scale", {1, 2, 3, 4, 5, 6}, {2, 3, 1});
  host_.AddNode({"MaxPool", {x}, {a}, true, 12});
  host_.AddNode({"Relu", {a}, {b}});
  host_.AddNode({"Mul", {b, scale}, {c}});
  host_.AddNode({"AveragePool", {c}, {y}, true, 11});
  Rewrite({x}, {y});
  ASSERT_EQ(Types(), "Transpose MaxPool* Relu Mul AveragePool* Transpose");
  const ModelValue& constant = Input(3, 1);
  EXPECT_EQ(constant.type.tensor.dims, (std::vector<int64_t>{1, 3, 1, 2}));
  const auto* elements = static_cast<const float*>(constant.constant->data);
  EXPECT_EQ(std::vector<float>(elements, elements + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(LayoutTest, AReaderOfTheOtherOrderGetsIt) {
  const auto x = Value("x"), a = Value("a"), y = Value("y", {24}), z = Value("z");
  host_.AddNode({"MaxPool", {x}, {a}, true, 12});
  host_.AddNode({"Reshape", {a, host_.AddConstant("shape", {24})}, {y}});
  host_.AddNode({"AveragePool", {a}, {z}, true, 11});
  Rewrite({x}, {y, z});
  EXPECT_EQ(Types(), "Transpose MaxPool* Transpose Reshape AveragePool* Transpose");
  EXPECT_EQ(Input(3, 0).id, a);
}

TEST_F(LayoutTest, AConcatenationOfSuchValuesHasTheAxisOfItsInputs) {
  const auto x = Value("x"), a = Value("a"), b = Value("b"), y = Value("y", {1, 4, 3, 4});
  host_.AddNode({"MaxPool", {x}, {a}, true, 12});
  host_.AddNode({"AveragePool", {x}, {b}, true, 11});
  host_.AddNode({"Concat", {a, b}, {y}, true, 13, [](fake::PrimitiveBytes& bytes) { bytes.Int("axis", -3); }});
  Rewrite({x}, {y});
  ASSERT_EQ(Types(), "Transpose MaxPool* AveragePool* Concat Transpose");
  EXPECT_EQ(model_->nodes()[3].attributes[0].number, 3);
}

TEST_F(LayoutTest, ScalesOfAResizeAreInTheOrderOfItsAxes) {
  const auto x = Value("x"), y = Value("y", {1, 2, 6, 12}), scales = host_.AddConstant("scales", {1, 1, 2, 3});
  host_.AddNode({"Resize", {x, DEPUTY_NO_VALUE, scales}, {y}, true, 13});
  Rewrite({x}, {y});
  ASSERT_EQ(Types(), "Transpose Resize* Transpose");
  const auto* elements = static_cast<const float*>(Input(1, 2).constant->data);
  EXPECT_EQ(std::vector<float>(elements, elements + 4), (std::vector<float>{1, 2, 3, 1}));
}

TEST_F(LayoutTest, AResizeWithScalesThatAreComputedStaysAsItIs) {
  const auto x = Value("x"), y = Value("y"), scales = Value("scales", {4});
  host_.AddNode({"Resize", {x, DEPUTY_NO_VALUE, scales}, {y}, true, 13});
  Rewrite({x, scales}, {y});
  EXPECT_EQ(Types(), "Resize");
}

TEST_F(LayoutTest, QuantizationStaysBesideItsOperator) {
  const auto x = Value("x"), q = Value("q"), d = Value("d"), c = Value("c"), y = Value("y");
  const auto scale = host_.AddConstant("scale", {0.5f}), zero = host_.AddConstant("zero", {0});
  host_.AddNode({"QuantizeLinear", {x, scale, zero}, {q}, true, 13});
  host_.AddNode({"DequantizeLinear", {q, scale, zero}, {d}, true, 13});
  host_.AddNode({"MaxPool", {d}, {c}, true, 12});
  host_.AddNode({"QuantizeLinear", {c, scale, zero}, {y}, true, 13});
  Rewrite({x}, {y});
  EXPECT_EQ(Types(), "Transpose QuantizeLinear DequantizeLinear MaxPool* QuantizeLinear Transpose");
}

TEST_F(LayoutTest, EachReaderOfADequantizedValueHasItsOwnNode) {
  const auto x = Value("x"), d = Value("d"), y = Value("y"), z = Value("z");
  host_.AddNode({"DequantizeLinear", {x, host_.AddConstant("scale", {0.5f})}, {d}, true, 13});
  host_.AddNode({"Relu", {d}, {y}});
  host_.AddNode({"Sigmoid", {d}, {z}});
  host_.inputs = {x};
  host_.outputs = {y, z};
  part_ = std::make_unique<Part>(host_);
  model_ = part_->MakeModel();
  SplitDequantization(*model_);
  ASSERT_EQ(Types(), "DequantizeLinear Relu DequantizeLinear Sigmoid");
  EXPECT_EQ(model_->nodes()[2].id, 0u) << "the copy has the number of the node";
  EXPECT_EQ(&Input(3, 0), &Output(2));
  EXPECT_EQ(Output(0).consumers.size(), 1u);
}

}  // namespace
}  // namespace ort::own
