// Operator views over primitives: what a node says, and what holds where it says nothing.
#include "deputy/sdk/operators.hpp"

#include <gtest/gtest.h>

#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

TEST(OperatorViews, ConvReadsItsAttributes) {
  fake::PrimitiveBytes bytes("Conv", 11);
  bytes.Ints("strides", {2, 3}).Int("group", 4).String("auto_pad", "SAME_UPPER");
  const op::Conv conv(bytes.table());
  EXPECT_EQ(conv.strides(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(conv.group(), 4);
  EXPECT_EQ(conv.auto_pad(), "SAME_UPPER");
}

TEST(OperatorViews, AbsentAttributesHaveTheDefaultsOfTheDefinition) {
  fake::PrimitiveBytes bytes("Conv", 11);
  const op::Conv conv(bytes.table());
  EXPECT_EQ(conv.group(), 1);
  EXPECT_EQ(conv.auto_pad(), "NOTSET");
  EXPECT_TRUE(conv.dilations().empty());
  EXPECT_FALSE(conv.has("group"));
}

TEST(OperatorViews, FloatDefaultIsExact) {
  fake::PrimitiveBytes bytes("LeakyRelu", 6);
  EXPECT_EQ(op::LeakyRelu(bytes.table()).alpha(), 0.01f);
}

TEST(OperatorViews, StringsDefaultHoldsSeveralValues) {
  fake::PrimitiveBytes bytes("RNN", 7);
  EXPECT_EQ(op::RNN(bytes.table()).activations(), (std::vector<std::string_view>{"Tanh", "Tanh"}));
}

TEST(OperatorViews, AttributeOfAnotherKindReadsAsAbsent) {
  fake::PrimitiveBytes bytes("Conv", 11);
  bytes.Float("group", 7.0f);
  EXPECT_EQ(op::Conv(bytes.table()).group(), 1);
}

TEST(OperatorViews, NullPrimitiveReadsAsWithoutAttributes) { EXPECT_EQ(op::Softmax(nullptr).axis(), -1); }

TEST(OperatorViews, DefaultsAreThoseOfTheDefinition) {
  for (const auto& [since, axis] : {std::pair<int32_t, int64_t>(1, 1), {11, 1}, {13, -1}}) {
    EXPECT_EQ(op::Softmax(fake::PrimitiveBytes("Softmax", since).table()).axis(), axis) << since;
    EXPECT_EQ(op::LogSoftmax(fake::PrimitiveBytes("LogSoftmax", since).table()).axis(), axis) << since;
    EXPECT_EQ(op::Hardmax(fake::PrimitiveBytes("Hardmax", since).table()).axis(), axis) << since;
  }
  EXPECT_EQ(op::Selu(fake::PrimitiveBytes("Selu", 1).table()).alpha(), 1.6732f);
  EXPECT_NE(op::Selu(fake::PrimitiveBytes("Selu", 6).table()).alpha(), 1.6732f);
  EXPECT_EQ(op::GridSample(fake::PrimitiveBytes("GridSample", 16).table()).mode(), "bilinear");
  EXPECT_EQ(op::GridSample(fake::PrimitiveBytes("GridSample", 20).table()).mode(), "linear");
  fake::PrimitiveBytes written("Softmax", 11);
  written.Int("axis", 2);
  EXPECT_EQ(op::Softmax(written.table()).axis(), 2);
}

TEST(OperatorViews, StringsReadInOrder) {
  fake::PrimitiveBytes bytes("GRU", 7);
  bytes.Strings("activations", {"Relu", "Sigmoid"});
  EXPECT_EQ(op::GRU(bytes.table()).activations(), (std::vector<std::string_view>{"Relu", "Sigmoid"}));
}

TEST(OperatorViews, TensorAttributeGivesTypeShapeAndBytes) {
  fake::PrimitiveBytes bytes("ConstantOfShape", 9);
  bytes.Tensor("value", DEPUTY_DTYPE_UINT8, {3}, {7, 8, 9});
  const TensorAttribute value = op::ConstantOfShape(bytes.table()).value();
  ASSERT_EQ(value.dtype, DType::kUint8);
  EXPECT_EQ(value.dims, std::vector<int64_t>{3});
  EXPECT_EQ(value.bytes[2], 9);
}

TEST(OperatorViews, AbsentTensorDoesNotExist) {
  fake::PrimitiveBytes bytes("ConstantOfShape", 9);
  EXPECT_FALSE(op::ConstantOfShape(bytes.table()).value().exists());
}

TEST(NewestDefinition, IsTheLastOfTheList) {
  constexpr auto conv = NewestDefinition("", "Conv"), relu = NewestDefinition("", "Relu");  // known to the compiler
  EXPECT_EQ(conv, 22);
  EXPECT_EQ(relu, 14);
}

TEST(NewestDefinition, IsZeroForForeignOperators) {
  EXPECT_EQ(NewestDefinition("", "Nonsense"), 0);
  EXPECT_EQ(NewestDefinition("com.example", "Conv"), 0);
}

TEST(ChangedDefinitions, AreThoseBetweenTheNodeAndTheOperatorSet) {
  fake::Host host;
  const auto of = [&](const char* type, uint32_t since, int32_t version, const char* domain = "") {
    const deputy_node_id node = host.AddNode({type, {}, {}, true, since, {}, domain});
    return ChangedDefinitions(GraphView(Host(host.table()), host.graph()).Node(node), version);
  };
  using Definitions = std::vector<int32_t>;
  EXPECT_EQ(of("Add", 1, 14), (Definitions{6, 7}));
  EXPECT_EQ(of("Add", 6, 7), Definitions{7});
  EXPECT_EQ(of("Add", 6, 6), Definitions());
  EXPECT_EQ(of("Add", 7, 14), Definitions()) << "13 and 14 add types";
  EXPECT_EQ(of("Add", 1, 14, "com.example"), Definitions());
}

}  // namespace
}  // namespace deputy::sdk
