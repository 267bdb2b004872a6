#include "cli/quantity.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

using std::chrono::nanoseconds;

TEST(ParseDuration, NumbersHaveAUnitOfTheConfiguration) {
  for (const auto& [text, want] :
       {std::pair{"500ms", nanoseconds(500000000)}, std::pair{"1.5s", nanoseconds(1500000000)},
        std::pair{"2us", nanoseconds(2000)}, std::pair{"0.001ms", nanoseconds(1000)},
        std::pair{"1.001s", nanoseconds(1001000000)}, std::pair{"1min", nanoseconds(60000000000)}}) {
    const Result<nanoseconds> got = ParseDuration(text);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(ParseDuration, WhatIsNoDurationIsRefusedWithTheReason) {
  for (const auto& [text, why] :
       {std::pair{"", "not begin with a number"}, std::pair{"ms", "not begin with a number"},
        std::pair{"500", "the unit is missing"}, std::pair{"5h", "the units are us, ms, s and min"},
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

}  // namespace
}  // namespace deputy::cli
