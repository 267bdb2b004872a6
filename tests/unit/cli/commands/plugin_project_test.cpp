#include "cli/commands/plugin_project.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kTemplates = DEPUTY_TEST_TEMPLATES;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class PluginProject : public testing::TestWithParam<PluginLanguage> {
 protected:
  PluginProject() {
    folder_ = fs::temp_directory_path() / ("plugin_project_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~PluginProject() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_P(PluginProject, NothingOfTheTemplatesNameIsLeft) {
  const Result<size_t> made = MakePluginProject(kTemplates, GetParam(), "fast_dsp", folder_ / "out");
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_ / "out")) {
    EXPECT_EQ(entry.path().string().find("my_npu"), std::string::npos) << entry.path();
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string text = ReadText(entry.path());
    EXPECT_EQ(text.find("my_npu"), std::string::npos) << entry.path();
    EXPECT_EQ(text.find("MyNpu"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(files, *made);
}

TEST_P(PluginProject, FilesCarryTheName) {
  ASSERT_TRUE(MakePluginProject(kTemplates, GetParam(), "fast_dsp", folder_ / "out").ok());
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_ / "out"))
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(folder_ / "out"));
  const std::string source = GetParam() == PluginLanguage::kC ? "fast_dsp.c" : "fast_dsp.cpp";
  EXPECT_EQ(names, (std::set<std::string>{"CMakeLists.txt", "README.md", "configs/fast_dsp.yaml", source}));
  EXPECT_NE(ReadText(folder_ / "out" / "CMakeLists.txt").find("project(FastDsp "), std::string::npos);
}

TEST_P(PluginProject, ASlashBehindTheFolderMeansTheFolder) {
  ASSERT_TRUE(MakePluginProject(kTemplates, GetParam(), "fast_dsp", folder_ / "out" / "").ok());
  EXPECT_TRUE(fs::exists(folder_ / "out" / "CMakeLists.txt"));
}

TEST_P(PluginProject, WithoutATemplateNothingIsMade) {
  const Result<size_t> made = MakePluginProject(folder_ / "nowhere", GetParam(), "fast_dsp", folder_ / "a" / "out");
  EXPECT_EQ(made.status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_P(PluginProject, AnEmptyFolderIsInTheWayToo) {
  fs::create_directories(folder_ / "out");
  EXPECT_FALSE(MakePluginProject(kTemplates, GetParam(), "fast_dsp", folder_ / "out").ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_P(PluginProject, AMissingTemplateLeavesNoTrace) {
  const Result<size_t> made = MakePluginProject(folder_ / "nowhere", GetParam(), "fast_dsp", folder_ / "out");
  EXPECT_EQ(made.status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

INSTANTIATE_TEST_SUITE_P(Languages, PluginProject, testing::Values(PluginLanguage::kC, PluginLanguage::kCxx));

TEST(PluginName, ClassesAreWrittenInCamels) {
  EXPECT_EQ(ClassNameOf("my_npu"), "MyNpu");
  EXPECT_EQ(ClassNameOf("x1_dsp2"), "X1Dsp2");
}

TEST(PluginName, GoodNames) {
  for (const char* name : {"npu", "my_npu", "x1_dsp2", "n"}) EXPECT_EQ(PluginNameProblem(name), "") << name;
}

TEST(PluginName, BadNames) {
  const std::string long_name(41, 'n');
  for (const char* name : {"", "1st", "My", "my-npu", "a b", "../x", "npu.so", "_x", "nü", "cpu", "test", "all"})
    EXPECT_NE(PluginNameProblem(name), "") << name;
  EXPECT_NE(PluginNameProblem(long_name), "");
}

}  // namespace
}  // namespace deputy::cli
