#include "cli/quantity.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

using std::chrono::nanoseconds;

TEST(ParseDuration, NumbersHaveAUnitOfTheConfiguration) {
  for (const auto& [text, want] :
       {std::pair{"500ms", nanoseconds(500000000)}, std::pair{"1.5s", nanoseconds(1500000000)},
        std::pair{"2us", nanoseconds(2000)}, std::pair{"1min", nanoseconds(60000000000)}}) {
    const Result<nanoseconds> got = ParseDuration(text);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(ParseDuration, WhatIsNoDurationIsRefusedWithTheReason) {
  for (const auto& [text, why] :
       {std::pair{"", "no number"}, std::pair{"ms", "no number"}, std::pair{"500", "the unit is missing"},
        std::pair{"5h", "the units are us, ms, s and min"}, std::pair{"5 ms", "the units are"},
        std::pair{"0s", "more than nothing"}, std::pair{"-1s", "more than nothing"},
        std::pair{"nan", "the unit is missing"}, std::pair{"99999999999min", "too long"}}) {
    const Result<nanoseconds> got = ParseDuration(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_NE(got.status().message().find(why), std::string::npos) << got.status().message();
  }
}

}  // namespace
}  // namespace deputy::cli
