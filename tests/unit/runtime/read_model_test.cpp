// From the bytes of a file to a graph. The importers are not beside this program: a file that would be imported ends
// with the name of its importer.
#include "runtime/read_model.hpp"

#include <gtest/gtest.h>

#include "format/model_file.hpp"
#include "support/temp_folder.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

std::string ErrorOf(const std::string& bytes, const std::string& path = "m.bin", ModelType type = ModelType::kAuto) {
  const Result<ReadGraph> read =
      ReadAnyModel({{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, nullptr, path}, type, path);
  const std::string error = read.status().ToString();
  return error.substr(0, std::min(error.find(" cannot be opened"), error.find(';')));
}

TEST(ReadAnyModelTest, TheFormatIsRecognizedBeforeAnImporterIsOpened) {
  const std::string onnx = "m.bin: the importer for onnx models", other = "\x09\x0a\xff\xfe";
  EXPECT_EQ(ErrorOf("\x08\x07\x12\x07pytorch"), onnx);
  EXPECT_EQ(ErrorOf(other, "m.onnx"), "m.onnx: the importer for onnx models");
  EXPECT_EQ(ErrorOf(std::string("\x1c\0\0\0TFL3", 8)), "m.bin: the importer for tflite models");
  EXPECT_EQ(ErrorOf(other), "m.bin: is not a model that Deputy can read");
  EXPECT_EQ(ErrorOf("PK\x03\x04"), "m.bin: is a zip archive, not a model");
  EXPECT_EQ(ErrorOf(std::string(257, '\x01') + "ustar"), "m.bin: is a tar archive, not a model");
  EXPECT_EQ(ErrorOf(""), "m.bin: is empty (0 bytes), not a model");
  EXPECT_EQ(ErrorOf("\x08\x07\x12\x07pytorch", "m.bin", ModelType::kDeputy), "m.bin: is not a .dpm model");
  EXPECT_EQ(ErrorOf("DPM1\r\n\x1a\n", "m.bin", ModelType::kOnnx), "m.bin: is a .dpm model, which cannot be read");
}

TEST(ReadAnyModelTest, ANamedFormatIsNotGuessed) {
  const std::string unlike = "\x09\x0a\xff\xfe", tflite("\x1c\0\0\0TFL3", 8);
  EXPECT_EQ(ErrorOf(unlike), "m.bin: is not a model that Deputy can read");
  EXPECT_EQ(ErrorOf(unlike, "m.bin", ModelType::kOnnx), "m.bin: the importer for onnx models");
  EXPECT_EQ(ErrorOf(tflite, "m.bin", ModelType::kTflite), "m.bin: the importer for tflite models");
  EXPECT_EQ(ErrorOf(tflite, "m.bin", ModelType::kOnnx), "m.bin: is a TensorFlow Lite model, but was given as ONNX");
  EXPECT_EQ(ErrorOf(tflite, "m.bin", ModelType::kDeputy), "m.bin: is not a .dpm model");
  EXPECT_EQ(ErrorOf("\x08\x07\x12\x07pytorch", "m.onnx", ModelType::kTflite), "m.onnx: is not a TensorFlow Lite model");
  EXPECT_EQ(ErrorOf("DPM1\r\n\x1a\n", "m.bin", ModelType::kTflite), "m.bin: is a .dpm model, which cannot be read");
}

TEST(ReadAnyModelTest, ADpmModelIsReadAndItsOperatorsAreUpgraded) {
  const TempFolder folder;
  const std::string path = folder.path() / "m.dpm";
  const Graph written = TestGraph().Input("x").Node("y", "Scatter", {"x", "x", "x"}).Output("y").graph;
  ASSERT_TRUE(WriteModelFile(written, path).ok());
  const std::string bytes = ReadAll<std::string>(path);
  const Result<ReadGraph> read = ReadAnyModel(
      {{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, nullptr, path}, ModelType::kAuto, path);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->format, "dpm");
  EXPECT_EQ(read->graph.nodes[0].primitive.op_type(), "ScatterElements");
  EXPECT_NE(ErrorOf(bytes.substr(0, 100), path).find(path + ": the model file is damaged"), std::string::npos);
}

}  // namespace
}  // namespace deputy::host
