// --set and the application's settings.
#include "config/setting_path.hpp"

#include <gtest/gtest.h>

#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Good;
using testing::NamesOf;
using testing::ProblemsOf;
using Names = std::vector<std::string>;

constexpr const char* kTwo =
    "version: 1\ndelegates:\n  - name: npu0\n    options: {frequency: high}\n  - name: onednn\n";

TEST(SettingPathTest, OptionOfADelegateIsSetByName) {
  const Config config = Good(kTwo, {"delegates.npu0.options.frequency=low"});
  EXPECT_EQ(*config.delegates[0].options[0], (OptionValue{"low", false}));
  EXPECT_EQ(config.delegates[0].options[0].origin().ToString(), "--set delegates.npu0.options.frequency");
  EXPECT_EQ(config.delegates[0].name.origin.ToString(), "t.yaml:3:11");
}

TEST(SettingPathTest, NewOptionIsAdded) {
  EXPECT_EQ(Good(kTwo, {"delegates.onednn.options.threads=2"}).delegates[1].options[0]->text, "2");
}

TEST(SettingPathTest, DottedOptionTakesTheRestOfThePath) {
  const Config config = Good(kTwo, {"delegates.npu0.options.misbehave.stage=run"});
  EXPECT_EQ(config.delegates[0].options[1].name, "misbehave.stage");
}

TEST(SettingPathTest, LaterSettingWins) { EXPECT_EQ(*Good(kTwo, {"cpu.threads=2", "cpu.threads=3"}).cpu.threads, 3); }

TEST(SettingPathTest, SettingGoesOverFilesWhateverTheOrderOfCalls) {
  ConfigLoader loader;
  loader.AddApiSetting("cpu.threads", "4");
  loader.AddSetting("cpu.threads=3");
  loader.AddSetting("fallback=none");
  loader.AddText("t.yaml", "version: 1\ncpu: {threads: 2}\nfallback: cpu\n");
  const Result<Config> config = loader.Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(*config->cpu.threads, 4);
  EXPECT_EQ(config->cpu.threads.origin.ToString(), "api cpu.threads");
  EXPECT_EQ(*config->fallback, Fallback::kDisabled);
}

TEST(SettingPathTest, DelegateIsMovedWithBefore) {
  EXPECT_EQ(NamesOf(Good(kTwo, {"delegates.onednn.before=npu0"})), (Names{"onednn", "npu0"}));
}

TEST(SettingPathTest, ListIsGivenAsFlowYaml) {
  const Config config = Good(kTwo, {"delegates.npu0.rules.deny_ops=[Softmax, \"Top K\"]"});
  ASSERT_EQ(config.delegates[0].rules.deny_ops.size(), 2u);
  EXPECT_EQ(*config.delegates[0].rules.deny_ops[1], "Top K");
}

TEST(SettingPathTest, WholeDelegateIsGivenAsFlowYaml) {
  const Config config = Good(kTwo, {"delegates.npu0={enabled: false, device: 2}"});
  EXPECT_FALSE(*config.delegates[0].enabled);
  EXPECT_EQ(*config.delegates[0].device, "2");
}

TEST(SettingPathTest, GlobNeedsNoQuotes) {
  EXPECT_EQ(*Good(kTwo, {"delegates.npu0.rules.nodes=*/head: #1"}).delegates[0].rules.nodes[0], "*/head: #1");
}

TEST(SettingPathTest, ValueMayHoldEqualsSigns) {
  EXPECT_EQ(Good(kTwo, {"delegates.npu0.options.x=a=b"}).delegates[0].options[1]->text, "a=b");
}

TEST(SettingPathTest, QuotedNumberIsText) {
  EXPECT_EQ(*Good(kTwo, {"delegates.npu0.options.x=\"3\""}).delegates[0].options[1], (OptionValue{"3", true}));
  EXPECT_EQ(*Good(kTwo, {"delegates.npu0.options.x=\"\""}).delegates[0].options[1], (OptionValue{"", true}));
}

TEST(SettingPathTest, NameWithDotsIsFound) {
  constexpr const char* kDotted = "version: 1\ndelegates: [{name: npu}, {name: npu.v2}]\n";
  const Config config = Good(kDotted, {"delegates.npu.v2.device=3", "delegates.npu.device=1"});
  EXPECT_EQ(*config.delegates[0].device, "1");
  EXPECT_EQ(*config.delegates[1].device, "3");
}

TEST(SettingPathTest, LogLevelsTakeTheRestOfThePath) {
  EXPECT_EQ(Good(kTwo, {"log.delegates.npu.v2=debug"}).log.delegates[0].name, "npu.v2");
}

TEST(SettingPathTest, R64_UnknownDelegateIsRefusedWithTheNearestMatch) {
  EXPECT_EQ(ProblemsOf(kTwo, {"delegates.npuo.device=1"}),
            "--set delegates.npuo.device: no delegate is called 'npuo'; did you mean 'npu0'? (listed: npu0, onednn)");
  EXPECT_EQ(ProblemsOf("version: 1\n", {"delegates.npuo.device=1"}),
            "--set delegates.npuo.device: no delegate is called 'npuo' (none is listed)");
}

TEST(SettingPathTest, NewDelegateSaysItsPlugin) {
  const Config config = Good(kTwo, {"delegates.gpu.delegate=sim_gpu", "delegates.gpu.device=1"});
  EXPECT_EQ(NamesOf(config), (Names{"npu0", "onednn", "gpu"}));
  EXPECT_EQ(*config.delegates[2].device, "1");
}

TEST(SettingPathTest, EmptyListOfDelegatesIsTheCpuAlone) {
  EXPECT_TRUE(Good(kTwo, {"delegates=[]"}).delegates.empty());
}

TEST(SettingPathTest, UnknownDelegateIsNotReportedBehindAnUnreadableFile) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: [", {"delegates.npu0.device=1"}),
            "t.yaml:2:12: expected ',' or ']' here");
}

TEST(SettingPathTest, R52_UnknownKeyIsRefusedWithTheNearestMatch) {
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu.thread=2"}),
            "--set cpu.thread: unknown key 'thread'; did you mean 'threads'? (accepted here: threads)");
  EXPECT_TRUE(Contains(ProblemsOf(kTwo, {"delegates.npu0.min_node=2"}),
                       "--set delegates.npu0.min_node: unknown key 'min_node'; did you mean 'min_nodes'? "));
}

TEST(SettingPathTest, WrongValueIsRefused) {
  EXPECT_EQ(
      ProblemsOf(kTwo, {"cpu.threads=many", "cpu={threads: 0}"}),
      "--set cpu.threads: 'threads' must be auto or a whole number from 1 to 1024, not 'many': that is not a number\n"
      "--set cpu: 'threads' must be auto or a whole number from 1 to 1024, not '0'");
}

TEST(SettingPathTest, SettingWithoutAValueIsRefused) {
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu.threads"}), "--set cpu.threads: write it as KEY=VALUE, such as cpu.threads=2");
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu.threads="}),
            "--set cpu.threads: there is no value after '='; write \"\" for an empty text");
  EXPECT_EQ(ProblemsOf(kTwo, {"fallback=~"}), "--set fallback: 'fallback' must be one of cpu, none, not nothing");
}

TEST(SettingPathTest, PathWithEmptyPartsIsRefused) {
  constexpr const char* kMessage =
      ": the path must be keys with dots between them, such as delegates.npu0.options.frequency";
  for (const std::string path : {"", "cpu..threads", ".cpu", "cpu.", "delegates.", "delegates..x", "delegates.npu0."})
    EXPECT_EQ(ProblemsOf(kTwo, {path + "=1"}), "--set " + path + kMessage);
}

TEST(SettingPathTest, NameOfADelegateCannotBeSet) {
  EXPECT_EQ(ProblemsOf(kTwo, {"delegates.npu0.name=x"}),
            "--set delegates.npu0.name: the name of a delegate is its address and cannot be set");
}

TEST(SettingPathTest, DelegateIsNoSingleValue) {
  EXPECT_EQ(ProblemsOf(kTwo, {"delegates.npu0=off"}),
            "--set delegates.npu0: a delegate is a mapping, such as {enabled: false}; one of its keys is set with "
            "'delegates.npu0.KEY'");
}

TEST(SettingPathTest, R54_YamlBehindASettingHasTheSameLimits) {
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu=[&x y]"}),
            "--set cpu: anchors are not accepted: '&x'\n"
            "--set cpu: 'cpu' must be a mapping, not a list");
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu={threads: 1"}), "--set cpu: expected ',' or '}' here");
  EXPECT_EQ(ProblemsOf(kTwo, {"cpu={threads: 1, threads: 2}"}), "--set cpu: key 'threads' is set twice");
  EXPECT_EQ(ProblemsOf(kTwo, {"fallback=\"cpu"}), "--set fallback: this quote is never closed");
}

TEST(SettingPathTest, R61_BadBytesAreRefused) {
  EXPECT_EQ(ProblemsOf(kTwo, {"fallback=\xff\xff"}), "--set fallback: byte 0xff is not valid UTF-8");
  EXPECT_EQ(ProblemsOf(kTwo, {"fall\x1b"
                              "back=cpu"}),
            "--set fall\\x1bback: control character 0x1b");
}

TEST(SettingPathTest, DeepPathIsRefused) {
  std::string path = "a";
  for (int i = 0; i < 100000; ++i) path += ".a";
  EXPECT_TRUE(Contains(ProblemsOf(kTwo, {path + "=1"}), ": the path is nested too deep"));
}

}  // namespace
}  // namespace deputy::host
