#include "plugin/discovery/option_check.hpp"

#include <gtest/gtest.h>

#include "deputy/abi/ext/options.h"

namespace deputy::host {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

std::vector<OptionSchema> Schema() {
  return {{"threads", DEPUTY_OPTION_INT, "", "", "1", {}, 1, 8},
          {"scale", DEPUTY_OPTION_FLOAT, "", "ms", "1", {}, 0, 0, 0.5, 2},
          {"trace", DEPUTY_OPTION_BOOL, "", "", "false", {}, 0, 0},
          {"soc", DEPUTY_OPTION_STRING, "", "", "", {}, 0, 0},
          {"mode", DEPUTY_OPTION_ENUM, "", "", "exact", {"exact", "fast"}, 0, 0},
          {"frequency", DEPUTY_OPTION_FREQUENCY, "", "Hz", "3", {}, 0, 0, 2e8, 1.2e9},
          {"level", DEPUTY_OPTION_FREQUENCY, "", "", "3", {}, 0, 0},
          {"free", DEPUTY_OPTION_INT, "", "", "0", {}, 0, 0},
          {"seed", DEPUTY_OPTION_INT, "", "", "1", {}, 1, INT64_MAX - 1}};
}

// The normalized value, or the message of the problem.
std::string Check(const std::string& name, const std::string& text) {
  const Given given = {{name, text}};
  const CheckedOptions checked = CheckOptions(Schema(), given);
  EXPECT_EQ(checked.values.size() + checked.problems.size(), 1u);
  return checked.problems.empty() ? checked.values[0].second : checked.problems[0].message;
}

TEST(OptionCheck, UnknownOptionHasTheNearestName) {
  EXPECT_NE(Check("frequncy", "high").find("'frequncy' is unknown; did you mean 'frequency'?"), std::string::npos);
}

TEST(OptionCheck, WholeNumberInRangePasses) { EXPECT_EQ(Check("threads", "8"), "8"); }

TEST(OptionCheck, WholeNumberOutOfRangeNamesTheRange) {
  EXPECT_EQ(Check("threads", "9"), "option 'threads' must be a whole number from 1 to 8, not '9'");
}

TEST(OptionCheck, LeadingZerosAreRefused) {
  EXPECT_EQ(Check("threads", "007"), "option 'threads' must be a whole number from 1 to 8, not '007'");
}

TEST(OptionCheck, WordInPlaceOfANumberIsRefused) {
  EXPECT_EQ(Check("threads", "many"), "option 'threads' must be a whole number from 1 to 8, not 'many'");
}

TEST(OptionCheck, NumberWithoutARangeMayBeAnything) { EXPECT_EQ(Check("free", "-123456"), "-123456"); }

// As doubles these limits would be those of other numbers.
TEST(OptionCheck, WholeNumbersKeepAllTheirDigits) {
  EXPECT_EQ(Check("seed", "9223372036854775806"), "9223372036854775806");
  EXPECT_EQ(Check("seed", "9223372036854775807"),
            "option 'seed' must be a whole number from 1 to 9223372036854775806, not '9223372036854775807'");
}

TEST(OptionCheck, RealInRangePasses) { EXPECT_EQ(Check("scale", "0.75"), "0.75"); }

TEST(OptionCheck, NotANumberIsRefused) {
  EXPECT_EQ(Check("scale", "nan"), "option 'scale' must be a number from 0.5 to 2 ms, not 'nan'");
}

TEST(OptionCheck, YesIsNoBoolean) {
  EXPECT_EQ(Check("trace", "yes"), "option 'trace' must be true or false, not 'yes'");
}

// Seed row 62.
TEST(OptionCheck, StringPassesAsWritten) { EXPECT_EQ(Check("soc", " 8 Gen 2 "), " 8 Gen 2 "); }

TEST(OptionCheck, ChoiceOutsideTheListHasTheNearestOne) {
  EXPECT_EQ(Check("mode", "fats"), "option 'mode' must be exact | fast, not 'fats'; did you mean 'fast'?");
}

// Seed row 57.
TEST(OptionCheck, FrequencyWordsBecomeLevels) {
  EXPECT_EQ(Check("frequency", "low"), "1");
  EXPECT_EQ(Check("frequency", "balanced"), "2");
  EXPECT_EQ(Check("frequency", "high"), "3");
  EXPECT_EQ(Check("frequency", "extreme"), "4");
}

TEST(OptionCheck, FrequencyDigitsAreLevels) { EXPECT_EQ(Check("frequency", "4"), "4"); }

TEST(OptionCheck, LevelFiveIsRefused) {
  EXPECT_EQ(
      Check("frequency", "5"),
      "option 'frequency' must be low | balanced | high | extreme, 1..4, or a clock from 200MHz to 1.2GHz, not '5'");
}

TEST(OptionCheck, ClocksBecomeHertz) {
  EXPECT_EQ(Check("frequency", "800MHz"), "800000000Hz");
  EXPECT_EQ(Check("frequency", "1.2GHz"), "1200000000Hz");
  EXPECT_EQ(Check("frequency", "250000kHz"), "250000000Hz");
}

TEST(OptionCheck, NormalizedClockPassesAgain) { EXPECT_EQ(Check("frequency", "800000000Hz"), "800000000Hz"); }

TEST(OptionCheck, ClockOutOfRangeIsRefused) {
  EXPECT_NE(Check("frequency", "1.3GHz").find("a clock from 200MHz to 1.2GHz, not '1.3GHz'"), std::string::npos);
}

TEST(OptionCheck, ClockWithoutAUnitIsRefused) {
  EXPECT_NE(Check("frequency", "800000000").find("must be"), std::string::npos);
}

TEST(OptionCheck, ClockIsRefusedWhereTheDeviceHasLevelsOnly) {
  EXPECT_EQ(Check("level", "800MHz"), "option 'level' must be low | balanced | high | extreme or 1..4, not '800MHz'");
}

// Seed row 61.
TEST(OptionCheck, AllProblemsComeAtOnce) {
  const Given given = {{"threads", "0"}, {"nonsense", "1"}, {"mode", "fast"}};
  const CheckedOptions checked = CheckOptions(Schema(), given);
  EXPECT_EQ(checked.problems.size(), 2u);
  EXPECT_TRUE(checked.problems[1].unknown);
  ASSERT_EQ(checked.values.size(), 1u);
  EXPECT_EQ(checked.values[0].first, "mode");
}

TEST(OptionCheck, OptionGivenTwiceIsRefused) {
  const Given given = {{"threads", "1"}, {"threads", "2"}};
  EXPECT_EQ(CheckOptions(Schema(), given).problems.at(0).message, "option 'threads' is given twice");
}

}  // namespace
}  // namespace deputy::host
