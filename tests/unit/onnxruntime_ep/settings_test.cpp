// Options of a session, as ONNX Runtime passes them.
#include "plugins/onnxruntime_ep/settings.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ort_ep {
namespace {

TEST(ReadSettings, OptionsOfOthersAreNotRead) {
  const deputy::Result<Settings> settings =
      ReadSettings({{"ep.otherprovider.report", "a"}, {"session.disable_prepacking", "1"}}, {"npu0"});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->report, "");
  EXPECT_EQ(settings->delegates, std::vector<std::string>{"npu0"});
}

TEST(ReadSettings, BothOptionsAreRead) {
  const deputy::Result<Settings> settings = ReadSettings(
      {{std::string(kOptionPrefix) + "report", "r.json"}, {std::string(kOptionPrefix) + "config", "c"}}, {});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->report, "r.json");
  EXPECT_EQ(settings->config, "c");
}

TEST(ReadSettings, AnUnknownOptionIsRefusedWithTheNearestOrAll) {
  EXPECT_EQ(ReadSettings({{std::string(kOptionPrefix) + "confg", ""}}, {}).status().ToString(),
            "DeputyExecutionProvider has no option 'confg'; did you mean 'config'?");
  EXPECT_EQ(ReadSettings({{std::string(kOptionPrefix) + "threads", ""}}, {}).status().ToString(),
            "DeputyExecutionProvider has no option 'threads'; the options are config, report");
}

TEST(OpenDeputy, AReportThatCannotBeWrittenIsRefusedBeforeAnyRun) {
  for (const char* path : {"/proc/none/report.json", "/tmp"}) {
    Settings settings;
    settings.report = path;
    const deputy::Result<Deputy> opened = OpenDeputy(settings);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.status().ToString().find(path), std::string::npos) << opened.status().ToString();
  }
}

TEST(SetDynamicOption, OptionsOfASessionAreNoneAndThoseOfOthersAreNotRead) {
  EXPECT_TRUE(SetDynamicOption({}, "ep.dynamic.workload_type", "Efficient").ok());
  EXPECT_EQ(SetDynamicOption({}, std::string(kOptionPrefix) + "report", "r.json").code(),
            deputy::StatusCode::kInvalidArgument);
}

TEST(OpenDeputy, AConfigurationThatIsNotThereIsRefusedWithItsPath) {
  Settings settings;
  settings.config = "/nonexistent/deputy.yaml";
  const deputy::Result<Deputy> opened = OpenDeputy(settings);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().ToString().find(settings.config), std::string::npos);
}

}  // namespace
}  // namespace ort_ep
