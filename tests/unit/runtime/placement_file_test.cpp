#include "runtime/placement_file.hpp"

#include <gtest/gtest.h>

#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

constexpr Digest kModel = {7};
const std::vector<std::string> kDelegates = {"npu0", "onednn", "cpu"};
const Placements kPlacements = {{{{1, 3}, {}}, {{{0, {0, 1, 2, 7}, "it's 3 ms, 1 ms without"}}, "the CPU alone"}},
                                {{{2, 3}, {}}, {{}, "the order is the fastest"}}};

class PlacementFileTest : public testing::Test {
 protected:
  Result<Placements> Read(const std::string& text, const Digest& model = kModel,
                          const std::vector<std::string>& delegates = kDelegates) {
    const std::filesystem::path path = folder_.path() / "m.placement.yaml";
    std::ofstream(path, std::ios::binary) << text;
    return ReadPlacementFile(path, model, delegates);
  }
  std::string FailureOf(const std::string& text) {
    const Result<Placements> read = Read(text);
    if (read.ok()) return "ok";
    const std::string message = read.status().ToString();
    return message.substr(message.find("yaml:") + 5);
  }

  const TempFolder folder_;
};

const std::string kText = PlacementFileText(kPlacements, kModel, kDelegates);

std::string Changed(const std::string& from, const std::string& to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(PlacementFileTest, IsReadAsItWasWritten) {
  const Result<Placements> read = Read(kText);
  ASSERT_TRUE(read.ok()) << read.status().ToString() << kText;
  EXPECT_EQ(*read, kPlacements);
}

TEST_F(PlacementFileTest, WithoutAFileThereIsNoDecision) {
  EXPECT_EQ(ReadPlacementFile(folder_.path() / "absent", kModel, kDelegates).status().code(), StatusCode::kNotFound);
}

TEST_F(PlacementFileTest, OneOfAnotherModelIsRefused) {
  EXPECT_EQ(Read(kText, Digest{8}).status().code(), StatusCode::kIncompatible);
}

TEST_F(PlacementFileTest, OneOfALaterVersionIsRefused) {
  EXPECT_EQ(Read(Changed("version: 1", "version: 2")).status().code(), StatusCode::kIncompatible);
}

TEST_F(PlacementFileTest, ADelegateThatIsNotInUseIsLeftOut) {
  const Result<Placements> read = Read(kText, kModel, {"onednn", "cpu"});
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->at({{1, 3}, {}}).slower.empty());
}

TEST_F(PlacementFileTest, MistakesHaveTheirLine) {
  EXPECT_EQ(FailureOf(Changed("'[1,3]'", "'1x3'")), "5:14: a shape must be like '[1,3]', not '1x3'");
  EXPECT_EQ(FailureOf(Changed("'0-2,7'", "'2-0'")), "8:9: 'nodes' must be like '0-3,7', not '2-0'");
  EXPECT_EQ(FailureOf(Changed("'0-2,7'", "'0-99999999999'")), "8:9: 'nodes' must be like '0-3,7', not '0-99999999999'");
  EXPECT_EQ(FailureOf(Changed("summary", "resume")), "5:5: key 'summary' is missing");
  EXPECT_EQ(FailureOf("version: 1\n"), "1:1: key 'model' is missing");
  EXPECT_EQ(FailureOf("[]"), "1:1: key 'version' is missing");
}

TEST_F(PlacementFileTest, TwoPlacementsForTheSameShapesAreAMistake) {
  EXPECT_EQ(FailureOf(Changed("'[2,3]'", "'[1,3]'")), "9:13: an earlier placement has the same shapes");
}

TEST_F(PlacementFileTest, NodesKeepTheirPlace) {
  const Result<Placements> read = Read(kText);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->at({{1, 3}, {}}).slower[0].place, (folder_.path() / "m.placement.yaml").string() + ":8:35");
}

// A range of few bytes is a list of many numbers, and a file may have thousands of them.
TEST_F(PlacementFileTest, R6_AFileThatListsMoreNodesThanAnyModelHasIsRefused) {
  std::string text = Changed("'0-2,7'", "'0-9999999'");
  const size_t begin = text.find("      - {delegate");
  const std::string line = text.substr(begin, text.find('\n', begin) + 1 - begin);
  text.insert(begin, line);
  EXPECT_EQ(FailureOf(text), "9:9: lists more than 16777216 nodes in all");
}

TEST_F(PlacementFileTest, TextsAreReadWithoutControlCharacters) {
  const Result<Placements> read = Read(Changed("'the CPU alone'", "\"the \\e[31mCPU\""));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->at({{1, 3}, {}}).summary, "the \\x1b[31mCPU");
}

}  // namespace
}  // namespace deputy::host
