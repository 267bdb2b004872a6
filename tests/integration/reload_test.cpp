// Reloads of a configuration while its models are in use, with delegates of the application and files.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/relu_delegate.hpp"
#include "support/temp_folder.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

namespace fs = std::filesystem;
using host::TempFolder;

Tensor Halves() {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, {2, 3});
  float next = -1;
  for (float& value : tensor.mutable_values<float>()) value = next += 0.5F;
  return tensor;
}

// A file of a configuration, replaced as editors do it.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) { Write(text); }
  void Write(const std::string& text, const std::string& name = "deputy.yaml") const {
    fs::create_directories((folder_.path() / name).parent_path());
    const fs::path made = folder_.path() / "new~";
    std::ofstream(made) << "version: 1\n" << text;
    fs::rename(made, folder_.path() / name);
  }
  std::string path() const { return (folder_.path() / "deputy.yaml").string(); }
  fs::path folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

Context Open(const ConfigFile& file) {
  Result<Context> context = Context::FromYaml(file.path());
  EXPECT_TRUE(context.ok()) << context.status().ToString();
  return context.ok() ? *std::move(context) : Context();
}

Model Built(const Context& context, const std::string& name = "relu") {
  Model model;
  const Status status = model.Build(DEPUTY_TEST_MODELS "/" + name + ".onnx", context);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

std::string OwnerIn(const Session& session) {
  const Result<PlacementReport> placed = session.Placement();
  EXPECT_TRUE(placed.ok()) << placed.status().ToString();
  if (!placed.ok()) return {};
  for (const DelegateReport& delegate : placed->delegates)
    if (delegate.nodes != 0) return delegate.name;
  return {};
}

// Counts what it has compiled and not yet released.
class CountedDelegate final : public ReluDelegate {
 public:
  CountedDelegate(std::shared_ptr<ReluHooks> hooks, std::atomic<int>& alive)
      : ReluDelegate(std::move(hooks)), alive_(alive) {}
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    sdk::Result<std::unique_ptr<sdk::Executable>> made = ReluDelegate::Compile(partition);
    if (!made.ok()) return made;
    return std::unique_ptr<sdk::Executable>(std::make_unique<Counted>(std::move(made).value(), alive_));
  }

 private:
  struct Counted final : sdk::Executable {
    Counted(std::unique_ptr<sdk::Executable> given, std::atomic<int>& count) : made(std::move(given)), alive(count) {
      ++alive;
    }
    ~Counted() override { --alive; }
    sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override { return made->CreateContext(); }
    const std::unique_ptr<sdk::Executable> made;
    std::atomic<int>& alive;
  };
  std::atomic<int>& alive_;
};

class ReloadTest : public testing::Test {
 protected:
  LogLines log_{LogLevel::kWarning};
  const ConfigFile file_{"cpu: {threads: 1}\n"};
};

TEST_F(ReloadTest, ASessionRunsTheNewOrderFromItsNextRunOn) {
  Context context = Open(file_);
  const auto first = std::make_shared<ReluHooks>(), second = std::make_shared<ReluHooks>();
  context.AddDelegate(std::make_shared<ReluDelegate>(first));
  const Model model = Built(context);
  Session session = *model.CreateSession();
  const std::vector<float> expected = Answer(session, Halves());
  EXPECT_EQ(first->runs, 1);
  Context next = Open(file_);
  next.AddDelegate(std::make_shared<ReluDelegate>(second));
  ASSERT_TRUE(context.Reload(next).ok());
  EXPECT_EQ(second->compiles, 1) << "the plan is made before it is in force";
  EXPECT_EQ(Answer(session, Halves()), expected);
  EXPECT_EQ(first->runs, 1);
  EXPECT_EQ(second->runs, 1);
  Session later = *model.CreateSession();
  EXPECT_EQ(Answer(later, Halves()), expected);
  EXPECT_EQ(second->runs, 2);
}

TEST_F(ReloadTest, WhatWasSetInCodeStays) {
  Context context = Open(file_);
  const auto hooks = std::make_shared<ReluHooks>();
  context.AddDelegate(std::make_shared<ReluDelegate>(hooks));
  const Model model = Built(context);
  Session session = *model.CreateSession();
  file_.Write("fallback: none\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_FALSE(context.HasFallback());
  EXPECT_EQ(OwnerIn(session), "in_process");
  Answer(session, Halves());
  EXPECT_EQ(hooks->runs, 1);
}

TEST_F(ReloadTest, AWrongFileLeavesTheFormerOneInForceAndListsAllErrors) {
  Context context = Open(file_);
  const Model model = Built(context);
  Session session = *model.CreateSession();
  const std::vector<float> expected = Answer(session, Halves());
  file_.Write("cpu: {threds: 1}\nfallback: nowhere\n");
  const Status status = context.Reload();
  EXPECT_EQ(status.code(), StatusCode::kConfig);
  for (const std::string part : {":2:7: unknown key 'threds'", ":3:11: "})
    EXPECT_NE(status.ToString().find(file_.path() + part), std::string::npos) << status.ToString();
  EXPECT_EQ(Answer(session, Halves()), expected);
  ReloadReport report = context.Health().configuration;
  EXPECT_EQ(report.generation, 1u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.error, status.ToString());
  EXPECT_FALSE(context.Health().degraded);
  file_.Write("cpu: {threads: 2}\n");
  ASSERT_TRUE(context.Reload().ok());
  report = model.Health().configuration;
  EXPECT_EQ(report.generation, 2u);
  EXPECT_EQ(report.succeeded, 1u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.files, std::vector<std::string>{file_.path()});
  EXPECT_LE(report.failed_at, report.since);
}

TEST_F(ReloadTest, AllEntriesThatAreWrongAreListed) {
  Context context = Open(file_);
  ASSERT_TRUE(context.Load().ok());
  file_.Write(
      "delegates:\n  - {name: absent1, required: true}\n  - {name: absent2, required: true}\n"
      "placement: {rules: [{ops: Add, to: nobody}]}\n");
  const std::string text = context.Reload().ToString();
  for (const char* const part : {"'absent1'", "'absent2'", "'nobody'"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(ReloadTest, AModelThatCannotBePlannedMakesTheReloadFail) {
  Context context = Open(file_);
  const Model one = Built(context), other = Built(context, "tutorial");
  Session session = *one.CreateSession();
  const std::vector<float> expected = Answer(session, Halves());
  file_.Write("fallback: none\n");
  const std::string text = context.Reload().ToString();
  EXPECT_NE(text.find("relu.onnx"), std::string::npos) << text;
  EXPECT_NE(text.find("tutorial.onnx"), std::string::npos) << text;
  EXPECT_TRUE(context.HasFallback());
  EXPECT_EQ(Answer(session, Halves()), expected);
  EXPECT_EQ(context.Health().configuration.generation, 1u);
}

TEST_F(ReloadTest, PlansOfAllShapesInUseAreMadeBefore) {
  Context context = Open(file_);
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, context).ok());
  Session session = *model.CreateSession();
  const auto resize = [&] {
    for (const int64_t count : {1, 2, 5}) EXPECT_TRUE(session.Resize({{count, 1, 28, 28}}).ok());
  };
  resize();
  const auto hooks = std::make_shared<ReluHooks>();
  Context next = Open(file_);
  next.AddDelegate(std::make_shared<ReluDelegate>(hooks));
  ASSERT_TRUE(context.Reload(next).ok());
  const int compiles = hooks->compiles;
  EXPECT_GE(compiles, 1);
  resize();
  EXPECT_EQ(hooks->compiles, compiles);
}

TEST_F(ReloadTest, ARunInFlightEndsOnTheFormerDelegateWhichThenEnds) {
  std::atomic<int> alive{0};
  const auto hooks = std::make_shared<ReluHooks>();
  std::atomic<bool> begun{false}, may_end{false};
  hooks->on_run = [&](int) {
    begun = true;
    EXPECT_TRUE(Eventually([&] { return may_end.load(); }));
    return sdk::Status();
  };
  Context context = Open(file_);
  context.AddDelegate(std::make_shared<CountedDelegate>(hooks, alive));
  const Model model = Built(context);
  Session session = *model.CreateSession(), idle = *model.CreateSession();
  std::vector<float> answer;
  std::thread running([&] { answer = Answer(session, Halves()); });
  EXPECT_TRUE(Eventually([&] { return begun.load(); }));
  ASSERT_TRUE(context.Reload(Open(file_)).ok());
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(OwnerIn(idle), "cpu");
  may_end = true;
  running.join();
  EXPECT_EQ(hooks->runs, 1);
  EXPECT_EQ(alive, 0) << "the end of the run is that of its delegate";
  EXPECT_EQ(Answer(session, Halves()), answer);
  EXPECT_EQ(hooks->runs, 1);
}

TEST_F(ReloadTest, IdleSessionsKeepNoFormerDelegate) {
  std::atomic<int> alive{0};
  Context context = Open(file_);
  context.AddDelegate(std::make_shared<CountedDelegate>(std::make_shared<ReluHooks>(), alive));
  const Model model = Built(context);
  Session session = *model.CreateSession(), asynchronous = *model.CreateSession();
  Answer(session, Halves());
  for (int i = 0; i < 3; ++i) {
    const PredictResult result = asynchronous.PredictAsync({Halves()})->get();
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  }
  EXPECT_EQ(alive, 1);
  ASSERT_TRUE(context.Reload(Open(file_)).ok());
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(asynchronous.PredictAsync({Halves()})->get().status.ok());
}

TEST_F(ReloadTest, RequestsThatHaveNotBegunRunOnTheNewDelegate) {
  const auto former = std::make_shared<ReluHooks>(), latter = std::make_shared<ReluHooks>();
  std::atomic<bool> may_end{false};
  former->on_run = [&](int) {
    EXPECT_TRUE(Eventually([&] { return may_end.load(); }));
    return sdk::Status();
  };
  Context context = Open(file_), next = Open(file_);
  context.AddDelegate(std::make_shared<ReluDelegate>(former));
  next.AddDelegate(std::make_shared<ReluDelegate>(latter));
  const Model model = Built(context);
  Session session = *model.CreateSession();
  ASSERT_TRUE(session.SetInFlight(2).ok());
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 2; ++i) results.push_back(*session.PredictAsync({Halves()}));
  EXPECT_TRUE(Eventually([&] { return former->runs == 2; }));
  ASSERT_TRUE(context.Reload(next).ok());
  may_end = true;
  for (std::future<PredictResult>& result : results) EXPECT_TRUE(result.get().status.ok());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(session.PredictAsync({Halves()})->get().status.ok());
  EXPECT_EQ(former->runs, 2);
  EXPECT_EQ(latter->runs, 4);
}

TEST_F(ReloadTest, ConfiguredTimeoutsChangeAndThoseOfTheSessionStay) {
  const auto hooks = std::make_shared<ReluHooks>();
  hooks->on_run = [](int) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    EXPECT_TRUE(Eventually([&] { return std::chrono::steady_clock::now() >= end; }));
    return sdk::Status();
  };
  Context context = Open(file_);
  context.AddDelegate(std::make_shared<ReluDelegate>(hooks));
  const Model model = Built(context);
  Session configured = *model.CreateSession(), own = *model.CreateSession();
  own.SetTimeout(std::chrono::seconds(60));
  std::vector<Tensor> outputs;
  ASSERT_TRUE(configured.Predict({Halves()}, &outputs).ok());
  file_.Write("limits: {timeout: 1ms}\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_TRUE(own.Predict({Halves()}, &outputs).ok());
  const Status status = configured.Predict({Halves()}, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.advice().find("limits: {timeout: 1ms}"), std::string::npos) << status.ToString();
  EXPECT_EQ(configured.PredictAsync({Halves()})->get().status.code(), StatusCode::kDeadlineExceeded);
  file_.Write("limits: {timeout: 60s}\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_TRUE(configured.Predict({Halves()}, &outputs).ok());
}

TEST_F(ReloadTest, ModelsOfCopiesOfTheContextFollowAndThoseOfAChangedOneDoNot) {
  Context context = Open(file_);
  ASSERT_TRUE(context.Load().ok());
  const Context copy = context;
  Context changed = context;
  changed.MutableDeviceInfo();
  const Model first = Built(copy), second = Built(changed);
  file_.Write("limits: {timeout: 1s}\nmodels: {plans: 3}\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_EQ(first.Health().configuration.generation, 2u);
  EXPECT_EQ(second.Health().configuration.generation, 1u);
  EXPECT_NE(copy.ShowConfig().find("plans: 3"), std::string::npos) << copy.ShowConfig();
  EXPECT_EQ(changed.ShowConfig().find("plans: 3"), std::string::npos);
  Context later = copy;
  later.MutableDeviceInfo();
  EXPECT_NE(later.ShowConfig().find("plans: 3"), std::string::npos) << "a change begins with what is in force";
}

TEST_F(ReloadTest, AModelThatIsBuiltMeanwhileFollows) {
  const auto hooks = std::make_shared<ReluHooks>();
  std::atomic<bool> compiling{false}, may_compile{false};
  class Slow final : public ReluDelegate {
   public:
    Slow(std::shared_ptr<ReluHooks> hooks, std::function<void()> wait)
        : ReluDelegate(std::move(hooks)), wait_(std::move(wait)) {}
    sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
      wait_();
      return ReluDelegate::Compile(partition);
    }
    std::function<void()> wait_;
  };
  Context context = Open(file_);
  context.AddDelegate(std::make_shared<Slow>(hooks, [&] {
    compiling = true;
    EXPECT_TRUE(Eventually([&] { return may_compile.load(); }));
  }));
  ASSERT_TRUE(context.Load().ok());
  Model model;
  std::thread building([&] { model = Built(context); });
  EXPECT_TRUE(Eventually([&] { return compiling.load(); }));
  ASSERT_TRUE(context.Reload(Open(file_)).ok());
  may_compile = true;
  building.join();
  Session session = *model.CreateSession();
  EXPECT_EQ(OwnerIn(session), "cpu");
}

TEST_F(ReloadTest, OneThatReloadsBeforeTheFirstUseOpensTheDelegates) {
  Context context = Open(file_);
  EXPECT_EQ(context.Health().configuration.generation, 0u);
  file_.Write("models: {plans: 3}\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_EQ(context.Health().configuration.generation, 1u);
  EXPECT_NE(context.ShowConfig().find("plans: 3"), std::string::npos);
}

TEST_F(ReloadTest, ATextIsReadAgainAndReplacedByThatOfAnotherContext) {
  Context context = *Context::FromYamlText("t.yaml", "version: 1\nmodels: {plans: 3}\n");
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_NE(context.ShowConfig().find("plans: 3"), std::string::npos);
  ASSERT_TRUE(context.Reload(*Context::FromYamlText("t.yaml", "version: 1\nmodels: {plans: 4}\n")).ok());
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_NE(context.ShowConfig().find("plans: 4"), std::string::npos);
}

TEST_F(ReloadTest, LayersAreReadAgain) {
  Result<Context> read = Context::FromLayers({{file_.path()}, {"models.map_files=false"}});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  Context context = *std::move(read);
  file_.Write("models: {plans: 3}\n");
  file_.Write("limits: {loop_steps: 7}\n", "conf.d/added.yaml");
  ASSERT_TRUE(context.Reload().ok());
  for (const char* const part : {"plans: 3", "loop_steps: 7", "map_files: false"})
    EXPECT_NE(context.ShowConfig().find(part), std::string::npos) << context.ShowConfig();
  EXPECT_EQ(context.Health().configuration.files.back(), (file_.folder() / "conf.d/added.yaml").string());
}

// Four threads run what another one replaces all the time; part of the sanitizer runs.
TEST_F(ReloadTest, NoRunOfFourThreadsFails) {
  constexpr int kReloads = 60;
  std::atomic<int> alive{0};
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> runs{0};
  Context context = Open(file_);
  const Model model = Built(context), other = Built(context, "tutorial");
  Session first = *model.CreateSession();
  const std::vector<float> expected = Answer(first, Halves());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Session session = *model.CreateSession();
      std::vector<Tensor> outputs;
      while (!ends) {
        if (t == 3) {
          PredictResult result = session.PredictAsync({Halves()})->get();
          EXPECT_TRUE(result.status.ok()) << result.status.ToString();
          outputs = std::move(result.outputs);
        } else {
          const Status status = session.Predict({Halves()}, &outputs);
          EXPECT_TRUE(status.ok()) << status.ToString();
        }
        EXPECT_EQ(Values(outputs.at(0)), expected);
        if (t == 2) session = *model.CreateSession();
        EXPECT_GE(model.Health().configuration.generation, 1u);
        ++runs;
      }
    });
  uint64_t before = 0;
  for (int i = 1; i <= kReloads; ++i) {
    Context next = Open(file_);
    if (i % 2 == 0) next.AddDelegate(std::make_shared<CountedDelegate>(std::make_shared<ReluHooks>(), alive));
    if (i % 10 == 0) next = *Context::FromYamlText("bad.yaml", "version: 1\nfallback: none\n");
    EXPECT_EQ(context.Reload(next).ok(), i % 10 != 0);
    EXPECT_TRUE(Eventually([&] { return runs > before; }));
    before = runs;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  const HealthReport health = context.Health();
  EXPECT_FALSE(health.degraded);
  EXPECT_EQ(health.configuration.generation, 1u + kReloads - kReloads / 10);
  EXPECT_EQ(health.configuration.succeeded, uint64_t{kReloads - kReloads / 10});
  EXPECT_EQ(health.configuration.failed, uint64_t{kReloads / 10});
  ASSERT_TRUE(context.Reload(Open(file_)).ok());
  EXPECT_EQ(alive, 0);
}

// Results of reloads that a watch made.
class Reloads {
 public:
  std::function<void(const Status&)> callback() {
    return [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      results_.push_back(status);
    };
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return results_.size();
  }
  Status last() const {
    const std::lock_guard lock(mutex_);
    return results_.back();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Status> results_;
};

TEST_F(ReloadTest, AFileThatChangesIsReloadedWhereAsked) {
  Reloads reloads;
  Context context = Open(file_), unwatched = Open(file_);
  const Model model = Built(context), other = Built(unwatched);
  ASSERT_TRUE(context.WatchFiles(reloads.callback()).ok());
  file_.Write("models: {plans: 3}\n");
  ASSERT_TRUE(Eventually([&] { return reloads.count() == 1; }));
  EXPECT_TRUE(reloads.last().ok()) << reloads.last().ToString();
  EXPECT_NE(context.ShowConfig().find("plans: 3"), std::string::npos);
  EXPECT_EQ(model.Health().configuration.generation, 2u);
  file_.Write("models: {plns: 3}\n");
  ASSERT_TRUE(Eventually([&] { return reloads.count() == 2; }));
  EXPECT_EQ(reloads.last().code(), StatusCode::kConfig);
  EXPECT_EQ(log_.Count("the changed configuration is not used: " + file_.path() + ":2:10: unknown key 'plns'"), 1u)
      << log_.text();
  // Written in place, which a reload may see half done.
  std::ofstream(file_.path()) << "version: 1\nmodels: {plans: 4}\n";
  ASSERT_TRUE(Eventually([&] { return context.ShowConfig().find("plans: 4") != std::string::npos; }));
  EXPECT_EQ(unwatched.Health().configuration.generation, 1u);
}

TEST_F(ReloadTest, DropInsThatAreAddedAndRemovedAreReloaded) {
  Reloads reloads;
  Context context = Open(file_);
  ASSERT_TRUE(context.Load().ok());
  ASSERT_TRUE(context.WatchFiles(reloads.callback()).ok());
  file_.Write("models: {plans: 3}\n", "conf.d/one.yaml");  // the folder is new as well
  ASSERT_TRUE(Eventually([&] { return context.ShowConfig().find("plans: 3") != std::string::npos; }));
  fs::remove(file_.folder() / "conf.d/one.yaml");
  ASSERT_TRUE(Eventually([&] { return context.ShowConfig().find("plans: 3") == std::string::npos; }));
}

TEST_F(ReloadTest, ALinkThatLeadsToAnotherFolderIsReloaded) {
  Reloads reloads;
  file_.Write("models: {plans: 3}\n", "one/deputy.yaml");
  file_.Write("models: {plans: 4}\n", "two/deputy.yaml");
  fs::create_directory_symlink("one", file_.folder() / "current");
  Context context = *Context::FromYaml((file_.folder() / "current/deputy.yaml").string());
  ASSERT_TRUE(context.Load().ok());
  ASSERT_TRUE(context.WatchFiles(reloads.callback()).ok());
  fs::create_directory_symlink("two", file_.folder() / "next");
  fs::rename(file_.folder() / "next", file_.folder() / "current");
  ASSERT_TRUE(Eventually([&] { return reloads.count() == 1; }));
  EXPECT_NE(context.ShowConfig().find("plans: 4"), std::string::npos);
}

// What `beside` sees in the folder, other watches of it have seen too.
TEST_F(ReloadTest, ABurstOfChangesIsOneReloadAndOtherFilesAreNone) {
  Reloads reloads, beside;
  file_.Write("", "another.yaml");
  Context context = Open(file_), other = *Context::FromYaml((file_.folder() / "another.yaml").string());
  ASSERT_TRUE(context.WatchFiles(reloads.callback()).ok());
  ASSERT_TRUE(other.WatchFiles(beside.callback()).ok());
  file_.Write("models: {plans: 3}\n", "another.yaml");
  ASSERT_TRUE(Eventually([&] { return beside.count() == 1; }));
  EXPECT_EQ(reloads.count(), 0u);
  for (int i = 1; i <= 5; ++i) file_.Write("models: {plans: " + std::to_string(i) + "}\n");
  ASSERT_TRUE(Eventually([&] { return context.ShowConfig().find("plans: 5") != std::string::npos; }));
  EXPECT_LE(reloads.count(), 2u);
}

TEST_F(ReloadTest, AWatchEndsWithItsContextAndWithAChangeOfIt) {
  Reloads reloads, beside;
  Context other = Open(file_);
  ASSERT_TRUE(other.WatchFiles(beside.callback()).ok());
  {
    Context changed = Open(file_);
    ASSERT_TRUE(changed.WatchFiles(reloads.callback()).ok());
    changed.MutableDeviceInfo();
    file_.Write("models: {plans: 3}\n");
    ASSERT_TRUE(Eventually([&] { return beside.count() == 1; }));
    ASSERT_TRUE(changed.WatchFiles(reloads.callback()).ok());
    const Context copy = changed;  // is not watched
  }
  file_.Write("models: {plans: 4}\n");
  ASSERT_TRUE(Eventually([&] { return beside.count() == 2; }));
  EXPECT_EQ(reloads.count(), 0u);
}

TEST_F(ReloadTest, AfterAReloadFromAnotherContextItsFilesAreWatched) {
  Reloads reloads;
  const ConfigFile next("models: {plans: 3}\n");
  Context context = Open(file_);
  ASSERT_TRUE(context.WatchFiles(reloads.callback()).ok());
  ASSERT_TRUE(context.Reload(Open(next)).ok());
  // The watch asks for the places on a thread of its own: it may not watch this file yet.
  next.Write("models: {plans: 4}\n");
  ASSERT_TRUE(Eventually([&] { return context.ShowConfig().find("plans: 4") != std::string::npos; }));
  ASSERT_TRUE(Eventually([&] { return reloads.count() != 0; }));
  EXPECT_TRUE(reloads.last().ok());
  EXPECT_EQ(context.Health().configuration.files, std::vector<std::string>{next.path()});
}

TEST_F(ReloadTest, WhatWasNotReadFromFilesIsNotWatched) {
  EXPECT_EQ(Context().WatchFiles().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Context::FromYamlText("t.yaml", "version: 1\n")->WatchFiles().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace deputy
