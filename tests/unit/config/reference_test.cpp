#include "config/reference.hpp"

#include <gtest/gtest.h>

#include <set>

#include "config/show.hpp"
#include "unit/config/load.hpp"
#include "unit/config/schema_validator.hpp"

namespace deputy::host {
namespace {

using testing::Json;

std::vector<KeyEntry> Keys() { return KeyReference(testing::Good("version: 1\n")); }

bool IsGroup(const KeyEntry& key) { return key.type.find("mapping") == 0 || key.type == "list of mappings"; }

// "a.b.c" with its value as nested mappings in one line.
std::string Nested(const std::string& path, const std::string& value) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) return path + ": " + value;
  return path.substr(0, dot) + ": {" + Nested(path.substr(dot + 1), value) + "}";
}

// A file in which the key has the value of its example.
std::string FileWith(const KeyEntry& key) {
  const std::string entry = "delegates.NAME.", rule = "placement.rules[].";
  if (key.path == "version") return "version: " + key.example + "\n";
  if (key.path == entry + "name") return "version: 1\ndelegates: [{name: " + key.example + "}]\n";
  if (key.path.find(entry) == 0)
    return "version: 1\ndelegates: [{name: onednn}, {name: npu0, " +
           Nested(key.path.substr(entry.size()), key.example) + "}]\n";
  if (key.path.find(rule) == 0) {
    const std::string name = key.path.substr(rule.size());
    const bool target = name == "to" || name == "avoid";
    return "version: 1\nplacement: {rules: [{" + std::string(target ? "ops: x, " : "to: cpu, ") + name + ": " +
           key.example + "}]}\n";
  }
  return "version: 1\n" + Nested(key.path, key.example) + "\n";
}

TEST(ReferenceTest, EveryKeyHasAMeaningAndItsPathOnce) {
  std::set<std::string> paths;
  for (const KeyEntry& key : Keys()) {
    EXPECT_NE(key.meaning, "") << key.path;
    EXPECT_NE(key.type, "") << key.path;
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
  }
  EXPECT_GT(paths.size(), 50u);
}

TEST(ReferenceTest, EveryExampleIsAccepted) {
  for (const KeyEntry& key : Keys()) {
    if (!key.available) continue;
    if (key.example.empty()) {
      EXPECT_TRUE(IsGroup(key)) << key.path << " has no example";
    } else {
      EXPECT_EQ(testing::ProblemsOf(FileWith(key)), "") << FileWith(key);
    }
  }
}

TEST(ReferenceTest, KeysThatAreNotAvailableAreRefused) {
  size_t count = 0;
  for (KeyEntry key : Keys()) {
    if (key.available) continue;
    key.example = "1";
    EXPECT_TRUE(testing::Contains(testing::ProblemsOf(FileWith(key)), "is not available in this version")) << key.path;
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(ReferenceTest, TheSchemaHasTheMeaningOfEveryKey) {
  const std::string schema = ConfigJsonSchema();
  for (const KeyEntry& key : Keys()) {
    const std::string quoted = Json(key.meaning).dump();
    EXPECT_TRUE(testing::Contains(schema, "\"description\": " + quoted.substr(0, quoted.size() - 1))) << key.path;
  }
}

}  // namespace
}  // namespace deputy::host
