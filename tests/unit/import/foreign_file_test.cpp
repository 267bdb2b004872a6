#include <gtest/gtest.h>

#include <string>

#include "import/importer.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

std::string Refusal(const std::string& bytes) {
  return RefuseForeignFile({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).message();
}

TEST(ForeignFile, R1_EmptyFileIsRefused) { EXPECT_EQ(Refusal(""), "is empty (0 bytes), not a model"); }

TEST(ForeignFile, R1_OneByteIsRefused) {
  const Result<Graph> graph = test::ModelBuilder::ImportBytes("\x08");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kModel);
}

TEST(ForeignFile, R1_WhiteSpaceIsRefused) { EXPECT_EQ(Refusal(" \n\t "), "is only white space, not a model"); }

TEST(ForeignFile, R4_ZipIsNamed) {
  EXPECT_EQ(Refusal(std::string("PK\x03\x04 pytorch")), "is a zip archive, not a model");
}

TEST(ForeignFile, R4_ElfIsNamed) {
  EXPECT_EQ(Refusal(std::string("\x7f") + "ELF\x02\x01\x01"), "is an ELF program or library, not a model");
}

TEST(ForeignFile, R4_HtmlIsNamed) {
  EXPECT_EQ(Refusal("\n<!DOCTYPE html><html><body>404"), "is an HTML page, not a model");
}

TEST(ForeignFile, R4_GitLfsPointerIsNamedWithAdvice) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
  const Status status = RefuseForeignFile({reinterpret_cast<const uint8_t*>(pointer.data()), pointer.size()});
  EXPECT_EQ(status.message(), "is a git-LFS pointer, not a model");
  EXPECT_NE(status.advice().find("git lfs pull"), std::string::npos);
}

TEST(ForeignFile, R4_DpmModelIsNamed) { EXPECT_NE(Refusal("DPM1\r\n\x1a\n").find(".dpm"), std::string::npos); }

TEST(ForeignFile, R4_JsonIsNamed) { EXPECT_EQ(Refusal("{\"a\": 1}"), "is a JSON file, not a model"); }

TEST(ForeignFile, R4_TextIsNamed) { EXPECT_EQ(Refusal("hello, world"), "is a text file, not a model"); }

TEST(ForeignFile, OnnxModelIsNotForeign) {
  test::ModelBuilder builder;
  test::AddSmallModel(builder);
  EXPECT_EQ(Refusal(builder.Bytes()), "");
}

TEST(ForeignFile, R4_ErrorOfTheImporterNamesTheFile) {
  const Result<Graph> graph = test::ModelBuilder::ImportBytes("PK\x03\x04", "/models/net.onnx");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().where(), "/models/net.onnx");
}

}  // namespace
}  // namespace deputy::host
