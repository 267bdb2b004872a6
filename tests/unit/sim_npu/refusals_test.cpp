// Nodes and partitions that the device refuses, although a host should not have shown them.
#include <gtest/gtest.h>

#include "deputy/sdk/sdk.hpp"
#include "plugins/sim_npu/operators.hpp"
#include "plugins/sim_npu/program.hpp"
#include "unit/sdk/fake_host.hpp"

namespace sim_npu {
namespace {

using Dims = std::vector<int64_t>;
using fake::PrimitiveBytes;

// One node between values of these extents; the last one is its output.
struct OneNode {
  fake::Host host;
  std::vector<deputy_value_id> values;

  OneNode(const std::string& op, const std::vector<Dims>& extents,
          const std::function<void(PrimitiveBytes&)>& attributes, const std::string& domain = {}) {
    for (const Dims& dims : extents) values.push_back(host.AddValue("v" + std::to_string(values.size()), dims));
    host.AddNode(
        {op, {values.begin(), values.end() - 1}, {values.back()}, true, domain.empty() ? 13u : 1u, attributes, domain});
    host.inputs = {values.begin(), values.end() - 1};
    host.outputs = {values.back()};
  }
  bool IsTaken() const {
    const deputy::sdk::GraphView graph(deputy::sdk::Host(host.table()), host.graph());
    return Check(graph.Node(0)).supported();
  }
  // Of the node with these inputs.
  deputy::sdk::Status Compile(const std::vector<deputy_value_id>& inputs) const {
    const deputy::sdk::GraphView graph(deputy::sdk::Host(host.table()), host.graph());
    const deputy_node_id node = 0;
    deputy_partition partition{};
    partition.struct_size = sizeof partition;
    partition.node_count = 1;
    partition.graph = host.graph();
    partition.nodes = &node;
    partition.inputs = inputs.data();
    partition.input_count = static_cast<uint32_t>(inputs.size());
    partition.outputs = host.outputs.data();
    partition.output_count = 1;
    const deputy::sdk::PartitionView view(graph, partition);
    return Program::Make(view, deputy::sdk::Host(host.table()), nullptr).status();
  }
};

TEST(Refusals, R158_WindowsOfAnotherRankAreRefused) {
  const std::vector<Dims> conv = {{1, 2, 5, 5}, {4, 2, 3, 3}, {1, 4, 3, 3}};
  EXPECT_TRUE(OneNode("Conv", conv, {}).IsTaken());
  for (const char* name : {"strides", "dilations", "pads", "kernel_shape"})
    for (const Dims& list : {Dims{}, Dims{1}, Dims{1, 1, 1}, Dims{1, 1, 1, 1, 1}})
      EXPECT_FALSE(OneNode("Conv", conv, [&](PrimitiveBytes& p) { p.Ints(name, list); }).IsTaken()) << name;
}

// The device has -inf where the host has the lowest number.
TEST(Refusals, R207_MaximaOfWindowsInThePaddingAreRefused) {
  const auto pool = [](const char* op, const Dims& out, const Dims& pads) {
    return OneNode(op, {{1, 1, 4, 4}, {1, 1, out[0], out[1]}}, [pads](PrimitiveBytes& p) {
      p.Ints("kernel_shape", {2, 2});
      p.Ints("pads", pads);
    });
  };
  EXPECT_TRUE(pool("MaxPool", {5, 5}, {1, 1, 1, 1}).IsTaken());
  EXPECT_FALSE(pool("MaxPool", {6, 5}, {2, 1, 1, 1}).IsTaken());
  EXPECT_FALSE(pool("MaxPool", {5, 6}, {1, 2, 1, 1}).IsTaken());
  EXPECT_FALSE(pool("MaxPool", {6, 5}, {1, 1, 2, 1}).IsTaken());
  EXPECT_FALSE(pool("MaxPool", {5, 6}, {1, 1, 1, 2}).IsTaken());
  EXPECT_TRUE(pool("AveragePool", {6, 5}, {2, 1, 1, 1}).IsTaken());
}

TEST(Refusals, R158_ResultsOfOtherExtentsAreRefused) {
  const auto axis = [](PrimitiveBytes& p) { p.Int("axis", 0); };
  EXPECT_TRUE(OneNode("Concat", {{2, 3}, {1, 3}, {3, 3}}, axis).IsTaken());
  EXPECT_FALSE(OneNode("Concat", {{2, 3}, {1, 3}, {2, 3}}, axis).IsTaken());
  EXPECT_FALSE(OneNode("Concat", {{2, 3}, {1, 3}, {3, 3}}, {}).IsTaken());
  EXPECT_FALSE(OneNode("Add", {{2, 3}, {2, 2}, {2, 3}}, {}).IsTaken());
  EXPECT_FALSE(OneNode("Add", {{2, 3}, {2, 3}}, {}).IsTaken());
  EXPECT_FALSE(OneNode("Gemm", {{2, 3}, {4, 5}, {2, 5}}, {}).IsTaken());
  EXPECT_TRUE(OneNode("Gate", {{2, 3}, {2, 3}}, {}, kOwnDomain).IsTaken());
  EXPECT_FALSE(OneNode("Gate", {{2, 3}, {4, 3}}, {}, kOwnDomain).IsTaken());
}

TEST(Refusals, R158_WhatNoDeviceHoldsIsRefusedBeforeItIsAllocated) {
  EXPECT_FALSE(OneNode("Relu", {{1 << 20, 1 << 20}, {1 << 20, 1 << 20}}, {}).IsTaken());
  const auto padded = [](PrimitiveBytes& p) { p.Ints("pads", {8000, 8000, 8000, 8000}); };
  EXPECT_FALSE(OneNode("Conv", {{1, 4, 1, 1}, {1, 4, 1, 1}, {1, 1, 16001, 16001}}, padded).IsTaken());
  EXPECT_FALSE(OneNode("MatMul", {{1, 1 << 26}, {1 << 26, 1}, {1, 1}}, {}).IsTaken());
}

TEST(Refusals, R158_AValueThatThePartitionDoesNotHaveIsRefused) {
  const OneNode node("Add", {{2, 3}, {2, 3}, {2, 3}}, {});
  EXPECT_TRUE(node.Compile(node.host.inputs).ok());
  const deputy::sdk::Status refused = node.Compile({node.host.inputs[0]});
  EXPECT_EQ(refused.code(), deputy::sdk::Code::kNotSupported);
  EXPECT_NE(refused.message().find("'v1'"), std::string::npos);
}

}  // namespace
}  // namespace sim_npu
