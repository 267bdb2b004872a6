// Configurations through the C++ API: what is not available is refused as it is by the command, and the delegates of
// the application count as delegates that a rule may name.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "deputy/deputy.hpp"
#include "deputy/sdk/sdk.hpp"

namespace deputy {
namespace {

// Takes no node.
class IdleDelegate final : public sdk::PartitionDelegate {
 public:
  sdk::Verdict Supports(const sdk::NodeView&) override { return sdk::Verdict::No(sdk::Reason::kOperatorUnknown); }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView&) override {
    return sdk::Status(sdk::Code::kNotSupported, "nothing was taken");
  }
};

constexpr const char* kHead = "version: 1\nplugins: {paths: [/nonexistent]}\n";

Context Read(const std::string& text) {
  Result<Context> context = Context::FromYamlText("t.yaml", kHead + text);
  EXPECT_TRUE(context.ok()) << context.status().ToString();
  return context.ok() ? *std::move(context) : Context();
}

TEST(SettingsTest, WhatIsNotAvailableIsRefusedByName) {
  const Result<Context> context =
      Context::FromYamlText("t.yaml", std::string(kHead) + "delegates: [{name: a, isolation: none}]\n");
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().code(), StatusCode::kConfig);
  EXPECT_EQ(context.status().ToString(), "t.yaml:3:23: 'isolation' is not available in this version");
  EXPECT_FALSE(Context::FromYaml("", {"log.format=json"}).ok());
}

TEST(SettingsTest, ARuleThatNamesNoDelegateIsRefused) {
  for (const char* rule : {"to: npu1", "avoid: npu1"}) {
    Context context = Read(std::string("delegates: [{name: npu0}]\nplacement: {rules: [{ops: Add, ") + rule + "}]}\n");
    const std::string column = std::string(rule) == "to: npu1" ? "36" : "39";
    const std::string message =
        "t.yaml:4:" + column + ": no delegate is called 'npu1'; did you mean 'npu0'? (known: npu0, cpu)";
    EXPECT_EQ(context.Check().ToString(), message);
    const Status loaded = context.Load();
    EXPECT_EQ(loaded.code(), StatusCode::kConfig);
    EXPECT_EQ(loaded.ToString(), message);
    EXPECT_EQ(Model().Build(DEPUTY_TEST_DIGITS, context).code(), StatusCode::kConfig);
  }
}

TEST(SettingsTest, ADelegateAddedInCodeMayBeNamed) {
  Context context = Read("placement: {rules: [{ops: Add, avoid: in_process}]}\n");
  EXPECT_FALSE(context.Check().ok());
  context.AddDelegate(std::make_shared<IdleDelegate>());
  EXPECT_TRUE(context.Check().ok()) << context.Check().ToString();
  EXPECT_TRUE(context.Load().ok());
}

TEST(SettingsTest, ADelegateSetInCodeMayBeNamed) {
  Context context = Read("placement: {rules: [{ops: Add, avoid: in_process}]}\n");
  context.SetDelegate(std::make_shared<IdleDelegate>());
  EXPECT_TRUE(context.Load().ok());
}

TEST(SettingsTest, ADeviceInfoMayBeNamed) {
  Context context = Read("placement: {rules: [{ops: Add, avoid: mine}]}\n");
  DeviceInfo info;
  info.name = "mine";
  info.delegate = "not_installed";
  context.MutableDeviceInfo().push_back(info);
  EXPECT_TRUE(context.Check().ok()) << context.Check().ToString();
  EXPECT_TRUE(context.Load().ok());
}

TEST(SettingsTest, ADeviceInfoThatIsAddedAfterLoadingCounts) {
  Context context;
  ASSERT_TRUE(context.Load().ok());
  DeviceInfo info;
  info.name = "nowhere";
  info.required = true;
  context.MutableDeviceInfo().push_back(info);
  EXPECT_EQ(context.Load().code(), StatusCode::kPlugin);
}

// The delegates of the configuration stay known where the CPU works alone.
TEST(SettingsTest, AListedDelegateThatIsNotInUseMayBeNamedAndItsRuleHasNoEffect) {
  for (const char* delegate : {"{name: npu0}", "{name: npu0, enabled: false}"}) {
    Context context =
        Read(std::string("delegates: [") + delegate + "]\nplacement: {rules: [{nodes: \"*\", to: npu0}]}\n");
    const Status built = Model().Build(DEPUTY_TEST_DIGITS, context);
    EXPECT_TRUE(built.ok()) << built.ToString();
  }
  Context context = Read("delegates: [{name: npu0}]\nplacement: {rules: [{nodes: \"*\", to: npu0}]}\n");
  context.SetDelegate(nullptr);
  const Status built = Model().Build(DEPUTY_TEST_DIGITS, context);
  EXPECT_TRUE(built.ok()) << built.ToString();
}

}  // namespace
}  // namespace deputy
