#include "base/nearest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deputy::host {
namespace {

const std::vector<std::string> kKeys = {"frequency", "threads", "fallback", "device", "off"};

TEST(NearestTest, MissingLetterIsFound) { EXPECT_EQ(NearestMatch("frequncy", kKeys), "frequency"); }

TEST(NearestTest, SwappedNeighboursAreOneEdit) {
  EXPECT_EQ(NearestMatch("ofd", std::vector<std::string>{"odf"}), "odf");
}

TEST(NearestTest, CaseCostsNothing) { EXPECT_EQ(NearestMatch("DEVICE", kKeys), "device"); }

TEST(NearestTest, OnlyCandidateWithThePrefixIsFound) { EXPECT_EQ(NearestMatch("freq", kKeys), "frequency"); }

TEST(NearestTest, PrefixOfTwoIsNoAnswer) {
  EXPECT_EQ(NearestMatch("pre", std::vector<std::string>{"precision", "preference"}), "");
}

TEST(NearestTest, NearerCandidateWinsOverAnEarlierOne) {
  EXPECT_EQ(NearestMatch("npu1", std::vector<std::string>{"npu02", "npu12", "npu1x"}), "npu12");
}

TEST(NearestTest, FirstOfEqualsWins) {
  EXPECT_EQ(NearestMatch("in_3", std::vector<std::string>{"in_1", "in_2"}), "in_1");
}

TEST(NearestTest, APartThatIsAnotherWordHasNoMatch) {
  const std::vector<std::string> names = {"sim_npu", "onednn"};
  EXPECT_EQ(NearestMatch("acme_npu", names), "");
  EXPECT_EQ(NearestMatch("smi_npu", names), "sim_npu");
  EXPECT_EQ(NearestMatch("simnpu", names), "sim_npu");
}

TEST(NearestTest, FarWordHasNoMatch) { EXPECT_EQ(NearestMatch("zebra", kKeys), ""); }

TEST(NearestTest, ShortWordIsNotMatchedToJustAnything) {
  EXPECT_EQ(NearestMatch("a", std::vector<std::string>{"b", "c"}), "");
}

TEST(NearestTest, EmptyWordAndNoCandidatesHaveNoMatch) {
  EXPECT_EQ(NearestMatch("", kKeys), "");
  EXPECT_EQ(NearestMatch("device", std::vector<std::string>{}), "");
}

TEST(NearestTest, VeryLongWordIsNotCompared) { EXPECT_EQ(NearestMatch(std::string(100000, 'f'), kKeys), ""); }

TEST(NearestTest, QuestionIsEmptyWithoutAMatch) {
  EXPECT_EQ(DidYouMean("frequncy", kKeys), "; did you mean 'frequency'?");
  EXPECT_EQ(DidYouMean("zebra", kKeys), "");
}

}  // namespace
}  // namespace deputy::host
