// One delegate in several languages and built by several compilers: each is a plugin that the host finds, asks,
// compiles for and runs, and each gives what the CPU gives. Frozen plugins of older versions of the ABI are the same
// delegate.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

const std::string kModel = DEPUTY_TEST_MODELS "/small.onnx";

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

// A plugin file; its delegate is called as the file is.
struct Built {
  std::string file;
  std::string id() const { return std::filesystem::path(file).stem(); }
};
void PrintTo(const Built& built, std::ostream* out) { *out << built.id(); }

std::vector<Built> Files(const std::string& list) {
  std::vector<Built> files;
  for (const std::string& file : Split(list)) files.push_back({file});
  return files;
}

std::string NameOf(const testing::TestParamInfo<Built>& info) { return info.param.id(); }

Tensor Numbers(uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, {64, 65});
  for (float& value : tensor.mutable_values<float>()) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1u << 23) - 1;
  }
  return tensor;
}

std::vector<std::vector<float>> Predict(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  const Status status = session.Predict(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<std::vector<float>> values;
  for (const Tensor& output : outputs)
    values.emplace_back(output.values<float>().begin(), output.values<float>().end());
  return values;
}

class SmallDelegate : public testing::TestWithParam<Built> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(GetParam().file)) << GetParam().file << " was not built";
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  }
  void TearDown() override { SetLogSink(nullptr); }

  Result<Context> WithPlugin(const std::string& options) const {
    const std::string folder = std::filesystem::path(GetParam().file).parent_path();
    return Context::FromYamlText("test.yaml", "version: 1\nplugins: {paths: ['" + folder +
                                                  "']}\ndelegates:\n  - {name: " + GetParam().id() +
                                                  ", required: true, options: {" + options + "}}\n");
  }
  // Fails the test where the model cannot be built.
  Model Build(const std::string& options) const {
    Model model;
    Result<Context> context = WithPlugin(options);
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    if (!context.ok()) return model;
    const Status status = model.Build(kModel, *context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return model;
  }
  static Model OnTheCpu() {
    Model model;
    EXPECT_TRUE(model.Build(kModel, Context()).ok());
    return model;
  }
  std::vector<std::string> NodesOf(const PlacementReport& report) const {
    std::vector<std::string> names;
    for (const NodeReport& node : report.nodes)
      if (node.delegate == GetParam().id()) names.push_back(node.name);
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_P(SmallDelegate, TakesWhatItKnows) {
  const Result<PlacementReport> report = Build("").Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(NodesOf(*report), (std::vector<std::string>{"joined", "positive", "shifted", "sum", "z"}));
}

TEST_P(SmallDelegate, SaysWhyNot) {
  const Result<PlacementReport> report = Build("").Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const NodeReport& node : report->nodes) {
    if (node.name != "broadcast") continue;
    ASSERT_FALSE(node.refusals.empty());
    EXPECT_EQ(node.refusals[0].reason, "shape");
    EXPECT_EQ(node.refusals[0].detail, "both sides must have one shape");
  }
}

TEST_P(SmallDelegate, GivesWhatTheCpuGives) {
  const std::vector<Tensor> inputs = {Numbers(1), Numbers(2)};
  Result<Session> mine = Build("").CreateSession(), cpu = OnTheCpu().CreateSession();
  ASSERT_TRUE(mine.ok() && cpu.ok());
  EXPECT_EQ(Predict(*mine, inputs), Predict(*cpu, inputs));
}

TEST_P(SmallDelegate, TwoContextsDoNotMeet) {
  const Model model = Build("grain: 16");
  Result<Session> first = model.CreateSession(), second = model.CreateSession(), cpu = OnTheCpu().CreateSession();
  ASSERT_TRUE(first.ok() && second.ok() && cpu.ok());
  const std::vector<Tensor> ones = {Numbers(3), Numbers(4)}, others = {Numbers(5), Numbers(6)};
  const auto want_ones = Predict(*cpu, ones), want_others = Predict(*cpu, others);
  std::atomic<int> wrong = 0;
  const auto run = [&wrong](Session& session, const std::vector<Tensor>& inputs, const auto& want) {
    for (int i = 0; i < 20; ++i)
      if (Predict(session, inputs) != want) ++wrong;
  };
  std::thread other([&] { run(*second, others, want_others); });
  run(*first, ones, want_ones);
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(SmallDelegate, AnOptionSteersIt) {
  const Result<PlacementReport> report = Build("only: Relu").Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(NodesOf(*report), (std::vector<std::string>{"positive", "z"}));
}

TEST_P(SmallDelegate, OptionsAreReadBack) {
  const Result<PlacementReport> report = Build("grain: 77, only: Add").Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  std::vector<std::pair<std::string, std::string>> options = report->delegates[0].options;
  std::sort(options.begin(), options.end());
  EXPECT_EQ(options, (std::vector<std::pair<std::string, std::string>>{{"grain", "77"}, {"only", "Add"}}));
}

TEST_P(SmallDelegate, AnOptionOutOfRangeIsRefused) {
  Model model;
  Result<Context> context = WithPlugin("grain: 0");
  const Status status = context.ok() ? model.Build(kModel, *context) : context.status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find("grain"), std::string::npos) << status.ToString();
}

// A plugin of another 0.x: neither run nor misread.
class RefusedDelegate : public SmallDelegate {};

TEST_P(RefusedDelegate, IsNotLoadedAndTheReasonHasBothVersions) {
  Model model;
  const Result<Context> context = WithPlugin("");
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  const Status status = model.Build(kModel, *context);
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  const Result<PluginListing> listing = context->ListPlugins({});
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  ASSERT_EQ(listing->plugins.size(), 1U);
  EXPECT_FALSE(listing->plugins[0].accepted);
  const std::string of = GetParam().id().substr(GetParam().id().find('_') + 1);  // "0_1"
  const std::string version = of.substr(0, of.find('_')) + "." + of.substr(of.find('_') + 1);
  EXPECT_EQ(listing->plugins[0].reason.find("is built for plugin ABI " + version + ", this host has "), 0U)
      << listing->plugins[0].reason;
}

INSTANTIATE_TEST_SUITE_P(Frozen, RefusedDelegate, testing::ValuesIn(Files(DEPUTY_TEST_REFUSED)), NameOf);

INSTANTIATE_TEST_SUITE_P(Languages, SmallDelegate, testing::ValuesIn(Files(DEPUTY_TEST_LANGUAGES)), NameOf);
INSTANTIATE_TEST_SUITE_P(Frozen, SmallDelegate, testing::ValuesIn(Files(DEPUTY_TEST_FROZEN)), NameOf);

}  // namespace
}  // namespace deputy
