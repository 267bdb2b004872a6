// A context as an application makes it of configurations, and what it shows of itself.
#include <gtest/gtest.h>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

constexpr char kNpu[] = "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS
                        "]}\ncache: {dir: \"off\"}\nlog: {level: error}\n"
                        "delegates: [{name: npu0, delegate: sim_npu, options: {frequency: high}}]\n";

TEST(ConfiguredContext, TheConfigurationShowsOptionsThatWereSetLater) {
  Result<Context> context = Context::FromYamlText("t.yaml", kNpu);
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  ASSERT_TRUE(context->Load().ok());
  EXPECT_NE(context->ShowConfig().find("frequency: high  # t.yaml:5"), std::string::npos) << context->ShowConfig();
  EXPECT_FALSE(context->SetOption("npu0", "frequency", "fast").ok());
  EXPECT_NE(context->ShowConfig().find("frequency: high"), std::string::npos) << "a refused value changes nothing";
  const Status set = context->SetOption("npu0", "frequency", "extreme");
  ASSERT_TRUE(set.ok()) << set.ToString();
  EXPECT_NE(context->ShowConfig().find("frequency: extreme  # api delegates.npu0.options.frequency"), std::string::npos)
      << context->ShowConfig();
}

TEST(ConfiguredContext, TheNameOfAShippedConfigurationIsNoPathAndTheErrorSaysHowToReadIt) {
  const Result<Context> context = Context::FromYaml("cpu-only");
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().code(), StatusCode::kConfig);
  EXPECT_NE(context.status().ToString().find("Context::FromLayers({.files = {\"cpu-only\"}})"), std::string::npos)
      << context.status().ToString();
  EXPECT_TRUE(Context::FromLayers({{"cpu-only"}, {}}).ok());
  EXPECT_EQ(Context::FromYaml("no-such").status().ToString().find("FromLayers"), std::string::npos);
}

TEST(ConfiguredContext, FallbackAndMeasuredPlacementsAreThoseOfTheConfiguration) {
  const Result<Context> plain = Context::FromYamlText("t.yaml", "version: 1\n", {"placement.policy=priority"});
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_TRUE(plain->HasFallback());
  EXPECT_FALSE(plain->MeasuresPlacements());
  const Result<Context> other =
      Context::FromYamlText("t.yaml", "version: 1\nfallback: none\nplacement: {policy: measured}\n");
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  EXPECT_FALSE(other->HasFallback());
  EXPECT_TRUE(other->MeasuresPlacements());
}

}  // namespace
}  // namespace deputy
