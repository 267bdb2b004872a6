// Keys that are planned: refused by name in every layer and by the JSON Schema, and never shown. The keys
// that are available have their effects shown in tests/integration/settings_test.py, which walks the same list.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/fields.hpp"
#include "config/reader.hpp"
#include "config/show.hpp"
#include "unit/config/load.hpp"
#include "unit/config/schema_validator.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Json;

// The visitor of fields.hpp that lists the keys that are not available: "delegates.shapes".
class UnavailableLister {
 public:
  std::vector<std::string> Take() { return std::move(paths_); }

  template <class... Arguments>
  void Text(Arguments&&...) {}
  template <class... Arguments>
  void Texts(Arguments&&...) {}
  void Integer(std::string_view, const Setting<int64_t>&, const IntegerRange&) {}
  void Real(std::string_view, const Setting<std::optional<double>>&, const RealRange&) {}
  template <class... Arguments>
  void Flag(Arguments&&...) {}
  template <class... Arguments>
  void Quantity(Arguments&&...) {}
  template <class... Arguments>
  void Options(Arguments&&...) {}
  void Instruction(std::string_view) {}
  void Unavailable(std::string_view key) { paths_.push_back(prefix_ + std::string(key)); }
  template <class... Arguments>
  void Choice(Arguments&&...) {}
  template <class... Arguments>
  void Choices(Arguments&&...) {}
  template <class Visit>
  void Group(std::string_view key, Visit visit) {
    Within(key, visit);
  }
  template <class E, class Visit>
  void GroupOrChoice(std::string_view key, const Setting<E>&, Visit visit) {
    Within(key, visit);
  }
  template <class T, class Visit>
  void Items(std::string_view key, const List<T>&, Visit visit) {
    T item;
    Within(key, [&] { visit(item); });
  }

 private:
  template <class Visit>
  void Within(std::string_view key, Visit visit) {
    const size_t outer = prefix_.size();
    prefix_ += std::string(key) + ".";
    visit();
    prefix_.resize(outer);
  }

  std::string prefix_;
  std::vector<std::string> paths_;
};

std::vector<std::string> ListUnavailable() {
  Config config;
  UnavailableLister lister;
  VisitConfig(lister, config);
  return lister.Take();
}

// A file that uses the entry, everything else in it being right.
std::string FileWith(const std::string& path, const std::string& value) {
  constexpr std::string_view kDelegate = "delegates.", kRule = "placement.rules.";
  const std::string key = path.substr(path.rfind('.') + 1);
  const std::string item = key + ": " + value;
  if (path.rfind(kDelegate, 0) == 0) return "version: 1\ndelegates: [{name: a, " + item + "}]\n";
  if (path.rfind(kRule, 0) == 0) return "version: 1\nplacement: {rules: [{ops: x, to: cpu, " + item + "}]}\n";
  return "version: 1\n" + path.substr(0, path.find('.')) + ": {" + item + "}\n";
}

bool SchemaAccepts(const std::string& text) {
  Problems problems;
  const std::optional<YamlNode> node = ReadYaml(text, "t.yaml", true, problems);
  return node && testing::SchemaValidator(Json::parse(ConfigJsonSchema())).Accepts(testing::ToJson(*node));
}

std::string MessageFor(const std::string& path) {
  const std::string key = path.substr(path.rfind('.') + 1);
  return "'" + key + "' is not available in this version";
}

TEST(AvailabilityTest, WhatIsPlannedIsKnownByName) {
  std::string list;
  for (const std::string& path : ListUnavailable()) list += path + "\n";
  EXPECT_EQ(list, "delegates.shapes\nplacement.rules.regions\n");
}

TEST(AvailabilityTest, EveryPlannedKeyIsRefusedByNameWhateverItsValue) {
  for (const std::string& path : ListUnavailable()) {
    for (const char* value : {"next", "{}", "[]", "1s", "~"}) {
      const std::string text = FileWith(path, value);
      const std::string problems = testing::ProblemsOf(text);
      EXPECT_TRUE(Contains(problems, MessageFor(path))) << text << problems;
      EXPECT_EQ(problems.find('\n'), std::string::npos) << problems;
      EXPECT_EQ(problems.rfind("t.yaml:2:", 0), 0u) << problems;
      EXPECT_FALSE(SchemaAccepts(text)) << text;
    }
  }
}

TEST(AvailabilityTest, TheOriginIsThatOfTheKey) {
  EXPECT_EQ(testing::ProblemsOf("version: 1\ndelegates:\n  - name: a\n    shapes: []\n"),
            "t.yaml:4:5: 'shapes' is not available in this version");
}

TEST(AvailabilityTest, ADisabledDelegateIsRefusedAlike) {
  EXPECT_EQ(testing::ProblemsOf("version: 1\ndelegates: [{name: a, enabled: false, shapes: []}]\n"),
            "t.yaml:2:39: 'shapes' is not available in this version");
}

TEST(AvailabilityTest, SettingsAreRefusedAlike) {
  for (std::string path : ListUnavailable()) {
    std::string value = "1s";
    const std::string message = MessageFor(path);
    if (path.rfind("delegates.", 0) == 0) path.insert(std::string("delegates.").size(), "a.");
    if (const std::string rules = "placement.rules."; path.rfind(rules, 0) == 0) {
      value = "[{ops: x, to: cpu, " + path.substr(rules.size()) + ": 1}]";
      path = "placement.rules";
    }
    const std::string problems = testing::ProblemsOf("version: 1\ndelegates: [{name: a}]\n", {path + "=" + value});
    EXPECT_EQ(problems.rfind("--set " + path + ": " + message, 0), 0u) << problems;
  }
}

TEST(AvailabilityTest, WhatIsPlannedIsNeitherShownNorProposed) {
  const std::string shown = ShowConfig(testing::Good(testing::kEverything));
  for (const std::string& path : ListUnavailable()) {
    const std::string key = path.substr(path.rfind('.') + 1);
    EXPECT_FALSE(Contains(shown, " " + key + ":")) << path;
  }
  EXPECT_FALSE(Contains(testing::ProblemsOf("version: 1\ndelegates: [{name: a, shape: 1s}]\n"), "shapes"));
}

}  // namespace
}  // namespace deputy::host
