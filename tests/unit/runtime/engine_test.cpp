// From a configuration to opened delegates and scan options, with delegates of the application alone.
#include "runtime/engine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "config/loader.hpp"
#include "runtime/context_state.hpp"
#include "runtime/paths.hpp"
#include "runtime/scan.hpp"
#include "support/digits.hpp"
#include "support/relu_delegate.hpp"

namespace deputy::host {
namespace {

Config Read(const std::string& text) {
  ConfigLoader loader;
  loader.AddText("t.yaml", "version: 1\n" + text);
  Result<Config> config = loader.Finish();
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  return config.ok() ? *std::move(config) : Config();
}

class EngineTest : public testing::Test {
 protected:
  void Add(const std::string& id, const std::string& before = "") {
    auto made = MakeInProcessPlugin(std::make_shared<ReluDelegate>(), id);
    state_.added.push_back({{made.plugin, std::move(made.keep), id}, before});
  }
  const Engine& Open(const std::string& config = "") {
    state_.config = Read("plugins: {paths: [/nonexistent]}\n" + config);
    Result<std::shared_ptr<Engine>> engine = OpenEngine(state_);
    error_ = engine.status().ToString();
    engine_ = engine.ok() ? *engine : std::make_shared<Engine>();
    return *engine_;
  }

  Context::State state_;
  std::shared_ptr<Engine> engine_;
  std::string error_;
  LogLines log_;
};

TEST_F(EngineTest, ADelegateStandsBeforeTheOneThatItNamesAndTheCpuIsLast) {
  Add("a");
  Add("b", "a");
  Add("c", "absent");
  std::vector<std::string> names;
  for (const HostedDelegate& delegate : Open().delegates) names.push_back(delegate->name());
  EXPECT_EQ(names, (std::vector<std::string>{"b", "a", "c", "cpu"})) << error_;
}

TEST_F(EngineTest, TwoDelegatesOfOneNameAreRefused) {
  Add("npu");
  Open("delegates: [{name: npu}]\n");
  EXPECT_EQ(error_, "api: the delegate name 'npu' is already in use");
}

TEST_F(EngineTest, ARuleMayNameAnyDelegateThatIsListedOrAddedInCode) {
  const std::string rule = "placement: {rules: [{ops: Add, avoid: npu0}]}\n";
  Open("delegates: [{name: npu1}]\n" + rule);
  EXPECT_EQ(error_, "t.yaml:4:39: no delegate is called 'npu0'; did you mean 'npu1'? (known: npu1, cpu)");
  const Result<Context> context = Context::FromYamlText("t.yaml", "version: 1\n\ndelegates: [{name: npu1}]\n" + rule);
  EXPECT_EQ(context->Check().ToString(), error_);
  for (const bool replaced : {true, false}) {
    state_.replaced = replaced;
    Open("delegates: [{name: npu0, enabled: false}]\n" + rule);
    EXPECT_EQ(error_, "ok");
  }
  state_.device_infos.emplace_back().name = "npu0";
  Open(rule);
  EXPECT_EQ(error_, "ok") << "that no plugin offers it is a warning";
  state_.device_infos.clear();
  Add("npu0");
  Open(rule);
  EXPECT_EQ(error_, "ok");
}

TEST_F(EngineTest, ARuleForAnAbsentDelegateIsLoggedAndDropped) {
  Add("a");
  const Engine& engine =
      Open("delegates: [{name: npu0}]\nplacement: {rules: [{ops: Add, to: npu0}, {ops: Mul, to: a}]}\n");
  ASSERT_EQ(engine.placement.rules.size(), 1u) << error_;
  EXPECT_EQ(engine.placement.rules[0].to, "a");
  EXPECT_EQ(log_.Count("the rule has no effect, because 'npu0' is not in use"), 1u);
}

TEST_F(EngineTest, InCheckModeAFailureEndsTheRun) {
  Add("a");
  EXPECT_TRUE(Open().delegates[0].health->handling().falls_back) << error_;
  setenv("DEPUTY_CHECK", "1", 1);
  EXPECT_FALSE(Open().delegates[0].health->handling().falls_back) << error_;
  unsetenv("DEPUTY_CHECK");
}

TEST(ScanOptionsTest, FoldersTimeoutAndTrustAreThoseOfTheConfiguration) {
  const ScanOptions strict = MakeScanOptions(
      Read("plugins: {paths: [$deputy/plugins, /opt], trust: probe, probe_timeout: 1.5s, sandbox: false}\n"));
  EXPECT_EQ(strict.paths, (std::vector<std::filesystem::path>{PrivateFolder() / "plugins", "/opt"}));
  EXPECT_EQ(strict.worker, PrivateFolder() / "deputy-worker");
  EXPECT_EQ(strict.probe_timeout.count(), 1500);
  EXPECT_FALSE(strict.sandbox);
  EXPECT_TRUE(strict.probe && strict.refuse_untrusted);
  const ScanOptions lenient = MakeScanOptions(Read("plugins: {trust: any}\n"));
  EXPECT_FALSE(lenient.probe || lenient.refuse_untrusted);
}

TEST(CacheFolderTest, AutoIsTheUsersAndAnythingElseIsAsWritten) {
  const auto automatic = [](const char* cache, const char* home) {
    cache == nullptr ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", cache, 1);
    home == nullptr ? unsetenv("HOME") : setenv("HOME", home, 1);
    return CacheFolder("auto").value_or("none");
  };
  EXPECT_EQ(automatic("/c", "/h"), "/c/deputy");
  EXPECT_EQ(automatic("relative", "/h"), "/h/.cache/deputy");
  EXPECT_EQ(automatic(nullptr, nullptr), "none");
  EXPECT_EQ(CacheFolder("off"), std::nullopt);
  EXPECT_EQ(CacheFolder("some/where"), "some/where");
}

}  // namespace
}  // namespace deputy::host
