#include "format/model_file.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.hpp"
#include "format/header.hpp"
#include "unit/format/graph_builder.hpp"

namespace deputy::host {
namespace {

using test::Floats;
using test::VariedGraph;

std::span<const uint8_t> RawBytes(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

class ModelFile : public test::Scratch {
 protected:
  std::string BytesOf(const Graph& graph) {
    const Status status = WriteModelFile(graph, folder_ / "m.dpm");
    EXPECT_TRUE(status.ok()) << status.ToString();
    return Load(folder_ / "m.dpm");
  }
  Result<Graph> RoundTrip(const Graph& graph) {
    DEPUTY_RETURN_IF_ERROR(WriteModelFile(graph, folder_ / "m.dpm"));
    DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(folder_ / "m.dpm"));
    return ReadModel(file->bytes(), file);
  }
};

void ExpectEqual(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.captured, b.captured);
  EXPECT_EQ(a.symbols, b.symbols);
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    const Value &one = a.values[i], &other = b.values[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.type.dtype, other.type.dtype);
    EXPECT_EQ(one.type.ranked, other.type.ranked);
    EXPECT_EQ(one.type.dims, other.type.dims);
    ASSERT_EQ(one.is_constant(), other.is_constant()) << one.name;
    const auto bytes = one.constant.values<uint8_t>(), same = other.constant.values<uint8_t>();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), same.begin(), same.end())) << one.name;
  }
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &one = a.nodes[i], &other = b.nodes[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.inputs, other.inputs);
    EXPECT_EQ(one.outputs, other.outputs);
    const auto bytes = one.primitive.bytes(), same = other.primitive.bytes();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), same.begin(), same.end())) << one.name;
    ASSERT_EQ(one.regions.size(), other.regions.size());
    for (size_t r = 0; r < one.regions.size(); ++r) {
      EXPECT_EQ(one.regions[r].name, other.regions[r].name);
      EXPECT_EQ(one.regions[r].captures, other.regions[r].captures);
      EXPECT_EQ(one.regions[r].body->symbols, other.regions[r].body->symbols);
      EXPECT_EQ(one.regions[r].body->nodes.size(), other.regions[r].body->nodes.size());
    }
  }
}

TEST_F(ModelFile, GraphComesBackAsItWas) {
  const Graph graph = VariedGraph();
  const Result<Graph> read = RoundTrip(graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ExpectEqual(graph, *read);
}

// y = x + s, and s is what y was.
Graph GraphWithState() {
  Graph graph;
  const ValueType type{DType::kFloat32, true, {2}};
  const ValueId x = graph.AddValue("x", type), s = graph.AddValue("s", type), y = graph.AddValue("y", type);
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Add", 14), {x, s}, {y}, "add"));
  graph.inputs = {x, s};
  graph.outputs = {y, y};
  graph.initial_states = {Floats({3, 4})};
  return graph;
}

// Nodes of one line share the text, in the file and after reading.
TEST_F(ModelFile, SourcesOfNodesComeBackShared) {
  Graph graph = VariedGraph();
  ASSERT_GE(graph.nodes.size(), 3u);
  const size_t without = BytesOf(graph).size();
  const std::string line(5000, 'x');
  graph.nodes[0].source = std::make_shared<const std::string>(line);
  graph.nodes[1].source = std::make_shared<const std::string>(line);
  EXPECT_LT(BytesOf(graph).size(), without + 2 * line.size());
  const Result<Graph> read = RoundTrip(graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_NE(read->nodes[0].source, nullptr);
  EXPECT_EQ(*read->nodes[0].source, line);
  EXPECT_EQ(read->nodes[1].source, read->nodes[0].source);
  EXPECT_EQ(read->nodes[2].source, nullptr);
}

TEST_F(ModelFile, StatesComeBack) {
  const Result<Graph> read = RoundTrip(GraphWithState());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->initial_states.size(), 1u);
  EXPECT_EQ(read->initial_states[0].values<float>()[1], 4.0f);
  EXPECT_EQ(read->caller_inputs().size(), 1u);
  EXPECT_EQ(read->caller_outputs().size(), 1u);
}

TEST_F(ModelFile, WhetherInputsMayGetOtherExtentsComesBack) {
  for (const InputExtents extents :
       {InputExtents::kNotStated, InputExtents::kChangeable, InputExtents::kComputedWith}) {
    Graph graph = VariedGraph();
    graph.input_extents = extents;
    const Result<Graph> read = RoundTrip(graph);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->input_extents, extents);
  }
  Graph graph = VariedGraph();
  graph.input_extents = static_cast<InputExtents>(3);
  EXPECT_NE(RoundTrip(graph).status().ToString().find("unknown kind 3 of input extents"), std::string::npos);
}

TEST_F(ModelFile, StatesAreAFeatureThatOldReadersRefuse) {
  format::Header header;
  const std::string with = BytesOf(GraphWithState()), without = BytesOf(VariedGraph());
  std::memcpy(&header, with.data(), sizeof(header));
  EXPECT_EQ(header.features, format::kStates);
  std::memcpy(&header, without.data(), sizeof(header));
  EXPECT_EQ(header.features, 0u);
}

TEST_F(ModelFile, StatesThatDoNotFitAreRefused) {
  Graph more = GraphWithState(), other = GraphWithState();
  more.initial_states.assign(3, Floats({3, 4}));
  other.initial_states = {Floats({3, 4, 5})};
  EXPECT_FALSE(RoundTrip(more).ok());
  EXPECT_FALSE(RoundTrip(other).ok());
}

TEST_F(ModelFile, KindsOfValuesComeBack) {
  Graph graph;
  for (const ValueKind kind :
       {ValueKind::kTensor, ValueKind::kSequence, ValueKind::kOptionalTensor, ValueKind::kOptionalSequence})
    graph.inputs.push_back(graph.AddValue(NameOf(kind), {DType::kInt8, true, {2, kUnknownDim}, kind}));
  const Result<Graph> read = RoundTrip(graph);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    EXPECT_EQ(read->values[id].type.kind, graph.values[id].type.kind);
    EXPECT_EQ(read->values[id].type.dims, graph.values[id].type.dims);
  }
}

TEST_F(ModelFile, ReadersOfTensorsAloneAreToldOfOtherValues) {
  const auto features = [&](ValueKind kind) {
    Graph graph;
    graph.inputs = {graph.AddValue("x", {DType::kFloat32, false, {}, kind})};
    format::Header header;
    std::memcpy(&header, BytesOf(graph).data(), sizeof header);
    return header.features;
  };
  EXPECT_EQ(features(ValueKind::kTensor), 0u);
  EXPECT_EQ(features(ValueKind::kSequence), format::kValuesOfMoreKinds);
}

TEST_F(ModelFile, EmptyGraphComesBack) {
  const Result<Graph> read = RoundTrip(Graph());
  EXPECT_TRUE(read.ok()) << read.status().ToString();
}

TEST_F(ModelFile, SameGraphGivesTheSameBytes) {
  const std::string first = BytesOf(VariedGraph());
  EXPECT_EQ(first, BytesOf(VariedGraph()));
}

TEST_F(ModelFile, ReadingAndWritingAgainGivesTheSameBytes) {
  const std::string first = BytesOf(VariedGraph());
  const Result<Graph> read = ReadModel(RawBytes(first), nullptr);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(first, BytesOf(*read));
}

TEST_F(ModelFile, EqualConstantsAreStoredOnce) {
  Graph graph;
  const Tensor big = Floats(std::vector<float>(50000, 1.5f));
  graph.AddConstant("a", big);
  const size_t one = BytesOf(graph).size();
  graph.AddConstant("b", big);
  graph.AddConstant("c", Floats(std::vector<float>(50000, 1.5f)));
  EXPECT_EQ(BytesOf(graph).size(), one);
}

TEST_F(ModelFile, ConstantsPointIntoTheMapping) {
  ASSERT_TRUE(WriteModelFile(VariedGraph(), folder_ / "m.dpm").ok());
  const auto file = MappedFile::Open(folder_ / "m.dpm");
  ASSERT_TRUE(file.ok());
  const Result<Graph> graph = ReadModel((*file)->bytes(), *file);
  ASSERT_TRUE(graph.ok());
  const auto* data = static_cast<const uint8_t*>(graph->values[2].constant.data());
  EXPECT_TRUE(data >= (*file)->bytes().data() && data < (*file)->bytes().data() + (*file)->bytes().size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
}

TEST_F(ModelFile, ConstantsOfABufferAreCopied) {
  auto bytes = std::make_unique<std::string>(BytesOf(VariedGraph()));
  const Result<Graph> graph = ReadModel(RawBytes(*bytes), nullptr);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  bytes.reset();
  ExpectEqual(VariedGraph(), *graph);
}

TEST_F(ModelFile, ValuesOfOneConstantShareItsCopy) {
  const std::string bytes = BytesOf(VariedGraph());
  const Result<Graph> graph = ReadModel(RawBytes(bytes), nullptr);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->values[2].constant.data(), graph->values[3].constant.data());
}

TEST_F(ModelFile, R41_MisalignedBufferIsRead) {
  const std::string bytes = " " + BytesOf(VariedGraph());
  const auto keep = std::make_shared<const std::string>(bytes);
  const Result<Graph> graph = ReadModel(RawBytes(*keep).subspan(1), keep);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ExpectEqual(VariedGraph(), *graph);
}

TEST_F(ModelFile, MagicIsRecognised) {
  EXPECT_TRUE(IsModelFile(RawBytes(BytesOf(Graph()))));
  EXPECT_FALSE(IsModelFile(RawBytes("\x08\x07pytorch")));
  EXPECT_FALSE(IsModelFile({}));
}

TEST_F(ModelFile, FailedWriteLeavesNoFile) {
  EXPECT_FALSE(WriteModelFile(VariedGraph(), folder_ / "no" / "m.dpm").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// A file of a newer version, whose definition may mean something else.
TEST_F(ModelFile, R27_DefinitionNewerThanTheNewestOfItsOperatorIsRefused) {
  const int32_t newest = InfoOf(OpKind::kRelu)->newest();
  for (const int32_t version : {newest, newest + 1}) {
    Graph graph;
    const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {1}}), y = graph.AddValue("y");
    graph.inputs = {x};
    graph.outputs = {y};
    graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Relu", version), {x}, {y}, "relu"));
    const Status status = RoundTrip(graph).status();
    EXPECT_EQ(status.ok(), version == newest) << status.ToString();
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::kIncompatible);
    const std::string text =
        "node 'relu' is Relu-" + std::to_string(version) + ", known up to Relu-" + std::to_string(newest);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace deputy::host
