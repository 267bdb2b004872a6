// The host's side of the ABI, called as a plugin calls it.
#include "plugin/proxy/host_services.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "base/cancellation.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

std::string_view View(const deputy_str& text) { return {text.data, text.size}; }

// A Conv with attributes of every kind, a symbolic batch, a constant weight and an input left out.
Graph AttributeGraph() {
  Graph graph;
  graph.AddSymbol("N");
  const ValueId in = graph.AddValue("in", {DType::kFloat32, true, {SymbolDim(0), 3, kUnknownDim, 8}});
  const std::vector<float> weights = {1, 2, 3};
  const ValueId weight = graph.AddConstant("weight", Tensor::FromValues<float>(DType::kFloat32, {3}, weights).value());
  const ValueId out = graph.AddValue("out", {DType::kFloat32, false, {}});
  const std::vector<int64_t> table = {7, 8};
  PrimitiveBuilder builder("com.example", "Everything", 3);
  builder.Set("an_int", int64_t{42})
      .Set("a_float", 0.5f)
      .Set("a_string", std::string("text"))
      .Set("ints", std::vector<int64_t>{1, 2, 3})
      .Set("floats", std::vector<float>{1.5f})
      .Set("strings", std::vector<std::string>{"a", "bc"})
      .Set("tensor", Tensor::FromValues<int64_t>(DType::kInt64, {2}, table).value());
  graph.nodes.push_back({"node", builder.Finish(), {in, weight, kNone}, {out}, {}});
  graph.inputs = {in};
  graph.outputs = {out};
  return graph;
}

class HostTable : public ::testing::Test {
 protected:
  deputy_attribute Read(const char* name) {
    deputy_attribute attribute{};
    attribute.struct_size = sizeof attribute;
    const StatusHandle status(host_.node_attribute(host_.self, &handle_, 0, name, &attribute));
    EXPECT_EQ(status, nullptr);
    return attribute;
  }
  deputy_value_info ReadValue(deputy_value_id id) {
    deputy_value_info info{};
    info.struct_size = sizeof info;
    const StatusHandle status(host_.graph_value_info(host_.self, &handle_, id, &info));
    EXPECT_EQ(status, nullptr);
    return info;
  }

  HostServices services_{"npu0", nullptr};
  const deputy_host& host_ = *services_.table();
  const Graph graph_ = AttributeGraph();
  const deputy_graph handle_{OfferAll(graph_)};
};

TEST(GraphForm, IsMadeOncePerViewAndNotForCopiesThatMayChange) {
  const Graph graph = AttributeGraph();
  const GraphView view{&graph, {0}, {0}};
  const std::shared_ptr<const GraphForm> form = GraphForm::Of(view);
  EXPECT_EQ(GraphForm::Of(view), form);
  GraphView copy = view;
  copy.offered[0] = 1;
  EXPECT_NE(GraphForm::Of(copy), form);
  EXPECT_TRUE(deputy_graph(GraphForm::Of(copy)).offered(0));
  EXPECT_FALSE(deputy_graph(form).offered(0));
}

TEST_F(HostTable, NodeInfoShowsTheNodeAndItsPrimitive) {
  deputy_node_info node{};
  node.struct_size = sizeof node;
  ASSERT_EQ(host_.graph_node_info(host_.self, &handle_, 0, &node), nullptr);
  EXPECT_EQ(View(node.domain), "com.example");
  EXPECT_EQ(View(node.op_type), "Everything");
  EXPECT_EQ(node.op_type.data[node.op_type.size], '\0');
  EXPECT_EQ(node.since_version, 3u);
  EXPECT_EQ(node.flags, uint32_t{DEPUTY_NODE_OFFERED});
  ASSERT_EQ(node.input_count, 3u);
  EXPECT_EQ(node.inputs[2], DEPUTY_NO_VALUE);
  EXPECT_TRUE(Primitive::FromBytes({static_cast<const uint8_t*>(node.primitive), node.primitive_size}, nullptr).ok());
}

TEST_F(HostTable, SymbolsAndUnknownExtentsAreMinusOne) {
  const deputy_value_info info = ReadValue(0);
  ASSERT_EQ(info.rank, 4u);
  EXPECT_EQ(std::vector<int64_t>(info.dims, info.dims + 4), (std::vector<int64_t>{-1, 3, -1, 8}));
  EXPECT_EQ(info.flags, uint32_t{DEPUTY_VALUE_GRAPH_INPUT});
}

// Seed row 39.
TEST_F(HostTable, ConstantsPointToTheirElements) {
  const deputy_value_info info = ReadValue(1);
  EXPECT_EQ(info.flags, uint32_t{DEPUTY_VALUE_CONSTANT} | uint32_t{DEPUTY_VALUE_SHAPE_KNOWN});
  ASSERT_EQ(info.byte_size, 12u);
  EXPECT_EQ(info.constant, graph_.values[1].constant.data());
}

TEST_F(HostTable, UnrankedValueHasNoDims) {
  const deputy_value_info info = ReadValue(2);
  EXPECT_EQ(info.rank, 0u);
  EXPECT_EQ(info.dims, nullptr);
  EXPECT_EQ(info.flags, uint32_t{DEPUTY_VALUE_GRAPH_OUTPUT});
}

// Seed row 12.
TEST_F(HostTable, AttributesOfEveryKindAreRead) {
  EXPECT_EQ(Read("an_int").i, 42);
  EXPECT_EQ(Read("a_float").f, 0.5f);
  EXPECT_EQ(View(Read("a_string").s), "text");
  const deputy_attribute ints = Read("ints");
  EXPECT_EQ(std::vector<int64_t>(ints.ints, ints.ints + ints.count), (std::vector<int64_t>{1, 2, 3}));
  const deputy_attribute floats = Read("floats");
  EXPECT_EQ(std::vector<float>(floats.floats, floats.floats + floats.count), std::vector<float>{1.5f});
  const deputy_attribute strings = Read("strings");
  ASSERT_EQ(strings.count, 2u);
  EXPECT_EQ(View(strings.strings[1]), "bc");
  const deputy_attribute tensor = Read("tensor");
  ASSERT_NE(tensor.tensor, nullptr);
  EXPECT_EQ(tensor.tensor->dims[0], 2);
  EXPECT_EQ(static_cast<const int64_t*>(tensor.tensor->data)[1], 8);
}

TEST_F(HostTable, MissingAttributeHasTypeNone) {
  EXPECT_EQ(Read("missing").type, deputy_attribute_type{DEPUTY_ATTRIBUTE_NONE});
}

TEST_F(HostTable, OlderPluginsSmallerStructIsFilledAsFarAsItGoes) {
  struct {
    deputy_node_info info;
    char guard;
  } small{};
  std::memset(&small, 0x5a, sizeof small);
  small.info.struct_size = offsetof(deputy_node_info, name);
  ASSERT_EQ(host_.graph_node_info(host_.self, &handle_, 0, &small.info), nullptr);
  EXPECT_EQ(View(small.info.op_type), "Everything");
  EXPECT_EQ(small.info.struct_size, offsetof(deputy_node_info, name));
  EXPECT_EQ(small.info.since_version, 0x5a5a5a5au);
}

TEST_F(HostTable, UnknownIdsAreInvalidArguments) {
  deputy_node_info node{};
  node.struct_size = sizeof node;
  const StatusHandle bad_node(host_.graph_node_info(host_.self, &handle_, 7, &node));
  ASSERT_NE(bad_node, nullptr);
  EXPECT_EQ(bad_node->code, DEPUTY_INVALID_ARGUMENT);
  deputy_value_info value{};
  value.struct_size = sizeof value;
  EXPECT_NE(StatusHandle(host_.graph_value_info(host_.self, &handle_, DEPUTY_NO_VALUE, &value)), nullptr);
  EXPECT_EQ(host_.graph_node_at(host_.self, &handle_, 1), DEPUTY_NO_NODE);
}

// Seed row 13.
TEST_F(HostTable, InputsAndOutputsOfTheGraphAreListed) {
  uint32_t count = 0;
  EXPECT_EQ(host_.graph_inputs(host_.self, &handle_, &count)[0], 0u);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(host_.graph_outputs(host_.self, &handle_, &count)[0], 2u);
}

TEST_F(HostTable, R36_MessagesAreBoundedAndPrintable) {
  const std::string evil = "\x1b[31mred\xff" + std::string(1 << 20, 'x');
  const StatusHandle status(host_.status_new(host_.self, DEPUTY_INTERNAL, DEPUTY_NO_NODE, evil.data(), evil.size()));
  EXPECT_EQ(status->message.substr(0, 9), " [31mred?");
  EXPECT_LE(status->message.size(), 1024u);
}

TEST_F(HostTable, LogCarriesTheNameOfTheEntry) {
  const testing::LogKeeper log;
  host_.log(host_.self, DEPUTY_LOG_INFO, "hello", 5);
  host_.log(host_.self, 999, "odd level", 9);
  EXPECT_EQ(log.text(), "npu0: hello\nnpu0: odd level\n");
}

TEST_F(HostTable, ParallelForWithoutThreadsRunsHere) {
  int64_t sum = 0;
  host_.parallel_for(
      host_.self, 10, 1, [](void* job, int64_t begin, int64_t end) { *static_cast<int64_t*>(job) += end - begin; },
      &sum);
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(host_.thread_count(host_.self), 1u);
}

// Seed row 55.
TEST(HostTableWithThreads, ParallelForCoversEverythingOnce) {
  ThreadPool pool(3);
  const HostServices services("npu0", &pool);
  const deputy_host& host = *services.table();
  std::atomic<int64_t> sum{0};
  host.parallel_for(
      host.self, 1000, 7,
      [](void* job, int64_t begin, int64_t end) { *static_cast<std::atomic<int64_t>*>(job) += end - begin; }, &sum);
  EXPECT_EQ(sum.load(), 1000);
  EXPECT_EQ(host.thread_count(host.self), 3u);
}

TEST(HostTableWithThreads, ParallelForIsDoneWholeInARunThatWasCancelled) {
  ThreadPool pool(3);
  const HostServices services("npu0", &pool);
  const std::atomic<uint64_t> cancelled{1};
  const CancellationToken token{0, &cancelled};
  const CancellationScope scope(&token);
  std::atomic<int64_t> sum{0};
  services.table()->parallel_for(
      services.table()->self, 1000, 7,
      [](void* job, int64_t begin, int64_t end) { *static_cast<std::atomic<int64_t>*>(job) += end - begin; }, &sum);
  EXPECT_EQ(sum.load(), 1000);
}

TEST_F(HostTable, NodesThatAreNotOfferedAreVisibleWithoutTheFlag) {
  GraphView view = OfferAll(graph_);
  view.offered[0] = 0;
  const deputy_graph handle(view);
  deputy_node_info node{};
  node.struct_size = sizeof node;
  ASSERT_EQ(host_.graph_node_info(host_.self, &handle, 0, &node), nullptr);
  EXPECT_EQ(node.flags, 0u);
}

}  // namespace
}  // namespace deputy::host
