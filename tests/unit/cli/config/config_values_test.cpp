#include "cli/config/config_values.hpp"

#include <gtest/gtest.h>

#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

TEST(ConfigValues, PathsAreThoseOfTheConfiguration) {
  const Result<Context> context = Context::FromYamlText("c.yaml", R"(version: 1
delegates:
  - name: npu0
    options: {frequency: high, faults: "a  # b \" c"}
    rules: {deny_ops: [Conv, Relu], nodes: "x: y  # z"}
  - {name: onednn, enabled: false}
placement: {rules: [{ops: Resize, avoid: npu0}, {nodes: "*/nms*", to: cpu}]}
log: {delegates: {npu0: debug}}
)");
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  std::map<std::string, std::string> values = ValuesOf(context->ShowConfig());
  for (const auto& [path, value] : std::map<std::string, std::string>{
           {"version", "1"},
           {"delegates.npu0.name", "npu0"},
           {"delegates.npu0.options.frequency", "high"},
           {"delegates.npu0.options.faults", R"("a  # b \" c")"},
           {"delegates.npu0.rules.deny_ops", "Conv, Relu"},
           {"delegates.npu0.rules.nodes", R"("x: y  # z")"},
           {"delegates.onednn.enabled", "false"},
           {"placement.rules.0.ops", "Resize"},
           {"placement.rules.0.avoid", "npu0"},
           {"placement.rules.1.nodes", R"("*/nms*")"},
           {"placement.rules.1.to", "cpu"},
           {"log.delegates.npu0", "debug"},
           {"debug.check", "false"},
       })
    EXPECT_EQ(values[path], value) << path;
  for (const auto& [path, value] : values) EXPECT_EQ(value.find(" # c.yaml"), std::string::npos) << path << value;
}

}  // namespace
}  // namespace deputy::cli
