// Damage and hostility at the level of protobuf's wire format.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <string>

#include "import/onnx/condense.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using onnx_import::Budgets;
using onnx_import::Condense;
using onnx_import::Message;
using test::ModelBuilder;

std::span<const uint8_t> Span(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// `tag` and a length-delimited payload.
std::string Field(int number, const std::string& payload) {
  std::string bytes;
  for (uint64_t varint : {static_cast<uint64_t>(number) << 3 | 2, static_cast<uint64_t>(payload.size())}) {
    for (; varint >= 0x80; varint >>= 7) bytes += static_cast<char>(varint | 0x80);
    bytes += static_cast<char>(varint);
  }
  return bytes + payload;
}

std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A model with an If, all kinds of attributes and, if wanted, a function, for mutation.
std::string VariedModel(bool function_too = true) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& conditional = builder.Node("If", {"c"}, {"z"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    test::GraphBuilder body = test::AddGraph(conditional, branch);
    body.Node(branch[0] == 't' ? "Relu" : "Neg", {"sum"}, {std::string(branch) + "_z"});
    body.Output(std::string(branch) + "_z");
  }
  builder.ImportDomain("own", 1);
  if (function_too) test::AddNode(builder.Function("own", "Twice", {"a"}, {"b"}), "Add", {"a", "a"}, {"b"});
  builder.Node("Twice", {"z"}, {"t"}).set_domain("own");
  onnx::NodeProto& vendor = builder.Node("Vendor", {"t"}, {"v"});
  vendor.set_domain("own");
  test::Attribute(vendor, "s", onnx::AttributeProto::STRING).set_s("text");
  test::Attribute(vendor, "f", onnx::AttributeProto::FLOATS).add_floats(1.5f);
  test::Attribute(vendor, "i", onnx::AttributeProto::INTS).add_ints(7);
  test::Attribute(vendor, "n", onnx::AttributeProto::STRINGS).add_strings("x");
  builder.Declare("v", {1, 2});
  builder.Output("v");
  return builder.Bytes();
}

TEST(Wire, R2_TruncationAtEveryByteIsRefused) {
  // The operator sets stand last, and without them the nodes mean nothing. (Functions would come after them, and
  // without its function a node is one that nobody knows yet.)
  const std::string model = VariedModel(/*function_too=*/false);
  ASSERT_TRUE(ModelBuilder::ImportBytes(model).ok()) << ModelBuilder::ImportBytes(model).status().ToString();
  for (size_t size = 0; size < model.size(); ++size)
    EXPECT_FALSE(ModelBuilder::ImportBytes(model.substr(0, size)).ok()) << "cut to " << size;
}

TEST(Wire, R3_BitFlipsGiveAnErrorOrAVerifiedGraph) {
  const std::string model = VariedModel();
  std::mt19937 random(20240301);
  int accepted = 0;
  for (int variant = 0; variant < 10000; ++variant) {
    std::string mutant = model;
    for (size_t flips = 1 + random() % 8; flips > 0; --flips)
      mutant[random() % mutant.size()] ^= static_cast<char>(1u << random() % 8);
    accepted += ModelBuilder::ImportBytes(mutant).ok();
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10000);
}

TEST(Wire, R5_TwoGigabytesAreRefusedUnread) {
  constexpr size_t kSize = size_t{1} << 31;
  void* nothing = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  const Result<std::string> copy = Condense({static_cast<const uint8_t*>(nothing), kSize}, Message::kModel);
  munmap(nothing, kSize);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.status().code(), StatusCode::kResourceExhausted);
}

TEST(Wire, R6_ManyEmptyTensorsHitTheirBudget) {
  const Result<std::string> copy = Condense(Span(Field(7, Repeat(Field(5, ""), 1'000'001))), Message::kModel);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(copy.status().message(), "has more than 1000000 tensors");
}

TEST(Wire, R6_ManyNodesHitTheirBudget) {
  Budgets budgets;
  budgets.nodes = 3;
  const Result<std::string> copy = Condense(Span(Field(7, Repeat(Field(1, ""), 4))), Message::kModel, budgets);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.status().message(), "has more than 3 nodes");
}

TEST(Wire, R6_ManyStringsHitTheirBudget) {
  Budgets budgets;
  budgets.strings = 10;
  const std::string node = Field(1, Repeat(Field(1, ""), 11));
  const Result<std::string> copy = Condense(Span(Field(7, node)), Message::kModel, budgets);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.status().message(), "has more than 10 strings");
}

// Ifs within Ifs, `depth` graphs in all, counted from the outermost.
std::string NestedModel(int depth) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::GraphProto* graph = &builder.proto();
  for (int level = 1; level < depth; ++level) {
    const std::string name = "level" + std::to_string(level);
    onnx::NodeProto& node = test::GraphBuilder(*graph).Node("If", {"c"}, {name}, name);
    test::GraphBuilder other = test::AddGraph(node, "else_branch");
    other.Node("Neg", {"x"}, {name + "_else"});
    other.Output(name + "_else");
    test::GraphBuilder(*graph).Output(name);
    graph = &test::AddGraph(node, "then_branch").proto();
  }
  test::GraphBuilder(*graph).Node("Relu", {"x"}, {"innermost"});
  test::GraphBuilder(*graph).Output("innermost");
  return builder.Bytes();
}

TEST(Wire, R7_ThirtyTwoNestedGraphsAreRead) {
  const Result<Graph> graph = ModelBuilder::ImportBytes(NestedModel(32));
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
}

TEST(Wire, R7_DeeperNestingIsRefusedAtItsNode) {
  const Result<Graph> graph = ModelBuilder::ImportBytes(NestedModel(33));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "graphs are nested deeper than 32 at node 'level32'");
}

TEST(Wire, R8_GroupsAreRefused) { EXPECT_FALSE(Condense(Span(Repeat("\x0b", 1000)), Message::kModel).ok()); }

TEST(Wire, R8_DeepTypesAreRefused) {
  std::string type;
  for (int depth = 0; depth < 200; ++depth) type = Field(4, Field(1, type));  // a sequence of sequences of ...
  const Result<std::string> copy = Condense(Span(Field(7, Field(11, Field(2, type)))), Message::kModel);
  ASSERT_FALSE(copy.ok());
  EXPECT_NE(copy.status().message().find("too deep"), std::string::npos);
}

TEST(Wire, R9_TwoGraphsAreRefused) {
  const std::string model = VariedModel();
  const Result<Graph> graph = ModelBuilder::ImportBytes(model + Field(7, ""));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("occurs twice"), std::string::npos);
}

TEST(Wire, UnknownFieldsAreLeftOut) {
  const std::string model = VariedModel();
  const Result<std::string> plain = Condense(Span(model), Message::kModel);
  const Result<std::string> more = Condense(Span(model + Field(99, std::string(1000, 'x'))), Message::kModel);
  ASSERT_TRUE(plain.ok() && more.ok());
  EXPECT_EQ(*plain, *more);
}

TEST(Wire, WeightsAreLeftOut) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.Floats("big", std::vector<float>(10000, 1.0f));
  const Result<std::string> copy = Condense(Span(builder.Bytes()), Message::kModel);
  ASSERT_TRUE(copy.ok());
  EXPECT_LT(copy->size(), 1000u);
}

TEST(Wire, WrongWireTypeIsRefused) {
  const Result<std::string> copy = Condense(Span(std::string("\x38\x01", 2)), Message::kModel);  // graph as a number
  ASSERT_FALSE(copy.ok());
  EXPECT_NE(copy.status().message().find("wrong wire type at byte 1"), std::string::npos) << copy.status().message();
}

}  // namespace
}  // namespace deputy::host
