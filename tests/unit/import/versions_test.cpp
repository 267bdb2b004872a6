// IR versions and operator sets that are newer than those known here.
#include <gtest/gtest.h>

#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ErrorOf;
using test::ModelBuilder;

TEST(Versions, R10_IrVersionFromTheFutureIsReadWhereAllFieldsAreKnown) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.model().set_ir_version(1000);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->warnings.size(), 1u);
  EXPECT_EQ(graph->warnings[0].rfind("has IR version 1000, known up to 14", 0), 0u) << graph->warnings[0];
}

TEST(Versions, R10_UnknownFieldOfAnIrVersionFromTheFutureIsRefused) {
  for (const int64_t version : {14, 15}) {
    ModelBuilder builder;
    test::AddSmallModel(builder);
    builder.model().set_ir_version(version);
    *builder.proto().mutable_node(0)->mutable_unknown_fields() += test::Chunk(9, "");  // known, and not read
    *builder.proto().mutable_node(0)->mutable_unknown_fields() += sdk::ProtobufMessage().Number(77, 1).bytes();
    const Result<Graph> graph = builder.Import();
    EXPECT_EQ(graph.ok(), version == 14);
    if (graph.ok()) continue;
    EXPECT_EQ(graph.status().code(), StatusCode::kNotSupported);
    EXPECT_NE(graph.status().message().find("field 77 of a node is not known (at node 'add')"), std::string::npos)
        << graph.status().ToString();
    EXPECT_NE(graph.status().advice().find("IR version 15"), std::string::npos) << graph.status().ToString();
  }
}

TEST(Versions, R10_AnIrVersionBelowOneIsRefused) {
  ModelBuilder builder;
  builder.model().set_ir_version(0);
  EXPECT_EQ(ErrorOf(builder), "the model: has the invalid IR version 0");
}

TEST(Versions, R27_MoreInputsThanTheNewestKnownDefinitionHasAreRefused) {
  ModelBuilder builder(NewestOpset("") + 1);
  for (const char* name : {"x", "w"}) builder.Input(name);
  builder.Node("Relu", {"x", "w"}, {"y"}, "r");
  builder.Output("y");
  const std::string error = ErrorOf(builder);
  EXPECT_NE(error.find("node 'r' (Relu): has 2 inputs and 1 outputs, more than Relu-14 has"), std::string::npos)
      << error;
  EXPECT_NE(error.find("newer than " + std::to_string(NewestOpset(""))), std::string::npos) << error;
}

TEST(Versions, R10_OpsetFromTheFutureGivesTheNewestKnownDefinitions) {
  ModelBuilder builder(99);
  test::AddSmallModel(builder);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].primitive.since_version(), InfoOf(OpKind::kAdd)->newest());
  ASSERT_EQ(graph->warnings.size(), 1u);
  EXPECT_NE(graph->warnings[0].find("imports opset 99 of ONNX, whose definitions are known up to " +
                                    std::to_string(NewestOpset(""))),
            std::string::npos)
      << graph->warnings[0];
}

}  // namespace
}  // namespace deputy::host
