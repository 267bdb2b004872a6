#include "config/show.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Good;

TEST(ShowTest, EveryValueHasItsOrigin) {
  const std::string shown =
      ShowConfig(Good("version: 1\ndelegates:\n  - name: npu0\n    options: {frequency: high}\n", {"cpu.threads=2"}));
  EXPECT_EQ(shown,
            "version: 1  # t.yaml:1\n"
            "plugins:\n"
            "  paths:\n"
            "    - $deputy/plugins  # default\n"
            "  trust: probe  # default\n"
            "  auto: off  # default\n"
            "  sandbox: true  # default\n"
            "  probe_timeout: 2s  # default\n"
            "delegates:\n"
            "  - name: npu0  # t.yaml:3\n"
            "    delegate: npu0  # default\n"
            "    device: 0  # default\n"
            "    enabled: true  # default\n"
            "    required: false  # default\n"
            "    options:\n"
            "      frequency: high  # t.yaml:4\n"
            "    precision: own  # default\n"
            "    priority: 0  # default\n"
            "    min_nodes: 1  # default\n"
            "    min_flops: 0  # default\n"
            "    isolation: auto  # default\n"
            "    timeout: auto  # default\n"
            "    call_timeout: 30s  # default\n"
            "    call_timeout_total: 10min  # default\n"
            "    spin: 50us  # default\n"
            "    memory_limit: 0B  # default\n"
            "    on_failure: next  # default\n"
            "    verify:\n"
            "      when: auto  # default\n"
            "      on_mismatch: next  # default\n"
            "cpu:\n"
            "  threads: 2  # --set cpu.threads\n"
            "fallback: cpu  # default\n"
            "placement:\n"
            "  policy: priority  # default\n"
            "  budget: 1s  # default\n"
            "  margin: 3%  # default\n"
            "  rules: []  # default\n"
            "models:\n"
            "  map_files: true  # default\n"
            "  plans: 16  # default\n"
            "passes:\n"
            "  fold_constants: true  # default\n"
            "  fold_shapes: true  # default\n"
            "  drop_identities: true  # default\n"
            "  merge_duplicates: true  # default\n"
            "  cancel_transposes: true  # default\n"
            "  fold_batch_norm: true  # default\n"
            "  drop_unused: true  # default\n"
            "  fold_budget: 16MB  # default\n"
            "limits:\n"
            "  loop_steps: 100000000  # default\n"
            "  timeout: 0us  # default\n"
            "  memory: 0B  # default\n"
            "cache:\n"
            "  dir: auto  # default\n"
            "  max: 512MB  # default\n"
            "log:\n"
            "  level: info  # default\n"
            "  format: auto  # default\n"
            "debug:\n"
            "  check: false  # default\n"
            "  abort_on_hang: false  # default\n"
            "  dump_dir: auto  # default\n");
}

TEST(ShowTest, DefaultReadsBackAsTheSame) {
  const Config config = *ConfigLoader().Finish();
  EXPECT_EQ(Good(ShowConfig(config)), config);
}

TEST(ShowTest, EverythingReadsBackAsTheSame) {
  const Config config = Good(testing::kEverything);
  EXPECT_EQ(Good(ShowConfig(config)), config) << ShowConfig(config);
}

TEST(ShowTest, AwkwardTextReadsBackAsTheSame) {
  const Config config = Good(
      "version: 1\n"
      "placement: {rules: [{ops: x, avoid: a, nodes: [\"\\e\\x7f\\x85 \\\" \\\\ \\n\\t\", \"~\", null_, \"null\", '- "
      "x', \"a: b #c\", "
      "\xc3\xa9]}]}\n"
      "delegates:\n"
      "  - name: a\n"
      "    options:\n"
      "      plain: a, b} it's -- [x] \"y\"\n"
      "      tabbed: a\tb\n"
      "      folded: a\n"
      "        b\n"
      "      block: |\n"
      "        two\n"
      "        lines\n"
      "      empty: ''\n"
      "      number: \"5\"\n",
      {"delegates.a.options.set=*x: y #z", "delegates.a.options.flow=\"x\\ty\""});
  EXPECT_EQ(Good(ShowConfig(config)), config) << ShowConfig(config);
}

TEST(ShowTest, WrittenEmptyListIsKept) {
  const Config config = Good("version: 1\nplugins: {paths: []}\n");
  EXPECT_TRUE(Contains(ShowConfig(config), "  paths: []  # t.yaml:2\n"));
  EXPECT_TRUE(Good(ShowConfig(config)).plugins.paths.empty());
}

TEST(ShowTest, SourceWithALineBreakStaysOneComment) {
  ConfigLoader loader;
  loader.AddText("a\nversion: 2\n", "version: 1\n");
  EXPECT_TRUE(Contains(ShowConfig(*loader.Finish()), "version: 1  # a\\x0aversion: 2\\x0a:1\n"));
}

TEST(ShowTest, ValuesAreListedByTheirPathsWithoutOrigins) {
  std::map<std::string, std::string> values;
  for (PathValue& value : ListValues(Good(R"(version: 1
delegates:
  - name: npu0
    options: {frequency: high, faults: "a  # b \" c"}
    rules: {deny_ops: [Conv, Relu], nodes: "x: y  # z"}
  - {name: onednn, enabled: false}
placement: {rules: [{ops: Resize, avoid: npu0}, {nodes: "*/nms*", to: cpu}]}
log: {delegates: {npu0: debug}}
)")))
    EXPECT_TRUE(values.emplace(value.path, value.value).second) << value.path;
  for (const auto& [path, value] : std::map<std::string, std::string>{
           {"version", "1"},
           {"delegates", "npu0, onednn"},
           {"delegates.npu0.name", "npu0"},
           {"delegates.npu0.options.frequency", "high"},
           {"delegates.npu0.options.faults", R"("a  # b \" c")"},
           {"delegates.npu0.rules.deny_ops", "Conv, Relu"},
           {"delegates.npu0.rules.nodes", R"("x: y  # z")"},
           {"delegates.npu0.verify.when", "auto"},
           {"delegates.onednn.enabled", "false"},
           {"placement.rules.0.ops", "Resize"},
           {"placement.rules.0.avoid", "npu0"},
           {"placement.rules.1.nodes", R"("*/nms*")"},
           {"placement.rules.1.to", "cpu"},
           {"log.delegates.npu0", "debug"},
           {"debug.check", "false"},
       })
    EXPECT_EQ(values[path], value) << path;
  for (const auto& [path, value] : values) EXPECT_EQ(value.find(" # t.yaml"), std::string::npos) << path << value;
}

}  // namespace
}  // namespace deputy::host
