#include "config/scalar.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace deputy::host {
namespace {

template <class T>
std::string Why(const Result<T>& result) {
  return result.ok() ? "accepted" : result.status().message();
}

TEST(ScalarTest, IntegersAreDecimal) {
  EXPECT_EQ(*ParseInteger("0"), 0);
  EXPECT_EQ(*ParseInteger("-12"), -12);
  EXPECT_EQ(*ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(ScalarTest, R59_NumbersOfOtherBasesAreRefused) {
  EXPECT_EQ(Why(ParseInteger("017")), "numbers have no leading zeros");
  EXPECT_EQ(Why(ParseInteger("0o17")), "that is not a whole decimal number");
  EXPECT_EQ(Why(ParseInteger("0x1f")), "that is not a whole decimal number");
  EXPECT_EQ(Why(ParseInteger("1e3")), "that is not a whole decimal number");
  EXPECT_EQ(Why(ParseInteger("1_000")), "that is not a whole decimal number");
  EXPECT_EQ(Why(ParseInteger("+1")), "that is not a number");
}

TEST(ScalarTest, NoIntegersAreRefused) {
  for (const char* text : {"", "-", "1.0", " 1", "1 ", "abc", "--1", "-0", "-01"})
    EXPECT_FALSE(ParseInteger(text).ok()) << text;
}

TEST(ScalarTest, R60_HugeIntegerIsRefused) {
  EXPECT_EQ(Why(ParseInteger("9223372036854775808")), "that does not fit 64 bits");
}

TEST(ScalarTest, RealsAreDecimal) {
  EXPECT_EQ(*ParseReal("1"), 1.0);
  EXPECT_EQ(*ParseReal("-0.25"), -0.25);
  EXPECT_EQ(*ParseReal("1e-3"), 0.001);
  EXPECT_EQ(*ParseReal("2.5E+2"), 250.0);
}

TEST(ScalarTest, R60_NanAndInfinityAreRefused) {
  for (const char* text : {"nan", ".nan", "NaN", "inf", ".inf", "-inf", "1e999", "-nan"})
    EXPECT_FALSE(ParseReal(text).ok()) << text;
}

TEST(ScalarTest, NoRealsAreRefused) {
  for (const char* text : {"", "-", ".5", "5.", "01.5", "1e", "1e+", "0x1p3", "1.5f", "1,5"})
    EXPECT_FALSE(ParseReal(text).ok()) << text;
}

TEST(ScalarTest, R58_OnlyTrueAndFalseAreBooleans) {
  EXPECT_TRUE(*ParseBool("true"));
  EXPECT_FALSE(*ParseBool("false"));
  EXPECT_EQ(Why(ParseBool("yes")), "write true");
  EXPECT_EQ(Why(ParseBool("off")), "write false");
  for (const char* text : {"", "1", "0", "True", "y", "n"}) EXPECT_FALSE(ParseBool(text).ok()) << text;
}

TEST(ScalarTest, DurationsNeedTheirUnit) {
  EXPECT_EQ(ParseDuration("2s")->count(), 2000000);
  EXPECT_EQ(ParseDuration("500ms")->count(), 500000);
  EXPECT_EQ(ParseDuration("7us")->count(), 7);
  EXPECT_EQ(ParseDuration("10min")->count(), 600000000);
  EXPECT_EQ(ParseDuration("1.5h")->count(), 5400000000);
  EXPECT_EQ(Why(ParseDuration("2")), "the unit is missing");
  EXPECT_EQ(Why(ParseDuration("2 s")), "there is a space before the unit");
  EXPECT_EQ(Why(ParseDuration("2sec")), "there is no unit 'sec'");
  EXPECT_EQ(Why(ParseDuration("s")), "that is not a number");
}

TEST(ScalarTest, R60_NegativeAndHugeQuantitiesAreRefused) {
  EXPECT_EQ(Why(ParseDuration("-1s")), "that is negative");
  EXPECT_EQ(Why(ParseDuration("9223372036854775807s")), "that does not fit 64 bits");
  EXPECT_EQ(Why(ParseDuration("99999999999999999999s")), "that does not fit 64 bits");
  EXPECT_EQ(Why(ParseSize("9223372036854775807.5kB")), "that does not fit 64 bits");
}

TEST(ScalarTest, QuantitiesMayHaveThreeDecimals) {
  EXPECT_EQ(ParseDuration("1.5s")->count(), 1500000);
  EXPECT_EQ(ParseSize("0.125KiB")->count, 128);
  EXPECT_EQ(Why(ParseDuration("1.2345s")), "there are more than three decimals");
  EXPECT_EQ(Why(ParseDuration("1.s")), "there are no digits after the point");
  EXPECT_EQ(Why(ParseDuration("1.5us")), "that is not a multiple of 1 us");
}

TEST(ScalarTest, SizesTellPowersOf1000FromPowersOf1024) {
  EXPECT_EQ(ParseSize("512MB")->count, 512000000);
  EXPECT_EQ(ParseSize("512MiB")->count, 536870912);
  EXPECT_EQ(Why(ParseSize("512")), "the unit is missing");
  EXPECT_EQ(Why(ParseSize("512mb")), "there is no unit 'mb'; did you mean 'MB'?");
}

TEST(ScalarTest, FrequenciesAreInHertz) {
  EXPECT_EQ(*ParseFrequency("800MHz"), 800000000);
  EXPECT_EQ(*ParseFrequency("1.2GHz"), 1200000000);
  EXPECT_EQ(Why(ParseFrequency("800")), "the unit is missing");
}

TEST(ScalarTest, FormattedQuantitiesReadBackAsTheSame) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{60000000}, int64_t{1500000},
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ParseDuration(FormatDuration(Duration(count)))->count(), count);
    EXPECT_EQ(ParseSize(FormatSize(Bytes{count}))->count, count);
  }
  EXPECT_EQ(FormatDuration(Duration(2000000)), "2s");
  EXPECT_EQ(FormatSize(Bytes{512000000}), "512MB");
  EXPECT_EQ(FormatSize(Bytes{536870912}), "512MiB");
}

TEST(ScalarTest, NamesAreLettersDigitsAndThreeSigns) {
  EXPECT_TRUE(IsName("npu-0.v_2"));
  for (const char* text : {"", "a b", "a/b", "\xc3\xa9", "a\n"}) EXPECT_FALSE(IsName(text)) << text;
}

}  // namespace
}  // namespace deputy::host
