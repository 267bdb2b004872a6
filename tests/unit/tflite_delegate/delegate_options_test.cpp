// The options of load_delegate.
#include "plugins/tflite_delegate/delegate_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deputy::tflite_delegate {
namespace {

Result<DelegateOptions> Parsed(const std::vector<const char*>& keys, const std::vector<const char*>& values) {
  return ParseOptions(keys.data(), values.data(), keys.size());
}

TEST(DelegateOptions, AreRead) {
  const Result<DelegateOptions> options =
      Parsed({"config", "settings", "report"}, {"edge.yaml", ";a.b=c;;d=e;", "log"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->config, "edge.yaml");
  EXPECT_EQ(options->settings, (std::vector<std::string>{"a.b=c", "d=e"}));
  EXPECT_EQ(options->report, "log");
  ASSERT_TRUE(ParseOptions(nullptr, nullptr, 0).ok());
}

TEST(DelegateOptions, AnUnknownKeyIsRefusedWithTheNearest) {
  const Status status = Parsed({"confg"}, {"x"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("unknown option 'confg'; did you mean 'config'?"), std::string::npos)
      << status.ToString();
  EXPECT_NE(Parsed({"threads"}, {"4"}).status().ToString().find("the options are config, settings and report"),
            std::string::npos);
}

TEST(DelegateOptions, MissingAndRepeatedOnesAreRefused) {
  EXPECT_NE(Parsed({nullptr}, {"x"}).status().ToString().find("option 0 has no name"), std::string::npos);
  EXPECT_NE(Parsed({"config"}, {nullptr}).status().ToString().find("'config' has no value"), std::string::npos);
  EXPECT_NE(Parsed({"config", "config"}, {"a", "b"}).status().ToString().find("given twice"), std::string::npos);
  EXPECT_FALSE(ParseOptions(nullptr, nullptr, 1).ok());
}

}  // namespace
}  // namespace deputy::tflite_delegate
