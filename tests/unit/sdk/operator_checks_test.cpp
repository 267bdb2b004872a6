// Nodes that no definition allows: what a delegate answers that calls CheckOperator.
#include "deputy/sdk/operator_checks.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

using Ints = std::vector<int64_t>;
using fake::PrimitiveBytes;
using Attributes = std::function<void(PrimitiveBytes&)>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

// A node between values of these extents, the last of them its output.
struct OneNode {
  fake::Host host;
  std::vector<deputy_value_id> values;

  explicit OneNode(const std::vector<Ints>& extents) {
    for (const Ints& dims : extents) values.push_back(host.AddValue("v" + std::to_string(values.size()), dims));
  }
  fake::Value& At(size_t index) { return host.values[values[index]]; }
  Verdict Check(const std::string& op, const Attributes& attributes = {}, uint32_t since = 13) {
    const std::vector<deputy_value_id> inputs(values.begin(), values.end() - 1);
    host.nodes.clear();
    const deputy_node_id node = host.AddNode({op, inputs, {values.back()}, true, since, attributes});
    const GraphView graph(Host(host.table()), host.graph());
    return CheckOperator(graph.Node(node));
  }
};

bool Fits(const std::vector<Ints>& extents, const std::string& op, const Attributes& attributes = {},
          uint32_t since = 13) {
  return OneNode(extents).Check(op, attributes, since).supported();
}

// Every wrong form of a list of integers for a window of two dimensions.
std::vector<Ints> WrongLists(size_t length) {
  std::vector<Ints> lists = {{}, Ints(length - 1, 1), Ints(length + 1, 1), Ints(2 * length, 1)};
  for (const int64_t number : {int64_t{-1}, kLeast, kMost, int64_t{1} << 31}) lists.push_back(Ints(length, number));
  return lists;
}

TEST(OperatorChecks, R158_WindowsOfAnotherRankAreRefused) {
  const std::vector<Ints> conv = {{1, 2, 5, 5}, {4, 2, 3, 3}, {1, 4, 3, 3}}, pool = {{1, 2, 5, 5}, {1, 2, 3, 3}};
  const std::vector<Ints> transposed = {{1, 2, 3, 3}, {2, 4, 3, 3}, {1, 4, 5, 5}};
  ASSERT_TRUE(Fits(conv, "Conv"));
  ASSERT_TRUE(Fits(transposed, "ConvTranspose"));
  const auto kernel = [](PrimitiveBytes& p) { p.Ints("kernel_shape", {3, 3}); };
  ASSERT_TRUE(Fits(pool, "MaxPool", kernel));
  for (const std::string name : {"strides", "dilations", "pads", "kernel_shape"})
    for (const Ints& list : WrongLists(name == "pads" ? 4 : 2)) {
      const auto with = [&](PrimitiveBytes& p) { p.Ints(name, list); };
      EXPECT_FALSE(Fits(conv, "Conv", with)) << name << " of " << list.size();
      EXPECT_FALSE(Fits(transposed, "ConvTranspose", with)) << name << " of " << list.size();
      EXPECT_FALSE(Fits(pool, "AveragePool",
                        [&](PrimitiveBytes& p) {
                          with(p);
                          if (name != "kernel_shape") kernel(p);
                        }))
          << name << " of " << list.size();
    }
  EXPECT_FALSE(Fits(pool, "MaxPool"));
  EXPECT_FALSE(Fits(conv, "Conv", [](PrimitiveBytes& p) { p.Int("strides", 1); }));
  EXPECT_FALSE(Fits(conv, "Conv", [](PrimitiveBytes& p) { p.String("auto_pad", "SOME"); }));
  EXPECT_FALSE(Fits(transposed, "ConvTranspose", [](PrimitiveBytes& p) { p.Ints("output_padding", {1}); }));
}

TEST(OperatorChecks, R158_GroupsThatDoNotDivideTheChannelsAreRefused) {
  const std::vector<Ints> conv = {{1, 4, 5, 5}, {4, 2, 3, 3}, {1, 4, 3, 3}};
  EXPECT_TRUE(Fits(conv, "Conv", [](PrimitiveBytes& p) { p.Int("group", 2); }));
  for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{3}, kLeast, kMost})
    EXPECT_FALSE(Fits(conv, "Conv", [group](PrimitiveBytes& p) { p.Int("group", group); })) << group;
}

TEST(OperatorChecks, R158_ResultsOfOtherExtentsAreRefused) {
  const auto axis = [](PrimitiveBytes& p) { p.Int("axis", 0); };
  const auto kept = [](PrimitiveBytes& p) { p.Ints("axes", {1}); };
  const auto blocks = [](PrimitiveBytes& p) { p.Int("blocksize", 2); };
  const auto perm = [](PrimitiveBytes& p) { p.Ints("perm", {1, 0}); };
  struct Case {
    const char* op;
    std::vector<Ints> right;
    Ints wrong;
    Attributes attributes = {};
  };
  const std::vector<Case> cases = {
      {"Relu", {{2, 3}, {2, 3}}, {2, 4}},
      {"Add", {{2, 3}, {3}, {2, 3}}, {3, 3}},
      {"Sum", {{2, 1}, {3}, {2, 3}}, {2, 2}},
      {"PRelu", {{2, 3}, {3}, {2, 3}}, {2, 2}},
      {"Conv", {{1, 2, 5, 5}, {4, 2, 3, 3}, {1, 4, 3, 3}}, {1, 4, 5, 5}},
      {"ConvTranspose", {{1, 2, 3, 3}, {2, 4, 3, 3}, {1, 4, 5, 5}}, {1, 4, 6, 5}},
      {"GlobalMaxPool", {{1, 2, 5, 5}, {1, 2, 1, 1}}, {1, 2, 2, 1}},
      {"MatMul", {{2, 3}, {3, 4}, {2, 4}}, {2, 5}},
      {"Gemm", {{2, 3}, {3, 4}, {4}, {2, 4}}, {2, 5}},
      {"Concat", {{2, 3}, {1, 3}, {3, 3}}, {4, 3}, axis},
      {"Reshape", {{2, 3}, {2}, {6}}, {7}},
      {"Transpose", {{2, 3}, {3, 2}}, {2, 3}, perm},
      {"Slice", {{4, 3}, {1}, {1}, {2, 3}}, {5, 3}},
      {"Pad", {{4, 3}, {4}, {5, 3}}, {3, 3}},
      {"DepthToSpace", {{1, 4, 2, 2}, {1, 1, 4, 4}}, {1, 1, 4, 5}, blocks},
      {"SpaceToDepth", {{1, 1, 4, 4}, {1, 4, 2, 2}}, {1, 4, 2, 3}, blocks},
      {"ReduceMax", {{2, 3}, {2, 1}}, {2, 3}, kept},
      {"Softmax", {{2, 3}, {2, 3}}, {3, 3}},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(Fits(one.right, one.op, one.attributes)) << one.op;
    std::vector<Ints> other = one.right;
    other.back() = one.wrong;
    EXPECT_FALSE(Fits(other, one.op, one.attributes)) << one.op;
    other = one.right;
    other.back().clear();
    EXPECT_FALSE(Fits(other, one.op, one.attributes)) << one.op << " of rank 0";
    if (other.size() > 2 && std::string(one.op) != "Sum" && std::string(one.op) != "Concat") {
      other = {one.right.front(), one.right.back()};
      const std::string op = one.op;
      if (op == "Add" || op == "PRelu" || op == "MatMul" || op == "Gemm" || op.rfind("Conv", 0) == 0) {
        EXPECT_FALSE(Fits(other, op, one.attributes)) << op << " without its second input";
      }
    }
  }
}

TEST(OperatorChecks, R158_OperandsThatAreAlignedAtAnAxisAreRefused) {
  const auto broadcast = [](PrimitiveBytes& p) { p.Int("broadcast", 1); };
  EXPECT_FALSE(Fits({{2, 3}, {2}, {2, 3}}, "Add", broadcast, 6));
  EXPECT_FALSE(Fits({{2, 3}, {2, 3}}, "Add", broadcast));
}

TEST(OperatorChecks, R158_AxesOutOfRangeAreRefused) {
  for (const int64_t axis : {int64_t{2}, int64_t{-3}, kLeast, kMost}) {
    const auto one = [axis](PrimitiveBytes& p) { p.Int("axis", axis); };
    const auto list = [axis](PrimitiveBytes& p) { p.Ints("axes", {axis}).Int("keepdims", 1); };
    EXPECT_FALSE(Fits({{2, 3}, {2, 3}}, "Softmax", one)) << axis;
    EXPECT_FALSE(Fits({{2, 3}, {2, 3}, {4, 3}}, "Concat", one)) << axis;
    EXPECT_FALSE(Fits({{2, 3}, {3}, {2, 3}}, "LayerNormalization", one, 17)) << axis;
    EXPECT_FALSE(Fits({{2, 3}, {2, 1}}, "ReduceMean", list)) << axis;
    EXPECT_FALSE(Fits({{2, 3}, {3, 2}}, "Transpose", [axis](PrimitiveBytes& p) { p.Ints("perm", {axis, 0}); }));
  }
  EXPECT_FALSE(Fits({{2, 2}, {2, 2}}, "Transpose", [](PrimitiveBytes& p) { p.Ints("perm", {0, 0}); }));
  EXPECT_FALSE(Fits({{2, 3}, {2, 1}}, "ReduceSum", [](PrimitiveBytes& p) { p.Ints("axes", {1, 1}); }));
}

TEST(OperatorChecks, R158_ConstantsWithoutTheirElementsAreRefused) {
  OneNode node({{2, 3}, {3}, {2, 3}});
  node.At(1).is_constant = true;
  node.At(1).constant = {1, 2, 3};
  EXPECT_TRUE(node.Check("Add").supported());
  node.At(1).constant = {1, 2};
  EXPECT_FALSE(node.Check("Add").supported());
  node.At(1).constant = {1, 2, 3};
  node.At(1).dtype = DEPUTY_DTYPE_FLOAT64;
  EXPECT_FALSE(node.Check("Add").supported());
  node.At(1).dtype = DEPUTY_DTYPE_FLOAT32;
  node.At(1).constant.clear();
  EXPECT_FALSE(node.Check("Add").supported());
}

TEST(OperatorChecks, R158_ZeroPointsOfAnotherTypeAndScalesThatAreNoNumbersAreRefused) {
  OneNode node({{2, 3}, {}, {}, {2, 3}});
  node.At(0).dtype = node.At(2).dtype = DEPUTY_DTYPE_UINT8;
  node.At(1).is_constant = true;
  node.At(1).constant = {0.5f};
  EXPECT_TRUE(node.Check("DequantizeLinear").supported());
  for (const deputy_dtype type : {DEPUTY_DTYPE_FLOAT32, DEPUTY_DTYPE_UINT16, DEPUTY_DTYPE_INT8}) {
    node.At(2).dtype = type;
    EXPECT_FALSE(node.Check("DequantizeLinear").supported()) << type;
  }
  node.At(2).dtype = DEPUTY_DTYPE_UINT8;
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    node.At(1).constant = {scale};
    EXPECT_FALSE(node.Check("DequantizeLinear").supported()) << scale;
  }
  node.At(1).constant = {0.5f};
  node.At(2).dims = {2};
  EXPECT_FALSE(node.Check("DequantizeLinear").supported());
}

TEST(OperatorChecks, R158_ExtentsBeyond64BitsAreCountedAsTheLargestNumber) {
  EXPECT_EQ(ElementCount(Ints{1 << 20, 1 << 20}), int64_t{1} << 40);
  EXPECT_EQ(ElementCount(Ints{1 << 20, 0}), 0);
  EXPECT_EQ(ElementCount(Ints{kMost, 2}), std::nullopt);
  EXPECT_EQ(ElementCount(Ints{2, -1}), std::nullopt);
  OneNode node({{kMost, kMost}, {kMost, kMost}});
  EXPECT_FALSE(node.Check("Relu").supported());
  const GraphView graph(Host(node.host.table()), node.host.graph());
  EXPECT_EQ(graph.Value(node.values[0]).element_count(), kMost);
}

TEST(OperatorChecks, AnOperatorThatTheListDoesNotHaveNeedsKnownExtentsAlone) {
  EXPECT_TRUE(Fits({{2, 3}, {4}}, "Shape"));
  EXPECT_FALSE(Fits({{2, -1}, {4}}, "Shape"));
}

TEST(OperatorChecks, WindowsMayBeRoundedUpAndPaddedByAWord) {
  const auto with = [](const Attributes& more) {
    return [more](PrimitiveBytes& p) {
      p.Ints("kernel_shape", {2}).Ints("strides", {2});
      more(p);
    };
  };
  EXPECT_TRUE(Fits({{1, 1, 5}, {1, 1, 2}}, "MaxPool", with([](PrimitiveBytes&) {})));
  EXPECT_TRUE(Fits({{1, 1, 5}, {1, 1, 3}}, "MaxPool", with([](PrimitiveBytes& p) { p.Int("ceil_mode", 1); })));
  EXPECT_TRUE(
      Fits({{1, 1, 5}, {1, 1, 3}}, "MaxPool", with([](PrimitiveBytes& p) { p.String("auto_pad", "SAME_LOWER"); })));
  EXPECT_FALSE(Fits({{1, 1, 5}, {1, 1, 4}}, "MaxPool", with([](PrimitiveBytes&) {})));
}

}  // namespace
}  // namespace deputy::sdk
