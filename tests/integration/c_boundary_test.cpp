// What the C++ API must not lose on its way through the C API: owners of memory, numbers and names, and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "deputy.h"
#include "deputy/deputy.hpp"
#include "deputy/fields/fields.hpp"
#include "support/relu_delegate.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

class CBoundaryTest : public testing::Test {
 protected:
  CBoundaryTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  }
  ~CBoundaryTest() override { SetLogSink(nullptr); }

  static Session Open(const Context& context = Context()) {
    Model model;
    const Status status = model.Build(DEPUTY_TEST_MODELS "/relu.onnx", context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::move(*model.CreateSession());
  }
  static std::vector<Tensor> Inputs() { return {*Tensor::Allocate(DType::kFloat32, {2, 3})}; }
  static Tensor Owned(std::vector<float>& values, Shape shape, std::shared_ptr<const void> owner) {
    return *Tensor::Wrap(DType::kFloat32, std::move(shape), values.data(), values.size() * sizeof(float),
                         std::move(owner));
  }
};

TEST_F(CBoundaryTest, AnOwnerMayPointIntoTheMemoryOfATensor) {
  Session session = Open();
  const Tensor whole = *Tensor::Allocate(DType::kFloat32, {4, 3});
  float* const part = const_cast<float*>(static_cast<const float*>(whole.data())) + 6;
  const auto wrap = [&](Shape shape) {
    size_t bytes = sizeof(float);
    for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    return *Tensor::Wrap(DType::kFloat32, std::move(shape), part, bytes,
                         std::shared_ptr<const void>(whole.owner(), part));
  };
  part[0] = 7;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session.Predict({wrap({2, 3})}, &outputs).ok());
  EXPECT_EQ(outputs[0].values<float>()[0], 7);
  outputs = {wrap({2, 3})};
  ASSERT_TRUE(session.Predict(Inputs(), &outputs).ok());
  EXPECT_EQ(outputs[0].data(), part);
  EXPECT_EQ(part[0], 0);
  outputs = {wrap({1, 3})};
  ASSERT_TRUE(session.Predict(Inputs(), &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
}

TEST_F(CBoundaryTest, ASessionDoesNotKeepOutputsOfTheApplication) {
  Session session = Open();
  for (const Shape& shape : {Shape{2, 3}, Shape{6}})
    for (const bool as_request : {false, true}) {
      std::vector<float> values(6);
      auto owner = std::make_shared<int>();
      const std::weak_ptr<int> alive = owner;
      std::vector<Tensor> outputs{Owned(values, shape, std::move(owner))};
      if (as_request) {
        RequestOptions options;
        options.outputs = std::move(outputs);
        outputs.clear();
        auto future = session.PredictAsync(Inputs(), std::move(options));
        ASSERT_TRUE(future.ok()) << future.status().ToString();
        outputs = future->get().outputs;
      } else {
        ASSERT_TRUE(session.Predict(Inputs(), &outputs).ok());
      }
      ASSERT_EQ(outputs.size(), 1u);
      EXPECT_EQ(outputs[0].data() == values.data(), shape.size() == 2);
      EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
      outputs.clear();
      EXPECT_TRUE(alive.expired());
    }
}

TEST_F(CBoundaryTest, ARequestTakesAnyNumberOfOutputs) {
  Session session = Open();
  std::vector<float> values(6);
  RequestOptions options;
  options.outputs = {Owned(values, {2, 3}, nullptr), Tensor(), *Tensor::Allocate(DType::kFloat32, {1})};
  auto future = session.PredictAsync(Inputs(), std::move(options));
  ASSERT_TRUE(future.ok()) << future.status().ToString();
  const PredictResult result = future->get();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].data(), values.data());
}

TEST_F(CBoundaryTest, AResultOfPredictValuesIsReplacedAsAnOutput) {
  Session session = Open();
  std::vector<ModelValue> values;
  ASSERT_TRUE(session.PredictValues({Inputs()[0]}, &values).ok());
  Model digits;
  ASSERT_TRUE(digits.Build(DEPUTY_TEST_DIGITS, Context()).ok());
  Session other = *digits.CreateSession();
  std::vector<Tensor> outputs{values[0].tensor()};
  const Status status = other.Predict({*Tensor::Allocate(DType::kFloat32, {1, 1, 28, 28})}, &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(outputs[0].shape().back(), 10);
}

TEST_F(CBoundaryTest, ASessionWaitsForTheRunOfAnotherThread) {
  for (int round = 0; round < 50; ++round) {
    std::promise<void> begun;
    const auto hooks = std::make_shared<ReluHooks>();
    hooks->on_execute = [&](const sdk::RunArgs& args) {
      begun.set_value();
      while (!args.cancelled()) std::this_thread::yield();
      return sdk::Status();
    };
    Context context;
    context.SetDelegate(std::make_shared<ReluDelegate>(hooks));
    auto session = std::make_unique<Session>(Open(context));
    std::thread thread([run = session.get()] {
      std::vector<float> values(6);
      std::vector<Tensor> outputs{Owned(values, {2, 3}, std::make_shared<int>())};
      EXPECT_EQ(run->Predict(Inputs(), &outputs).code(), StatusCode::kCancelled);
    });
    begun.get_future().wait();
    if (round % 2 == 0)
      session = nullptr;
    else
      *session = Session();
    thread.join();
  }
}

// Frees an output that a run has replaced, which still needs the session, and gives others time to free that too.
struct SlowRelease {
  std::atomic<bool> begun{false}, ended{false}, is_session_gone{false};
  static void Run(void* user) {
    auto* const release = static_cast<SlowRelease*>(user);
    release->begun = true;
    for (int i = 0; i < 20000 && !release->is_session_gone; ++i) std::this_thread::yield();
    release->ended = true;
  }
  void Check() {
    EXPECT_TRUE(ended);
    is_session_gone = true;
  }
};

TEST_F(CBoundaryTest, ASessionWaitsForWhatFollowsARun) {
  SlowRelease release;
  auto session = std::make_unique<Session>(Open());
  std::thread thread([&, run = session.get()] {
    std::vector<float> values(6);
    std::vector<Tensor> outputs{Owned(values, {6}, std::shared_ptr<void>(&release, &SlowRelease::Run))};
    EXPECT_TRUE(run->Predict(Inputs(), &outputs).ok());
  });
  while (!release.begun) std::this_thread::yield();
  session = nullptr;
  release.Check();
  thread.join();
}

TEST_F(CBoundaryTest, ACallbackFindsTheSessionThatIsBeingDestroyed) {
  Session session = Open();
  std::promise<void> begun;
  bool is_refused = false;
  ASSERT_TRUE(session
                  .PredictAsync(Inputs(),
                                [&](PredictResult&&) {
                                  begun.set_value();
                                  is_refused = Eventually([&] {
                                    const auto future = session.PredictAsync(Inputs(), RequestOptions());
                                    return future.status().message() == "the session is being destroyed";
                                  });
                                })
                  .ok());
  begun.get_future().wait();
  session = Session();
  EXPECT_TRUE(is_refused);
}

TEST_F(CBoundaryTest, ConstantsOfAPlacementOutliveThePlan) {
  Model model;
  const Context context = *Context::FromYamlText("one", "version: 1\nmodels: {plans: 1}\n");
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/expanded.onnx", context).ok());
  const Result<PlacedGraph> graph = model.PlacementWithGraph({{500, 4}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_TRUE(model.PlacementWithGraph({{2, 4}}).ok());
  double sum = 0;
  for (const PlacedNode& node : graph->nodes)
    for (const PlacedValue& input : node.inputs)
      for (const float value : input.constant.values<float>()) sum += value;
  EXPECT_EQ(sum, 500 * 10);
}

TEST_F(CBoundaryTest, TolerancesMayBeInfinite) {
  const Tensor got = *Tensor::FromValues<float>(DType::kFloat32, {2}, std::vector<float>{1, 2});
  const Tensor want = *Tensor::FromValues<float>(DType::kFloat32, {2}, std::vector<float>{3, 4});
  Tolerance tolerance;
  EXPECT_FALSE(CompareTensors(got, want, tolerance).ok);
  tolerance.atol = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(CompareTensors(got, want, tolerance).ok);
  tolerance.atol = std::nan("");
  EXPECT_FALSE(CompareTensors(got, want, tolerance).ok);
  ToleranceSettings settings;
  settings.rtol = 0.1;
  settings.atol = -std::numeric_limits<double>::infinity();
  const Tolerance made = ToleranceFor(settings, DType::kFloat32, {});
  EXPECT_EQ(made.rtol, 0.1);
  EXPECT_EQ(made.atol, *settings.atol);
}

TEST_F(CBoundaryTest, TextsOfOptionsStayAsTheyAre) {
  for (const std::string& text :
       {std::string("caf\xe9"), std::string("\xf0\x9f\x98\x80"), std::string("\"\\/\b\f\n\r\t\x01\x7f"),
        std::string("\xef\xbb\xbf\xc2\x85\xe2\x80\xa8"), std::string(3000, 'x'), std::string("&a *b <<: !c # '")}) {
    Context context;
    DeviceInfo made;
    made.name = "absent";
    made.options = {{text, text}};
    context.MutableDeviceInfo().push_back(made);
    EXPECT_TRUE(context.Check().ok());
    const std::vector<DeviceInfo>& told = context.MutableDeviceInfo();  // as the library has it
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].options, made.options);
  }
}

TEST_F(CBoundaryTest, AnyAgeSelectsEntriesOfTheCache) {
  const Context context = *Context::FromYamlText("cache", "version: 1\ncache: {dir: off}\n");
  for (const std::chrono::seconds age : {std::chrono::seconds::max(), std::chrono::seconds(-1)})
    EXPECT_NE(context.PurgeCache({{}, age}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CBoundaryTest, OptionsAreJson) {
  DeputyContext* context = nullptr;
  ASSERT_EQ(DeputyContextFromYaml("", nullptr, 0, &context), nullptr);
  const auto told = [context](const std::string& name) {
    const std::string options = "{\"delegates\": [{\"name\": " + name + "}]}";
    if (DeputyError* const error = DeputyContextSetDelegates(context, options.c_str())) {
      const std::string text = DeputyErrorText(error);
      DeputyErrorFree(error);
      return text;
    }
    DeputyReport* report = nullptr;
    EXPECT_EQ(DeputyContextDelegatesInCode(context, &report), nullptr);
    const DeputyField* const list = DeputyFieldNamed(DeputyReportRoot(report), "delegates");
    const std::string read = DeputyFieldText(DeputyFieldNamed(DeputyFieldAt(list, 0), "name"), nullptr);
    DeputyReportFree(report);
    return read;
  };
  EXPECT_EQ(told(R"("\ud83d\ude00 \u00e9\u20ac \u0041\/\n")"), "\xf0\x9f\x98\x80 \xc3\xa9\xe2\x82\xac A/\n");
  EXPECT_EQ(told("\"a\tb\""), "a\tb");
  for (const char* const wrong :
       {R"("\ud83d")", R"("\ud83dx")", R"("\ude00")", R"("\x41")", R"("\u12")", R"("a)", R"('a')", "a", "\"a\" \"b\"",
        "[", "01", "-", "1.", "1e", "+1", "&a", "nul", "\"a\"}]} {"})
    EXPECT_NE(told(wrong).find("is not valid JSON: line 1, column "), std::string::npos)
        << wrong << ": " << told(wrong);
  EXPECT_NE(told(std::string(1 << 20, '[')).find("too many levels"), std::string::npos);
  EXPECT_NE(told("\n\n x").find("line 3, column 2"), std::string::npos);
  DeputyContextFree(context);
}

class CSessionTest : public CBoundaryTest {
 protected:
  CSessionTest() {
    EXPECT_EQ(DeputyContextFromYaml("", nullptr, 0, &context_), nullptr);
    EXPECT_EQ(DeputyModelFromFile(DEPUTY_TEST_MODELS "/relu.onnx", context_, nullptr, &model_), nullptr);
    EXPECT_EQ(DeputyModelCreateSession(model_, &session_), nullptr);
  }
  ~CSessionTest() override {
    DeputySessionFree(session_);
    DeputyModelFree(model_);
    DeputyContextFree(context_);
  }

  DeputyContext* context_ = nullptr;
  DeputyModel* model_ = nullptr;
  DeputySession* session_ = nullptr;
  float values_[6] = {}, others_[6] = {};
  const int64_t shape_[2] = {2, 3}, other_shape_[1] = {6};
  const DeputyTensor input_{kDeputyFloat32, 2, shape_, values_, sizeof values_, nullptr};
  DeputyTensor output_{kDeputyFloat32, 1, other_shape_, others_, sizeof others_, nullptr};
};

TEST_F(CSessionTest, AnOutputIsReplacedWhereItHasAnOwner) {
  output_.memory = DeputyMemoryWrap(nullptr, nullptr);
  EXPECT_EQ(DeputySessionRun(session_, &input_, 1, &output_, 1), nullptr);
  EXPECT_EQ(output_.rank, 2u);
  EXPECT_NE(output_.data, others_);
  DeputyTensorRelease(&output_);
}

TEST_F(CSessionTest, FreeWaitsForWhatFollowsARun) {
  SlowRelease release;
  output_.memory = DeputyMemoryWrap(&release, &SlowRelease::Run);
  std::thread thread([&] { EXPECT_EQ(DeputySessionRun(session_, &input_, 1, &output_, 1), nullptr); });
  while (!release.begun) std::this_thread::yield();
  DeputySessionFree(std::exchange(session_, nullptr));
  release.Check();
  thread.join();
  DeputyTensorRelease(&output_);
}

// Collects the names of fields.
struct Names {
  std::multiset<std::string> all;
  template <class M>
  void operator()(const char* name, M&) {
    all.insert(name);
  }
};

template <class... T>
void ExpectNamesOnce() {
  const auto check = [](auto object) {
    Names names;
    Describe(names, object);
    for (const std::string& name : names.all) EXPECT_EQ(names.all.count(name), 1u) << name;
  };
  (check(T{}), ...);
}

TEST_F(CBoundaryTest, EachFieldIsListedOnce) {
  ExpectNamesOnce<BundlePlugin, BundleFile, BundleInfo, BundleProblem, BundleVerification, BundleContents,
                  BundleInstallation, InstalledBundle, CacheEntry, CacheListing, CacheFilter, Comparison, Tolerance,
                  ModelTraits, ToleranceSettings, ConfigProblem, ConfigCheck, ConfigKey, ConfigText, ConfigValue,
                  DeviceInfo, Incident, DelegateHealthReport, ReloadReport, HealthReport, InspectedNode, ModelContents,
                  InstallationReport, TensorInfo, MeasureReport, BuildOptions, PlacedValue, PlacedNode, PlacedRegion,
                  PlacedGraph, DeviceReport, DelegateReport, AbsentDelegate, DelegateListing, EstimateReport,
                  PartitionReport, RefusalReport, NodeReport, PlacementReport, OptionReport, CapabilityReport,
                  DeviceListing, PluginDelegateReport, PluginQuery, OpenedLibrary, PluginReport, PluginListing,
                  RunStatistics, RunEvent, QuarantinedPlugin, PartitionVerification, VerifyOptions>();
}

}  // namespace
}  // namespace deputy
