// .dpm files that are damaged, or made to look good to a verifier.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "format/header.hpp"
#include "format/model_file.hpp"
#include "graph/graph.hpp"
#include "model_generated.h"
#include "unit/format/graph_builder.hpp"

namespace deputy::host {
namespace {

namespace fb = ::deputy::format;
using test::VariedGraph;

std::span<const uint8_t> Span(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

format::Header HeaderOf(const std::string& bytes) {
  format::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

// With the checksum made right again: what a hostile writer would do.
std::string WithHeader(std::string bytes, format::Header header) {
  if (header.structure_offset <= bytes.size() && header.structure_size <= bytes.size() - header.structure_offset)
    header.checksum = format::Checksum(header, Span(bytes).subspan(header.structure_offset, header.structure_size));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// A file around a structure that a test made, with `weights` behind it.
std::string FileOf(const flatbuffers::FlatBufferBuilder& builder, const std::string& weights = {}) {
  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
  header.version = format::kVersion;
  header.structure_offset = sizeof(header);
  header.structure_size = builder.GetSize();
  std::string bytes(sizeof(header), '\0');
  bytes.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  bytes.resize((bytes.size() + 4095) / 4096 * 4096);
  header.weights_offset = bytes.size();
  header.weights_size = weights.size();
  bytes += weights;
  header.file_size = bytes.size();
  return WithHeader(std::move(bytes), header);
}

class DamagedModel : public test::Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    ASSERT_TRUE(WriteModelFile(VariedGraph(), folder_ / "m.dpm").ok());
    bytes_ = Load(folder_ / "m.dpm");
  }
  static Status Refusal(const std::string& bytes) {
    const Result<Graph> graph = ReadModel(Span(bytes), nullptr);
    return graph.ok() ? Status() : graph.status();
  }

  std::string bytes_;
};

bool Says(const Status& status, const std::string& text) {
  return !status.ok() && status.message().find(text) != std::string::npos;
}

TEST_F(DamagedModel, R2_TruncationAtEveryByteIsRefused) {
  for (size_t size = 0; size < bytes_.size(); ++size)
    EXPECT_EQ(Refusal(bytes_.substr(0, size)).code(), StatusCode::kModel) << "cut to " << size;
}

TEST_F(DamagedModel, R2_AppendedByteIsRefused) { EXPECT_TRUE(Says(Refusal(bytes_ + " "), "its header says")); }

TEST_F(DamagedModel, R3_BitFlipsInTheStructureAreRefused) {
  const format::Header header = HeaderOf(bytes_);
  std::mt19937 random(20240302);
  for (int variant = 0; variant < 10000; ++variant) {
    std::string mutant = bytes_;
    const size_t end = header.structure_offset + header.structure_size;
    mutant[random() % end] ^= static_cast<char>(1u << random() % 8);
    EXPECT_FALSE(Refusal(mutant).ok()) << "variant " << variant;
  }
}

TEST_F(DamagedModel, R3_BitFlipsWithARightChecksumGiveAnErrorOrAVerifiedGraph) {
  const format::Header header = HeaderOf(bytes_);
  std::mt19937 random(20240303);
  int accepted = 0;
  for (int variant = 0; variant < 20000; ++variant) {
    std::string mutant = bytes_;
    for (size_t flips = 1 + random() % 8; flips > 0; --flips)
      mutant[header.structure_offset + random() % header.structure_size] ^= static_cast<char>(1u << random() % 8);
    const Result<Graph> graph = ReadModel(Span(WithHeader(mutant, header)), nullptr);
    if (!graph.ok()) continue;
    ++accepted;
    EXPECT_TRUE(VerifyGraph(*graph).ok()) << "variant " << variant;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 20000);
}

TEST_F(DamagedModel, R3_BitFlipsInTheHeaderAreRefused) {
  for (size_t bit = 0; bit < sizeof(format::Header) * 8; ++bit) {
    std::string mutant = bytes_;
    mutant[bit / 8] ^= static_cast<char>(1u << bit % 8);
    EXPECT_FALSE(Refusal(mutant).ok()) << "bit " << bit;
  }
}

TEST_F(DamagedModel, TextModeTransferIsRefusedWithTheReason) {
  std::string mutant = bytes_;
  mutant.erase(4, 1);  // "\r\n" became "\n"
  EXPECT_TRUE(Says(Refusal(mutant), "text mode"));
}

TEST_F(DamagedModel, R41_StructureThatIsTooSmallIsRefused) {
  format::Header header = HeaderOf(bytes_);
  for (header.structure_size = 0; header.structure_size < 8; ++header.structure_size)
    EXPECT_TRUE(Says(Refusal(WithHeader(bytes_, header)), "structure section is not a valid FlatBuffer"));
}

TEST_F(DamagedModel, R41_RootOutsideIsRefused) {
  std::string mutant = bytes_;
  mutant[sizeof(format::Header) + 3] = '\x40';
  EXPECT_TRUE(Says(Refusal(WithHeader(mutant, HeaderOf(bytes_))), "structure section is not a valid FlatBuffer"));
}

// A graph with an If whose region is such a graph, and so on.
std::string Nested(int depth) {
  flatbuffers::FlatBufferBuilder builder;
  auto graph = fb::CreateGraph(builder);
  for (; depth > 0; --depth) {
    const auto region = fb::CreateRegion(builder, 0, graph);
    const auto regions = builder.CreateVector(&region, 1);
    const Primitive primitive = PrimitiveBuilder("", "If", 16).Finish();
    builder.ForceVectorAlignment(primitive.bytes().size(), 1, 8);
    const auto vector = builder.CreateVector(primitive.bytes().data(), primitive.bytes().size());
    const auto node = fb::CreateNode(builder, 0, vector, 0, 0, regions);
    graph = fb::CreateGraph(builder, 0, builder.CreateVector(&node, 1));
  }
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, graph));
  return FileOf(builder);
}

TEST_F(DamagedModel, R42_DeepRegionsAreRefused) {
  EXPECT_TRUE(Says(Refusal(Nested(32)), "has 0 inputs")) << "read, and refused for another reason";
  EXPECT_TRUE(Says(Refusal(Nested(33)), "nested deeper than 32"));
  for (const int depth : {40, 1000}) EXPECT_TRUE(Says(Refusal(Nested(depth)), "not a valid FlatBuffer")) << depth;
}

// One table of 8 bytes or more for each 8 bytes of the structure, that is no two in one place, is the most.
TEST_F(DamagedModel, R42_MoreTablesThanTheStructureHoldsAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<flatbuffers::Offset<fb::Symbol>> one_for_all(2'000'000, fb::CreateSymbol(builder));
  const auto symbols = builder.CreateVector(one_for_all);
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, fb::CreateGraph(builder), symbols));
  EXPECT_TRUE(Says(Refusal(FileOf(builder)), "not a valid FlatBuffer"));
}

// `count` values that all share one list of extents.
std::string SharedDims(size_t count, size_t rank) {
  flatbuffers::FlatBufferBuilder builder;
  const auto dims = builder.CreateVector(std::vector<int64_t>(rank, 1));
  std::vector<flatbuffers::Offset<fb::Value>> values;
  for (size_t i = 0; i < count; ++i) values.push_back(fb::CreateValue(builder, 0, 1, true, dims));
  const auto list = builder.CreateVector(values);
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, fb::CreateGraph(builder, 0, 0, list)));
  return FileOf(builder);
}

TEST_F(DamagedModel, R43_SharedListsAreRefusedBeforeTheyUnfold) {
  EXPECT_TRUE(Says(Refusal(SharedDims(100000, 64)), "its objects overlap"));
}

TEST_F(DamagedModel, R43_SharedNodesAreRefusedBeforeTheyUnfold) {
  flatbuffers::FlatBufferBuilder builder;
  const auto inputs = builder.CreateVector(std::vector<uint32_t>(200000, 0));
  const Primitive primitive = PrimitiveBuilder("", "Sum", 13).Finish();
  builder.ForceVectorAlignment(primitive.bytes().size(), 1, 8);
  const auto bytes = builder.CreateVector(primitive.bytes().data(), primitive.bytes().size());
  const auto node = fb::CreateNode(builder, 0, bytes, inputs);
  const std::vector<flatbuffers::Offset<fb::Node>> nodes(50000, node);
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, fb::CreateGraph(builder, 0, builder.CreateVector(nodes))));
  EXPECT_TRUE(Says(Refusal(FileOf(builder)), "its objects overlap"));
}

TEST_F(DamagedModel, R43_SharedSymbolsAreRefusedBeforeTheyUnfold) {
  flatbuffers::FlatBufferBuilder builder;
  const auto symbol = fb::CreateSymbol(builder, builder.CreateString(std::string(10000, 'n')));
  const auto symbols = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Symbol>>(10000, symbol));
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, fb::CreateGraph(builder), symbols));
  EXPECT_FALSE(Refusal(FileOf(builder)).ok());
}

// One value of four floats, with the segment that a test wants.
std::string OneConstant(uint64_t offset, uint64_t size, const std::string& weights, int64_t count = 4,
                        DType dtype = DType::kFloat32) {
  flatbuffers::FlatBufferBuilder builder;
  const auto dims = builder.CreateVector(std::vector<int64_t>{count});
  const auto value = fb::CreateValue(builder, 0, static_cast<int32_t>(dtype), true, dims, 0);
  const auto graph = fb::CreateGraph(builder, 0, 0, builder.CreateVector(&value, 1));
  const fb::Segment segment(offset, size);
  const auto segments = builder.CreateVectorOfStructs(&segment, 1);
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, graph, 0, 0, segments));
  return FileOf(builder, weights);
}

TEST_F(DamagedModel, ConstantWithinTheFileIsRead) {
  const Result<Graph> graph = ReadModel(Span(OneConstant(0, 16, std::string(16, 'w'))), nullptr);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->values[0].constant.byte_size(), 16u);
  EXPECT_EQ(std::string(static_cast<const char*>(graph->values[0].constant.data()), 16), std::string(16, 'w'));
}

TEST_F(DamagedModel, R47_ConstantBehindTheEndIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(64, 16, std::string(16, '\0'))), "out of bounds of the file"));
}

TEST_F(DamagedModel, R47_ConstantThatWrapsAroundIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(UINT64_MAX - 63, 16, std::string(16, '\0'))), "out of bounds of the file"));
}

TEST_F(DamagedModel, R47_MisalignedConstantIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(1, 16, std::string(32, '\0'))), "out of bounds of the file"));
}

TEST_F(DamagedModel, R47_ConstantThatDoesNotFitItsTypeIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(0, 16, std::string(16, '\0'), 5)), "its type requires 20"));
  EXPECT_TRUE(Says(Refusal(OneConstant(0, 16, std::string(16, '\0'), 3)), "has 16 bytes"));
}

TEST_F(DamagedModel, ConstantsThatOverlapAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto dims = builder.CreateVector(std::vector<int64_t>{4});
  const std::vector<flatbuffers::Offset<fb::Value>> values = {
      fb::CreateValue(builder, 0, static_cast<int32_t>(DType::kFloat32), true, dims, 0),
      fb::CreateValue(builder, 0, static_cast<int32_t>(DType::kFloat32), true, dims, 1)};
  const auto graph = fb::CreateGraph(builder, 0, 0, builder.CreateVector(values));
  const fb::Segment twice[] = {fb::Segment(0, 16), fb::Segment(0, 16)};
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, graph, 0, 0, builder.CreateVectorOfStructs(twice, 2)));
  EXPECT_TRUE(Says(Refusal(FileOf(builder, std::string(16, '\0'))), "constants overlap"));
}

TEST_F(DamagedModel, R12_ConstantWhoseShapeOverflowsIsRefused) {
  EXPECT_FALSE(Refusal(OneConstant(0, 16, std::string(16, '\0'), int64_t{1} << 62)).ok());
}

TEST_F(DamagedModel, R45_ElementTypeThatNobodyHasIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(0, 16, std::string(16, '\0'), 4, static_cast<DType>(77))), "unknown dtype 77"));
}

TEST_F(DamagedModel, BoolThatIsNeitherZeroNorOneIsRefused) {
  EXPECT_TRUE(Says(Refusal(OneConstant(0, 4, std::string("\0\1\2\0", 4), 4, DType::kBool)), "neither 0 nor 1"));
}

TEST_F(DamagedModel, R46_SegmentThatDoesNotExistIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto dims = builder.CreateVector(std::vector<int64_t>{4});
  const auto value = fb::CreateValue(builder, 0, 1, true, dims, 7);
  const auto graph = fb::CreateGraph(builder, 0, 0, builder.CreateVector(&value, 1));
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, graph));
  EXPECT_TRUE(Says(Refusal(FileOf(builder)), "constant 7 does not exist"));
}

TEST_F(DamagedModel, R46_MissingGraphIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishModelBuffer(builder, fb::CreateModel(builder));
  EXPECT_TRUE(Says(Refusal(FileOf(builder)), "a graph is missing"));
}

TEST_F(DamagedModel, R46_MissingPrimitiveIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto node = fb::CreateNode(builder);
  const auto graph = fb::CreateGraph(builder, 0, builder.CreateVector(&node, 1));
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, graph));
  EXPECT_TRUE(Says(Refusal(FileOf(builder)), "primitive is missing"));
}

TEST_F(DamagedModel, R46_ValueThatDoesNotExistIsRefused) {
  Graph graph = VariedGraph();
  graph.nodes[0].inputs[1] = 1000;
  ASSERT_TRUE(WriteModelFile(graph, folder_ / "m.dpm").ok());
  EXPECT_TRUE(Says(Refusal(Load(folder_ / "m.dpm")), "value 1000"));
}

TEST_F(DamagedModel, R49_NewerVersionIsRefusedWithAdvice) {
  format::Header header = HeaderOf(bytes_);
  header.version = 2;
  const Status status = Refusal(WithHeader(bytes_, header));
  EXPECT_EQ(status.code(), StatusCode::kIncompatible);
  EXPECT_TRUE(Says(status, "format version 2"));
  EXPECT_FALSE(status.advice().empty());
}

TEST_F(DamagedModel, R49_UnknownRequiredFeatureIsRefused) {
  format::Header header = HeaderOf(bytes_);
  header.features = 4;
  EXPECT_EQ(Refusal(WithHeader(bytes_, header)).code(), StatusCode::kIncompatible);
}

}  // namespace
}  // namespace deputy::host
