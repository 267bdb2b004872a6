#include "cli/terminal/quantity.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

using std::chrono::nanoseconds;

TEST(ParseDuration, NumbersHaveAUnitOfTheConfiguration) {
  for (const auto& [text, want] :
       {std::pair{"500ms", nanoseconds(500000000)}, std::pair{"1.5s", nanoseconds(1500000000)},
        std::pair{"2us", nanoseconds(2000)}, std::pair{"0.001ms", nanoseconds(1000)},
        std::pair{"1.001s", nanoseconds(1001000000)}, std::pair{"1min", nanoseconds(60000000000)},
        std::pair{"1.5h", nanoseconds(5400000000000)}}) {
    const Result<nanoseconds> got = ParseDuration(text);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(ParseDuration, WhatIsNoDurationIsRefusedWithTheReason) {
  for (const auto& [text, why] :
       {std::pair{"", "not begin with a number"}, std::pair{"ms", "not begin with a number"},
        std::pair{"500", "the unit is missing (us, ms, s, min, h)"}, std::pair{"5d", "the units are us, ms, s, min, h"},
        std::pair{"5 ms", "the units are"}, std::pair{"0s", "greater than zero"},
        std::pair{"-1s", "not begin with a number"}, std::pair{"nan", "not begin with a number"},
        std::pair{".5s", "not begin with a number"}, std::pair{"05s", "no leading zeros"},
        std::pair{"1.s", "one to three digits"}, std::pair{"1.0005s", "one to three digits"},
        std::pair{"0.5us", "finer than a microsecond"}, std::pair{"99999999999min", "too long"}}) {
    const Result<nanoseconds> got = ParseDuration(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_NE(got.status().message().find(why), std::string::npos) << got.status().message();
  }
}

TEST(ParseAge, NumbersHaveAUnit) {
  EXPECT_EQ(*ParseAge("45min"), std::chrono::minutes(45));
  EXPECT_EQ(*ParseAge("12h"), std::chrono::hours(12));
  EXPECT_EQ(*ParseAge("36500d"), std::chrono::hours(24 * 36500));
}

TEST(ParseAge, WhatIsNoAgeIsRefused) {
  for (const char* text : {"", "d", "30", "30s", "30 d", "0d", "-1d", "1.5d", "36501d", "99999999999999999999d", "1dd"})
    EXPECT_FALSE(ParseAge(text).ok()) << text;
}

TEST(AgeText, IsInTheLargestUnit) {
  EXPECT_EQ(AgeText(std::chrono::seconds(-5)), "now");
  EXPECT_EQ(AgeText(std::chrono::seconds(59)), "now");
  EXPECT_EQ(AgeText(std::chrono::minutes(59)), "59 min");
  EXPECT_EQ(AgeText(std::chrono::hours(23)), "23 h");
  EXPECT_EQ(AgeText(std::chrono::hours(49)), "2 d");
}

}  // namespace
}  // namespace deputy::cli
