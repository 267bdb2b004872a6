// The host's side of the ABI, called as a plugin calls it.
#include "plugin/proxy/host_services.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <tuple>

#include "base/cancellation.hpp"
#include "base/file.hpp"
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

TEST_F(HostTable, ExtentsThatAreNotKnownNameTheirSymbols) {
  const deputy_value_info info = ReadValue(0);
  ASSERT_NE(info.extents, nullptr);
  EXPECT_EQ(info.extents[0].value, -1);
  EXPECT_NE(info.extents[0].symbol, DEPUTY_NO_SYMBOL);
  EXPECT_EQ(View(info.extents[0].name), "N");
  EXPECT_EQ(info.extents[0].minimum, 0);
  EXPECT_EQ(info.extents[0].maximum, -1);
  EXPECT_EQ(info.extents[1].value, 3);
  EXPECT_EQ(info.extents[1].symbol, DEPUTY_NO_SYMBOL);
  EXPECT_EQ(info.extents[2].symbol, DEPUTY_NO_SYMBOL) << "unknown, and the model has no name for it";
  EXPECT_EQ(ReadValue(1).extents, nullptr) << "all extents are known";
}

TEST_F(HostTable, BytesOfConstantsAreCopied) {
  float part[2] = {};
  ASSERT_EQ(host_.constant_read(host_.self, &handle_, 1, 4, sizeof part, part), nullptr);
  EXPECT_EQ(part[0], 2.0f);
  EXPECT_EQ(part[1], 3.0f);
  for (const auto& [value, offset, size] :
       {std::tuple{1u, 8ull, 8ull}, {1u, 13ull, 0ull}, {1u, ~0ull, 8ull}, {0u, 0ull, 4ull}, {99u, 0ull, 4ull}}) {
    const StatusHandle refused(host_.constant_read(host_.self, &handle_, value, offset, size, part));
    ASSERT_NE(refused, nullptr) << value << " " << offset << " " << size;
    EXPECT_EQ(refused->code, DEPUTY_INVALID_ARGUMENT);
  }
}

TEST_F(HostTable, AConstantInMemoryIsInNoFile) {
  int32_t descriptor = 7;
  uint64_t offset = 7;
  const StatusHandle refused(host_.constant_file(host_.self, &handle_, 1, &descriptor, &offset));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, DEPUTY_NOT_FOUND);
}

TEST_F(HostTable, AStatusCanBeReadAndReleased) {
  deputy_status* status = host_.constant_read(host_.self, &handle_, 0, 0, 4, nullptr);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(host_.status_code(host_.self, status), DEPUTY_INVALID_ARGUMENT);
  EXPECT_EQ(View(host_.status_message(host_.self, status)), "the value is not a constant");
  host_.status_release(host_.self, status);
  EXPECT_EQ(host_.status_code(host_.self, nullptr), DEPUTY_OK);
  EXPECT_EQ(View(host_.status_message(host_.self, nullptr)), "");
  host_.status_release(host_.self, nullptr);
}

TEST(HostTableOfACheckedDelegate, AReleasedStatusIsNotMissing) {
  const HostServices services("npu0", nullptr, nullptr, /*check=*/true);
  const deputy_host& host = *services.table();
  deputy_status* status = host.status_new(host.self, DEPUTY_INTERNAL, DEPUTY_NO_NODE, "hint", 4);
  EXPECT_EQ(services.handle_tracker()->statuses_out(), 1u);
  host.status_release(host.self, status);
  EXPECT_EQ(services.handle_tracker()->statuses_out(), 0u);
}

// A graph with a large constant of a file, and a small one.
struct MappedModel {
  MappedModel() {
    std::vector<char> bytes(200000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    std::ofstream(folder.path() / "weights", std::ios::binary).write(bytes.data(), 200000);
    file = MappedFile::Open(folder.path() / "weights").value();
    graph.mapped.push_back({file->bytes(), file, file->descriptor()});
    large = Add("large", 64, 100000);
    small = Add("small", 128, 16);
    graph.nodes.push_back({"relu", PrimitiveBuilder("", "Relu", 14).Finish(), {large}, {graph.AddValue("y")}, {}});
  }
  ValueId Add(const std::string& name, size_t offset, int64_t count) {
    return graph.AddConstant(name,
                             Tensor::Wrap(DType::kUint8, {count}, const_cast<uint8_t*>(file->bytes().data()) + offset,
                                          static_cast<size_t>(count), file)
                                 .value());
  }
  TempFolder folder;
  std::shared_ptr<const MappedFile> file;
  Graph graph;
  ValueId large = 0, small = 0;
};

TEST(StreamedConstants, OfFilesHaveNoPointerWhereTheyAreLarge) {
  const MappedModel model;
  const HostServices services("npu0", nullptr);
  const deputy_host& host = *services.table();
  const deputy_graph streamed(OfferAll(model.graph), nullptr, /*streams=*/true), plain(OfferAll(model.graph));
  deputy_value_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(host.graph_value_info(host.self, &streamed, model.large, &info), nullptr);
  EXPECT_EQ(info.constant, nullptr);
  EXPECT_EQ(info.byte_size, 100000u);
  EXPECT_NE(info.flags & DEPUTY_VALUE_NOT_RESIDENT, 0u);
  ASSERT_EQ(host.graph_value_info(host.self, &streamed, model.small, &info), nullptr);
  EXPECT_NE(info.constant, nullptr);
  EXPECT_EQ(info.flags & DEPUTY_VALUE_NOT_RESIDENT, 0u);
  ASSERT_EQ(host.graph_value_info(host.self, &plain, model.large, &info), nullptr);
  EXPECT_NE(info.constant, nullptr) << "for a delegate that does not announce that it streams";
}

TEST(StreamedConstants, AreReadFromTheirFile) {
  const MappedModel model;
  const HostServices services("npu0", nullptr);
  const deputy_host& host = *services.table();
  const deputy_graph graph(OfferAll(model.graph), nullptr, /*streams=*/true);
  int32_t descriptor = -1;
  uint64_t offset = 0;
  ASSERT_EQ(host.constant_file(host.self, &graph, model.large, &descriptor, &offset), nullptr);
  EXPECT_EQ(offset, 64u);
  std::vector<uint8_t> by_call(1000), by_file(1000);
  ASSERT_EQ(host.constant_read(host.self, &graph, model.large, 5000, 1000, by_call.data()), nullptr);
  ASSERT_EQ(pread(descriptor, by_file.data(), 1000, static_cast<off_t>(offset) + 5000), 1000);
  EXPECT_EQ(by_call, by_file);
  EXPECT_TRUE(std::equal(by_call.begin(), by_call.end(), model.file->bytes().data() + 5064));
}

// x -> QuantizeLinear -> DequantizeLinear, with one scale for each of three channels.
TEST(Quantization, OfAValueIsThatOfTheNodesAroundIt) {
  Graph graph;
  const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {2, 3}});
  const ValueId scale =
      graph.AddConstant("scale", Tensor::FromValues<float>(DType::kFloat32, {3}, std::vector<float>{1, 2, 4}).value());
  const ValueId zero = graph.AddConstant(
      "zero", Tensor::FromValues<uint8_t>(DType::kUint8, {3}, std::vector<uint8_t>{0, 7, 255}).value());
  const ValueId q = graph.AddValue("q", {DType::kUint8, true, {2, 3}});
  graph.nodes.push_back(
      {"q", PrimitiveBuilder("", "QuantizeLinear", 13).Set("axis", int64_t{-1}).Finish(), {x, scale, zero}, {q}, {}});
  const HostServices services("npu0", nullptr);
  const deputy_host& host = *services.table();
  const deputy_graph handle(OfferAll(graph));
  deputy_value_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(host.graph_value_info(host.self, &handle, q, &info), nullptr);
  ASSERT_NE(info.quantization, nullptr);
  EXPECT_EQ(info.quantization->axis, 1);
  ASSERT_EQ(info.quantization->count, 3u);
  EXPECT_EQ(info.quantization->scales[2], 4.0f);
  EXPECT_EQ(info.quantization->zero_points[2], 255);
  ASSERT_EQ(host.graph_value_info(host.self, &handle, x, &info), nullptr);
  EXPECT_EQ(info.quantization, nullptr);
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

TEST_F(HostTable, R116_AMillionLinesAreShownInPart) {
  const testing::LogKeeper log;
  for (int line = 0; line < 1'000'000; ++line) host_.log(host_.self, DEPUTY_LOG_ERROR, "a line", 6);
  services_.ReportDroppedLines();
  const std::string text = log.text();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20'000) << "as many as within three minutes";
  EXPECT_NE(text.find("npu0: dropped "), std::string::npos);
}

TEST_F(HostTable, ParallelForWithoutThreadsRunsHere) {
  int64_t sum = 0;
  host_.parallel_for(
      host_.self, 10, 1,
      [](void* job, int64_t begin, int64_t end, uint32_t) { *static_cast<int64_t*>(job) += end - begin; }, &sum);
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
      [](void* job, int64_t begin, int64_t end, uint32_t) { *static_cast<std::atomic<int64_t>*>(job) += end - begin; },
      &sum);
  EXPECT_EQ(sum.load(), 1000);
  EXPECT_EQ(host.thread_count(host.self), 3u);
}

TEST(HostTableWithThreads, NoTwoRangesOfOneJobRunWithTheSameWorkerAtOnce) {
  ThreadPool pool(4);
  const HostServices services("npu0", &pool);
  struct Job {
    std::atomic<int> inside[4] = {};
    std::atomic<bool> wrong{false};
  } job;
  services.table()->parallel_for(
      services.table()->self, 2000, 1,
      [](void* self, int64_t, int64_t, uint32_t worker) {
        Job& all = *static_cast<Job*>(self);
        if (worker >= 4) {
          all.wrong = true;
          return;
        }
        if (++all.inside[worker] != 1) all.wrong = true;
        for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        --all.inside[worker];
      },
      &job);
  EXPECT_FALSE(job.wrong);
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
      [](void* job, int64_t begin, int64_t end, uint32_t) { *static_cast<std::atomic<int64_t>*>(job) += end - begin; },
      &sum);
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
