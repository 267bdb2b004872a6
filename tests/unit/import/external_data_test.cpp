// Weights in files beside the model, whose paths a stranger wrote.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support/temp_folder.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;
using test::ModelBuilder;

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_);
    WriteAll(folder_ / "weights.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));  // 1, 2
    WriteAll(root_ / "secret.bin", std::string("12345678"));
  }

  // A model whose constant of two floats has these entries of external_data.
  static std::string Model(const std::vector<std::pair<std::string, std::string>>& entries) {
    ModelBuilder builder;
    builder.Input("x");
    onnx::TensorProto& tensor = builder.Floats("w", {1, 2});
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    builder.Node("Add", {"x", "w"}, {"y"});
    builder.Output("y");
    return builder.Bytes();
  }
  Result<Graph> Import(const std::vector<std::pair<std::string, std::string>>& entries) {
    return ModelBuilder::ImportBytes(Model(entries), folder_ / "m.onnx");
  }
  Status Refused(const std::string& location) {
    const Result<Graph> graph = Import({{"location", location}});
    return graph.ok() ? Status() : graph.status();
  }

  const TempFolder scratch_;
  const fs::path root_ = scratch_.path(), folder_ = root_ / "model";
};

bool Says(const Status& status, const std::string& text) {
  return !status.ok() && status.message().find(text) != std::string::npos;
}

TEST_F(ExternalData, FileBesideTheModelIsRead) {
  const Result<Graph> graph = Import({{"location", "weights.bin"}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_TRUE(graph->values[1].is_constant());
  EXPECT_EQ(graph->values[1].constant.values<float>()[1], 2.0f);
}

TEST_F(ExternalData, FileInASubfolderIsRead) {
  fs::create_directory(folder_ / "sub");
  fs::copy_file(folder_ / "weights.bin", folder_ / "sub" / "w.bin");
  const Result<Graph> graph =
      Import({{"location", "./sub/w.bin"}, {"offset", "0"}, {"length", "8"}, {"checksum", "00"}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->values[1].constant.values<float>()[1], 2.0f);
}

TEST_F(ExternalData, AlignedWeightsPointIntoTheMapping) {
  const Result<Graph> graph = Import({{"location", "weights.bin"}});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(graph->values[1].constant.data()) % 4096, 0u);
}

TEST_F(ExternalData, R21_ACopiedFileMayChangeWhileItIsUsed) {
  const std::string model = Model({{"location", "weights.bin"}});
  for (const size_t left : {8, 0}) {
    WriteAll(folder_ / "weights.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    const Result<Graph> graph = ModelBuilder::ImportBytes(model, folder_ / "m.onnx", FileAccess::kCopied);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    WriteAll(folder_ / "weights.bin", std::string(left, 'x'));
    const Tensor& weights = graph->values[1].constant;
    EXPECT_EQ(weights.values<float>()[0], 1.0f);
    EXPECT_EQ(weights.values<float>()[1], 2.0f);
    EXPECT_TRUE(graph->is_mapped(weights)) << "a worker process gets the file of the copy";
  }
}

TEST_F(ExternalData, MissingFileIsNotFound) {
  const Status status = Refused("nowhere.bin");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(status, "nowhere.bin"));
}

TEST_F(ExternalData, R15_AbsolutePathIsRefused) {
  const Status status = Refused((root_ / "secret.bin").string());
  EXPECT_TRUE(Says(status, "absolute path"));
  EXPECT_NE(status.where().find("initializer 'w'"), std::string::npos) << status.where();
}

TEST_F(ExternalData, R15_ParentFolderIsRefused) {
  EXPECT_TRUE(Says(Refused("../secret.bin"), "points out of the model's folder"));
}

TEST_F(ExternalData, R15_ParentFolderInTheMiddleIsRefused) {
  fs::create_directory(folder_ / "sub");
  EXPECT_TRUE(Says(Refused("sub/../../secret.bin"), "points out of the model's folder"));
}

TEST_F(ExternalData, R16_SymbolicLinkIsRefused) {
  fs::create_symlink(root_ / "secret.bin", folder_ / "link.bin");
  EXPECT_TRUE(Says(Refused("link.bin"), "symbolic link"));
}

TEST_F(ExternalData, R16_SymbolicLinkOnTheWayIsRefused) {
  fs::create_directory_symlink(root_, folder_ / "up");
  EXPECT_TRUE(Says(Refused("up/secret.bin"), "symbolic link"));
}

TEST_F(ExternalData, R16_HardLinkIsRefused) {
  fs::create_hard_link(root_ / "secret.bin", folder_ / "hard.bin");
  EXPECT_TRUE(Says(Refused("hard.bin"), "hard link"));
}

TEST_F(ExternalData, R17_PipeIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Says(Refused("pipe"), "not a regular file"));
}

TEST_F(ExternalData, R17_FolderIsRefused) {
  fs::create_directory(folder_ / "sub");
  EXPECT_TRUE(Says(Refused("sub"), "not a regular file"));
}

TEST_F(ExternalData, R17_NulInThePathIsRefused) {
  EXPECT_TRUE(Says(Refused(std::string("weights.bin\0.txt", 16)), "invalid location"));
}

TEST_F(ExternalData, R17_BackslashIsRefused) { EXPECT_TRUE(Says(Refused("..\\secret.bin"), "invalid location")); }

TEST_F(ExternalData, R17_LongPathIsRefused) { EXPECT_TRUE(Says(Refused(std::string(5000, 'a')), "longer than")); }

TEST_F(ExternalData, R17_EmptyPathIsRefused) { EXPECT_FALSE(Refused("").ok()); }

TEST_F(ExternalData, R18_NegativeOffsetIsRefused) {
  EXPECT_TRUE(Says(Import({{"location", "weights.bin"}, {"offset", "-8"}}).status(), "expected a number of bytes"));
}

TEST_F(ExternalData, R18_OffsetThatIsNoNumberIsRefused) {
  EXPECT_TRUE(Says(Import({{"location", "weights.bin"}, {"offset", "8x"}}).status(), "expected a number of bytes"));
}

TEST_F(ExternalData, R18_OffsetThatWrapsAroundIsRefused) {
  const Result<Graph> graph = Import({{"location", "weights.bin"}, {"offset", "18446744073709551612"}});
  EXPECT_TRUE(Says(graph.status(), "exceeds the"));
}

TEST_F(ExternalData, R18_OffsetBehindTheEndIsRefused) {
  EXPECT_TRUE(Says(Import({{"location", "weights.bin"}, {"offset", "4"}}).status(), "exceeds the"));
}

TEST_F(ExternalData, R19_LengthOfPetabytesIsRefused) {
  EXPECT_FALSE(Import({{"location", "weights.bin"}, {"length", "4503599627370496"}}).ok());
}

TEST_F(ExternalData, R20_UnknownKeyIsRefused) {
  EXPECT_TRUE(Says(Import({{"location", "weights.bin"}, {"basepath", "/"}}).status(), "unknown key 'basepath'"));
}

TEST_F(ExternalData, R20_KeyGivenTwiceIsRefused) {
  EXPECT_TRUE(Says(Import({{"location", "weights.bin"}, {"location", "x"}}).status(), "'location' twice"));
}

TEST_F(ExternalData, R22_ModelFromMemoryIsRefused) {
  const Result<Graph> graph = ModelBuilder::ImportBytes(Model({{"location", "weights.bin"}}));
  EXPECT_TRUE(Says(graph.status(), "loaded from memory"));
}

}  // namespace
}  // namespace deputy::host
