// Short ways to load a configuration in a test: one text called "t.yaml", with --set behind it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/loader.hpp"

namespace deputy::host::testing {

using Settings = std::vector<std::string>;

inline Result<Config> Load(std::string_view text, const Settings& settings = {}) {
  ConfigLoader loader;
  loader.AddText("t.yaml", text, "/base");
  for (const std::string& setting : settings) loader.AddSetting(setting);
  return loader.Finish();
}

// All problems, one a line; empty if there are none.
inline std::string ProblemsOf(std::string_view text, const Settings& settings = {}) {
  const Result<Config> config = Load(text, settings);
  return config.ok() ? "" : config.status().ToString();
}

// A configuration that must be good.
inline Config Good(std::string_view text, const Settings& settings = {}) {
  Result<Config> config = Load(text, settings);
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  return config.ok() ? *std::move(config) : Config();
}

inline bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline std::vector<std::string> NamesOf(const Config& config) {
  std::vector<std::string> names;
  for (const DelegateConfig& delegate : config.delegates) names.push_back(*delegate.name);
  return names;
}

// Every key that is available, with values that are not the defaults.
inline constexpr std::string_view kEverything = R"(version: 1
plugins:
  paths: [./plugins, $deputy/plugins]     # comment
  trust: any
  auto: last
  probe_timeout: 1.5s
delegates:
  - name: npu0
    delegate: sim_npu
    device: 1
    enabled: false
    required: true
    options:
      frequency: high
      clock: 800MHz
      level: 3
      label: "3"
      misbehave: {stage: run, after_n: 2}
    rules: {allow_ops: [Conv, Relu], deny_ops: [Softmax], nodes: ["backbone/*"], deny_nodes: "x*"}
    min_nodes: 2
    min_flops: 1000000
  - name: onednn
    options: {threads: 2}
cpu: {threads: 2}
fallback: none
placement: {policy: priority, rules: [{nodes: "*/nms*", to: cpu}, {ops: [Gemm], domains: ai.onnx, avoid: npu0}]}
models: {map_files: false}
passes: {fold_batch_norm: false, merge_duplicates: false, fold_budget: 2GB}
limits: {loop_steps: none, timeout: 30s, memory: 2GB}
cache: {dir: ./cache, max: 512MiB}
log: {level: warning, delegates: {npu0: debug}}
debug: {check: true, dump: [graph, tensors], dump_dir: ./dump}
)";

}  // namespace deputy::host::testing
