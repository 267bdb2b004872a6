#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/reader.hpp"
#include "config/show.hpp"
#include "unit/config/load.hpp"
#include "unit/config/schema_validator.hpp"

namespace deputy::host {
namespace {

using testing::Json;

bool JsonSchemaAccepts(const std::string& text) {
  Problems problems;
  const std::optional<YamlNode> node = ReadYaml(text, "t.yaml", true, problems);
  EXPECT_TRUE(node.has_value()) << text;
  static const testing::SchemaValidator validator(Json::parse(ConfigJsonSchema()));
  return node && validator.Accepts(testing::ToJson(*node));
}

TEST(JsonSchemaTest, ItSaysWhichDraftItIs) {
  EXPECT_EQ(Json::parse(ConfigJsonSchema())["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

TEST(JsonSchemaTest, EveryKeyIsAccepted) { EXPECT_TRUE(JsonSchemaAccepts(std::string(testing::kEverything))); }

TEST(JsonSchemaTest, TheDefaultIsAccepted) { EXPECT_TRUE(JsonSchemaAccepts(std::string(DefaultConfigText()))); }

TEST(JsonSchemaTest, TheShippedConfigurationsAreAccepted) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DEPUTY_TEST_CONFIGS)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    EXPECT_TRUE(JsonSchemaAccepts(std::string(std::istreambuf_iterator<char>(file), {}))) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3u);
}

// YAML 1.1, which much software still reads, knows off as false.
TEST(JsonSchemaTest, OffIsAcceptedAsFalse) { EXPECT_TRUE(JsonSchemaAccepts("version: 1\nplugins: {auto: false}\n")); }

class Refused : public ::testing::TestWithParam<const char*> {};

TEST_P(Refused, ByReaderAndSchemaAlike) {
  const std::string text = GetParam();
  EXPECT_NE(testing::ProblemsOf(text), "");
  EXPECT_FALSE(JsonSchemaAccepts(text));
}

INSTANTIATE_TEST_SUITE_P(
    JsonSchemaTest, Refused,
    ::testing::Values(
        "fallback: cpu\n", "version: 2\n", "version: 1\nfallbak: cpu\n", "version: 1\nfallback: npu\n",
        "version: 1\nplugins: {pahts: [x]}\n", "version: 1\nplugins: {probe_timeout: 2}\n",
        "version: 1\nplugins: {probe_timeout: 2 s}\n", "version: 1\nplugins: {paths: {}}\n",
        "version: 1\ncpu: {threads: 0}\n", "version: 1\ncpu: {threads: many}\n", "version: 1\ncpu: {threads: 1.5}\n",
        "version: 1\ncache: {max: 512}\n", "version: 1\ndelegates: {name: x}\n",
        "version: 1\ndelegates: [{delegate: x}]\n", "version: 1\ndelegates: [{name: 'a b'}]\n",
        "version: 1\ndelegates: [{name: a, enabled: 1}]\n", "version: 1\ndelegates: [{name: a, optoins: {}}]\n",
        "version: 1\ndelegates: [{name: a, options: {x: [1]}}]\n", "version: 1\ndelegates: [{name: a, min_nodes: 0}]\n",
        "version: 1\ndelegates: [{name: a, rules: {nodes: [[x]]}}]\n", "version: 1\nlog: {delegates: {x: loud}}\n",
        "version: 1\nplacement: {rules: [{to: cpu}]}\n", "version: 1\nplacement: {rules: [{ops: x}]}\n",
        "version: 1\nplacement: {rules: [{ops: x, to: cpu, avoid: y}]}\n", "version: 1\ndebug: {dump: [graf]}\n",
        "version: 1\ndebug: {dump_dir: ''}\n"));

}  // namespace
}  // namespace deputy::host
