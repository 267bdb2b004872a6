// Which layer goes over which, and how.
#include "config/merge.hpp"

#include <gtest/gtest.h>

#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Good;
using testing::NamesOf;
using testing::ProblemsOf;
using Names = std::vector<std::string>;

Result<Config> Layers(const std::vector<std::string>& texts) {
  ConfigLoader loader;
  for (size_t i = 0; i < texts.size(); ++i) loader.AddText(std::to_string(i) + ".yaml", "version: 1\n" + texts[i]);
  return loader.Finish();
}

Config Merged(const std::vector<std::string>& texts) {
  Result<Config> config = Layers(texts);
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  return config.ok() ? *std::move(config) : Config();
}

TEST(MergeTest, AnEntryThatNoLayerHasIsAnsweredWithTheLayerThatHasIt) {
  ConfigLoader loader;
  loader.SetElsewhere([](const std::string& name) { return "; 'base' has " + name; });
  loader.AddText("t.yaml", "version: 1\ndelegates: [{name: npu0, before: onednn}]\n");
  loader.AddSetting("delegates.gpu.device=1");
  EXPECT_EQ(loader.Finish().status().ToString(),
            "t.yaml:2:34: 'before' must name a delegate of this layer or of one below, not 'onednn' (listed: npu0); "
            "'base' has onednn\n"
            "--set delegates.gpu.device: no delegate is called 'gpu' (listed: npu0); 'base' has gpu");
}

TEST(MergeTest, NothingAddedIsTheBuiltInDefault) {
  const Result<Config> config = ConfigLoader().Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(*config->version, 1);
  ASSERT_EQ(config->plugins.paths.size(), 1u);
  EXPECT_EQ(*config->plugins.paths[0], "$deputy/plugins");
  EXPECT_EQ(*config->plugins.trust, Trust::kProbe);
  EXPECT_EQ(*config->plugins.auto_use, AutoUse::kOff);
  EXPECT_EQ(config->plugins.probe_timeout->count(), 2000000);
  EXPECT_TRUE(config->delegates.empty());
  EXPECT_EQ(*config->cpu.threads, 0);
  EXPECT_EQ(*config->fallback, Fallback::kCpu);
  EXPECT_EQ(*config->placement.policy, Policy::kPriority);
  EXPECT_EQ(*config->cache.dir, "auto");
  EXPECT_EQ(config->cache.max->count, 512000000);
  EXPECT_EQ(*config->log.level, LogLevel::kInfo);
  EXPECT_EQ(config->fallback.origin.ToString(), "default");
}

TEST(MergeTest, BuiltInDefaultIsAFileThatLoads) { EXPECT_EQ(Good(DefaultConfigText()), *ConfigLoader().Finish()); }

// Seed row 65.
TEST(MergeTest, LaterLayerGoesOverKeyByKey) {
  const Config config = Merged({"log: {level: debug, delegates: {cpu: off}}\n", "log: {level: error}\n"});
  EXPECT_EQ(*config.log.level, LogLevel::kError);
  EXPECT_EQ(config.log.level.origin.ToString(), "1.yaml:2:14");
  ASSERT_EQ(config.log.delegates.size(), 1u);
  EXPECT_EQ(config.log.delegates[0].origin().ToString(), "0.yaml:2:38");
}

TEST(MergeTest, ListsAreReplacedWhole) {
  const Config config = Merged({"plugins: {environment: [A, B]}\n", "plugins: {environment: [C]}\n"});
  ASSERT_EQ(config.plugins.environment.size(), 1u);
  EXPECT_EQ(*config.plugins.environment[0], "C");
}

// Packages that bring a folder each do not exclude each other. The built-in default is no file.
TEST(MergeTest, FoldersOfPluginsAddUpOverFiles) {
  const auto paths = [](const Config& config) {
    std::vector<std::string> texts;
    for (const Setting<std::string>& path : config.plugins.paths) texts.push_back(*path);
    return texts;
  };
  using Texts = std::vector<std::string>;
  const char *lower = "plugins: {paths: [/a, /b]}\n", *upper = "plugins: {paths: /c}\n";
  EXPECT_EQ(paths(Merged({lower, upper})), (Texts{"/c", "/a", "/b"}));
  EXPECT_EQ(paths(Merged({lower, "plugins: {paths: []}\n"})), Texts());
  EXPECT_EQ(paths(Merged({lower, "plugins: {paths: []}\n", upper})), Texts{"/c"});
  EXPECT_EQ(paths(Merged({upper})), Texts{"/c"});
}

TEST(MergeTest, DelegatesMergeByName) {
  const Config config = Merged({"delegates:\n  - name: a\n    device: 1\n    options: {x: 1, y: 2}\n  - name: b\n",
                                "delegates:\n  - name: a\n    enabled: false\n    options: {y: 3, z: 4}\n"});
  EXPECT_EQ(NamesOf(config), (Names{"a", "b"}));
  const DelegateConfig& a = config.delegates[0];
  EXPECT_EQ(*a.device, "1");
  EXPECT_FALSE(*a.enabled);
  EXPECT_EQ(a.name.origin.ToString(), "0.yaml:3:11");
  ASSERT_EQ(a.options.size(), 3u);
  EXPECT_EQ(a.options[0]->text, "1");
  EXPECT_EQ(a.options[1]->text, "3");
  EXPECT_EQ(a.options[1].origin().ToString(), "1.yaml:5:18");
  EXPECT_EQ(a.options[2].name, "z");
}

TEST(MergeTest, NestedAndDottedOptionsMergeAsTheSame) {
  const Config config = Merged({"delegates: [{name: a, options: {m: {stage: run, n: 1}}}]\n",
                                "delegates: [{name: a, options: {m.stage: open}}]\n"});
  ASSERT_EQ(config.delegates[0].options.size(), 2u);
  EXPECT_EQ(config.delegates[0].options[0]->text, "open");
}

TEST(MergeTest, NewDelegateGoesLast) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: b}]\n", "delegates: [{name: c}]\n"})),
            (Names{"a", "b", "c"}));
}

TEST(MergeTest, NewDelegateGoesBeforeTheOneItNames) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: b}]\n", "delegates: [{name: c, before: b}]\n"})),
            (Names{"a", "c", "b"}));
}

TEST(MergeTest, TheOrderOfALayerHoldsForTheDelegatesThatItLists) {
  const auto merged = [](const std::string& upper) {
    return NamesOf(Merged({"delegates: [{name: a}, {name: b}, {name: c}]\n", "delegates: [" + upper + "]\n"}));
  };
  EXPECT_EQ(merged("{name: c}, {name: a}"), (Names{"c", "a", "b"}));
  EXPECT_EQ(merged("{name: new}, {name: b}"), (Names{"a", "new", "b", "c"}));
  EXPECT_EQ(merged("{name: c}, {name: new}"), (Names{"a", "b", "c", "new"}));
  EXPECT_EQ(merged("{name: c}, {name: b}, {name: a}"), (Names{"c", "b", "a"}));
}

TEST(MergeTest, KnownDelegateMovesWithBefore) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: b}, {name: c}]\n", "delegates: [{name: c, before: a}]\n"})),
            (Names{"c", "a", "b"}));
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: b}, {name: c}]\n", "delegates: [{name: a, before: c}]\n"})),
            (Names{"b", "a", "c"}));
}

TEST(MergeTest, BeforeTheCpuIsLast) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: b}]\n", "delegates: [{name: a, before: cpu}]\n"})),
            (Names{"b", "a"}));
}

TEST(MergeTest, BeforeMayNameADelegateOfTheSameLayer) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}, {name: c, before: b}, {name: b, before: a}]\n"})),
            (Names{"c", "b", "a"}));
}

TEST(MergeTest, SeveralMayStandBeforeTheSame) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}]\n", "delegates: [{name: x, before: a}, {name: y, before: a}]\n"})),
            (Names{"x", "y", "a"}));
}

TEST(MergeTest, LongChainOfBeforeIsApplied) {
  std::string text = "delegates: [";
  Names expected;
  for (int i = 0; i < 2500; ++i) {
    text += "{name: d" + std::to_string(i) + ", before: d" + std::to_string(i + 1) + "}, ";
    expected.push_back("d" + std::to_string(i));
  }
  expected.push_back("d2500");
  EXPECT_EQ(NamesOf(Merged({text + "{name: d2500}]\n"})), expected);
}

TEST(MergeTest, BeforeInACircleIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, before: b}, {name: b, before: c}, {name: c, before: a}]\n"),
            "t.yaml:2:31: 'before' forms a cycle: 'a' before 'b'\n"
            "t.yaml:2:53: 'before' forms a cycle: 'b' before 'c'\n"
            "t.yaml:2:75: 'before' forms a cycle: 'c' before 'a'");
}

TEST(MergeTest, BeforeAnUnknownNameIsRefusedWithTheNearestMatch) {
  const Result<Config> config =
      Layers({"delegates: [{name: npu0}, {name: b}]\n", "delegates: [{name: c, before: npu}]\n"});
  EXPECT_EQ(config.status().ToString(),
            "1.yaml:2:31: 'before' must name a delegate of this layer or of one below, not 'npu'; did you mean 'npu0'? "
            "(listed: npu0, b, c)");
}

TEST(MergeTest, BeforeItselfIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, before: a}]\n"),
            "t.yaml:2:31: a delegate cannot be before itself");
}

TEST(MergeTest, EmptyListTakesAllDelegatesAway) {
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}]\n", "delegates: []\n"})), Names{});
  EXPECT_EQ(NamesOf(Merged({"delegates: [{name: a}]\n", "delegates: []\n", "delegates: [{name: b}]\n"})), Names{"b"});
}

TEST(MergeTest, WrongValueIsFoundWhereALaterLayerHidesIt) {
  const Result<Config> config = Layers({"fallback: gpu\n", "fallback: none\n"});
  EXPECT_EQ(config.status().ToString(),
            "0.yaml:2:11: 'fallback' must be one of cpu, none, not 'gpu'; did you mean 'cpu'?");
}

TEST(MergeTest, ProblemsOfAllLayersAreReportedAtOnce) {
  EXPECT_EQ(Layers({"fallback: x\n", "fallback: [\n", "cpu: {threads: 0}\n"}).status().ToString(),
            "0.yaml:2:11: 'fallback' must be one of cpu, none, not 'x'\n"
            "1.yaml:3:1: expected ',' or ']' here\n"
            "2.yaml:2:16: 'threads' must be auto or a whole number from 1 to 1024, not '0'");
}

TEST(MergeTest, R67_BadLayerLeavesAnEarlierConfigAlone) {
  ConfigLoader loader;
  loader.AddText("good.yaml", "version: 1\nfallback: none\n");
  const Result<Config> before = loader.Finish();
  ASSERT_TRUE(before.ok());
  loader.AddText("bad.yaml", "version: 1\nfallback: gpu\n");
  EXPECT_FALSE(loader.Finish().ok());
  EXPECT_EQ(*before->fallback, Fallback::kDisabled);
}

TEST(MergeTest, ConfigsWithTheSameValuesAreEqualWhereverTheyStand) {
  EXPECT_EQ(Good("version: 1\nfallback: none\n"), Good("version: 1\n\n\nfallback:   none\n"));
  EXPECT_FALSE(Good("version: 1\nfallback: none\n") == Good("version: 1\n"));
}

}  // namespace
}  // namespace deputy::host
