// Options: one declaration gives the host's table and the delegate's typed values.
#include "deputy/sdk/options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace deputy::sdk {
namespace {

OptionSchema Schema() {
  return OptionSchema()
      .Int("threads", 2, 0, 64, "threads to use", "threads")
      .Bool("fast", false, "less exact")
      .Float("scale", 0.5, 0.0, 1.0, "factor")
      .Enum("mode", "throughput", {"latency", "throughput"}, "what to optimise for")
      .String("label", "none", "free text")
      .Frequency("frequency", 3, "clock", 300'000'000, 1'200'000'000);
}

Result<OptionValues> Parse(const std::vector<std::pair<std::string, std::string>>& given) {
  std::vector<deputy_kv> pairs;
  for (const auto& [key, value] : given) pairs.push_back({ToStr(key), ToStr(value)});
  return OptionValues::Parse(Schema(), pairs);
}

TEST(Options, DefaultsHoldWhereNothingIsGiven) {
  const auto values = Parse({});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->Int("threads"), 2);
  EXPECT_FALSE(values->Bool("fast"));
  EXPECT_EQ(values->Float("scale"), 0.5);
  EXPECT_EQ(values->Enum("mode"), "throughput");
  EXPECT_EQ(values->String("label"), "none");
  EXPECT_EQ(values->Frequency("frequency").level, 3u);
}

TEST(Options, GivenValuesWin) {
  const auto values = Parse({{"threads", "8"}, {"fast", "true"}, {"mode", "latency"}, {"scale", "0.25"}});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->Int("threads"), 8);
  EXPECT_TRUE(values->Bool("fast"));
  EXPECT_EQ(values->Enum("mode"), "latency");
  EXPECT_EQ(values->Float("scale"), 0.25);
}

TEST(Options, FrequencyArrivesAsLevel) {
  const auto values = Parse({{"frequency", "4"}});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->Frequency("frequency").level, 4u);
  EXPECT_EQ(values->Frequency("frequency").hertz, 0u);
}

TEST(Options, FrequencyArrivesAsHertz) {
  const auto values = Parse({{"frequency", "800000000Hz"}});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->Frequency("frequency").level, 0u);
  EXPECT_EQ(values->Frequency("frequency").hertz, 800'000'000u);
}

class RefusedOption : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(RefusedOption, IsInvalidAndNamed) {
  const auto values = Parse({GetParam()});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.status().code(), Code::kInvalidArgument);
  EXPECT_NE(values.status().message().find("'" + GetParam().first + "'"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Options, RefusedOption,
                         testing::Values(std::pair("threads", "65"), std::pair("threads", "-1"),
                                         std::pair("threads", "2x"), std::pair("threads", ""), std::pair("fast", "yes"),
                                         std::pair("scale", "1.5"), std::pair("scale", "half"),
                                         std::pair("mode", "latency|throughput"), std::pair("mode", ""),
                                         std::pair("frequency", "5"), std::pair("frequency", "0"),
                                         std::pair("frequency", "100000000Hz"), std::pair("frequency", "fastHz"),
                                         std::pair("no_such", "1")));

TEST(Options, TableForTheHostSaysWhatWasDeclared) {
  const OptionSchema schema = Schema();
  const deputy_option_info info = schema.Find("mode")->Info();
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_EQ(info.type, deputy_option_type{DEPUTY_OPTION_ENUM});
  ASSERT_EQ(info.choice_count, 2u);
  EXPECT_EQ(ToView(info.choices[0]), "latency");
  EXPECT_EQ(ToView(info.choices[1]), "throughput");
  EXPECT_EQ(ToView(info.default_value), "throughput");
  EXPECT_EQ(schema.Find("threads")->Info().int_maximum, 64);
  EXPECT_EQ(ToView(schema.Find("threads")->Info().unit), "threads");
}

TEST(Options, UndeclaredNameIsABugOfThePlugin) {
  const auto values = Parse({});
  ASSERT_TRUE(values.ok());
  EXPECT_THROW(values->Int("thread"), std::logic_error);
  EXPECT_THROW(values->Bool("threads"), std::logic_error);
}

}  // namespace
}  // namespace deputy::sdk
