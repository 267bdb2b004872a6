// Keys and words that are planned: refused by name in every layer and by the JSON Schema, and never shown. The keys
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
#include "config/words.hpp"
#include "unit/config/load.hpp"
#include "unit/config/schema_validator.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Json;

// The visitor of fields.hpp that lists what is not available: keys, and words of enumerations.
class UnavailableLister {
 public:
  struct Entry {
    std::string path;  // "delegates.on_failure"
    std::string word;  // empty: the key itself
  };
  std::vector<Entry> Take() { return std::move(entries_); }

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
  void Unavailable(std::string_view key) { entries_.push_back({prefix_ + std::string(key), ""}); }
  template <class E>
  void Choice(std::string_view key, const Setting<E>&) {
    for (const Word<E>& word : Words(E{}))
      if (!word.available) entries_.push_back({prefix_ + std::string(key), std::string(word.text)});
  }
  template <class E>
  void Choices(std::string_view key, const List<Named<E>>&, TextKind) {
    Choice(key, Setting<E>());
  }
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
  std::vector<Entry> entries_;
};

std::vector<UnavailableLister::Entry> ListUnavailable() {
  Config config;
  UnavailableLister lister;
  VisitConfig(lister, config);
  return lister.Take();
}

// A file that uses the entry, everything else in it being right.
std::string FileWith(const UnavailableLister::Entry& entry, const std::string& value) {
  constexpr std::string_view kDelegate = "delegates.", kRule = "placement.rules.";
  const std::string key = entry.path.substr(entry.path.rfind('.') + 1);
  const std::string item = key + ": " + value;
  if (entry.path.rfind(kDelegate, 0) == 0) return "version: 1\ndelegates: [{name: a, " + item + "}]\n";
  if (entry.path.rfind(kRule, 0) == 0) return "version: 1\nplacement: {rules: [{ops: x, to: cpu, " + item + "}]}\n";
  return "version: 1\n" + entry.path.substr(0, entry.path.find('.')) + ": {" + item + "}\n";
}

bool SchemaAccepts(const std::string& text) {
  Problems problems;
  const std::optional<YamlNode> node = ReadYaml(text, "t.yaml", true, problems);
  return node && testing::SchemaValidator(Json::parse(ConfigJsonSchema())).Accepts(testing::ToJson(*node));
}

std::string MessageFor(const UnavailableLister::Entry& entry) {
  const std::string key = entry.path.substr(entry.path.rfind('.') + 1);
  return "'" + key + (entry.word.empty() ? "" : ": " + entry.word) + "' is not available in this version";
}

TEST(AvailabilityTest, WhatIsPlannedIsKnownByName) {
  std::string list;
  for (const UnavailableLister::Entry& entry : ListUnavailable())
    list += entry.path + (entry.word.empty() ? "" : ": " + entry.word) + "\n";
  EXPECT_EQ(list,
            "delegates.precision\ndelegates.shapes\ndelegates.isolation\n"
            "delegates.timeout\n"
            "placement.rules.regions\nlog.format\n");
}

TEST(AvailabilityTest, EveryPlannedKeyAndWordIsRefusedByNameWhateverItsValue) {
  for (const UnavailableLister::Entry& entry : ListUnavailable()) {
    for (const char* value : {"next", "{}", "[]", "1s", "~"}) {
      const std::string text = FileWith(entry, entry.word.empty() ? value : entry.word);
      const std::string problems = testing::ProblemsOf(text);
      EXPECT_TRUE(Contains(problems, MessageFor(entry))) << text << problems;
      EXPECT_EQ(problems.find('\n'), std::string::npos) << problems;
      EXPECT_EQ(problems.rfind("t.yaml:2:", 0), 0u) << problems;
      EXPECT_FALSE(SchemaAccepts(text)) << text;
    }
  }
}

TEST(AvailabilityTest, TheOriginIsThatOfTheKey) {
  EXPECT_EQ(testing::ProblemsOf("version: 1\ndelegates:\n  - name: a\n    isolation: none\n"),
            "t.yaml:4:5: 'isolation' is not available in this version");
}

TEST(AvailabilityTest, ADisabledDelegateIsRefusedAlike) {
  EXPECT_EQ(testing::ProblemsOf("version: 1\ndelegates: [{name: a, enabled: false, isolation: none}]\n"),
            "t.yaml:2:39: 'isolation' is not available in this version");
}

TEST(AvailabilityTest, SettingsAreRefusedAlike) {
  for (const UnavailableLister::Entry& entry : ListUnavailable()) {
    std::string path = entry.path, value = entry.word.empty() ? "1s" : entry.word;
    if (path.rfind("delegates.", 0) == 0) path.insert(std::string("delegates.").size(), "a.");
    if (const std::string rules = "placement.rules."; path.rfind(rules, 0) == 0) {
      value = "[{ops: x, to: cpu, " + path.substr(rules.size()) + ": 1}]";
      path = "placement.rules";
    }
    const std::string problems = testing::ProblemsOf("version: 1\ndelegates: [{name: a}]\n", {path + "=" + value});
    EXPECT_EQ(problems.rfind("--set " + path + ": " + MessageFor(entry), 0), 0u) << problems;
  }
}

TEST(AvailabilityTest, WhatIsPlannedIsNeitherShownNorProposed) {
  const std::string shown = ShowConfig(testing::Good(testing::kEverything));
  for (const UnavailableLister::Entry& entry : ListUnavailable()) {
    const std::string key = entry.path.substr(entry.path.rfind('.') + 1);
    EXPECT_TRUE(!entry.word.empty() || !Contains(shown, " " + key + ":")) << entry.path;
  }
  EXPECT_FALSE(Contains(testing::ProblemsOf("version: 1\ndelegates: [{name: a, timout: 1s}]\n"), "timeout"));
}

}  // namespace
}  // namespace deputy::host
