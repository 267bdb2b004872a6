// Reloads while four threads run models, with in-tree plugins in this process and in workers: no run fails, results are
// right, and what was replaced leaves nothing behind.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/process_state.hpp"
#include "support/temp_folder.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

namespace fs = std::filesystem;

struct Variant {
  std::string entries, first;  // `first`: the delegate that has nodes
};

// Order, options, threads, processes and plugins in turn.
std::vector<Variant> Variants() {
  std::vector<Variant> all = {
      {"[]", "cpu"},
      {"[{name: npu0, delegate: sim_npu, isolation: none, options: {frequency: low}}]\ncpu: {threads: 2}", "npu0"},
      {"[{name: npu0, delegate: sim_npu, isolation: process}]", "npu0"},
      {"[{name: absent}, {name: npu0, delegate: sim_npu, isolation: process, options: {frequency: high}}]", "npu0"},
      {"[{name: npu1, delegate: sim_npu, isolation: none}, {name: npu0, delegate: sim_npu, isolation: process}]",
       "npu1"}};
  if (fs::exists(DEPUTY_TEST_PLUGINS "/onednn.so")) {
    all.push_back({"[{name: onednn, isolation: none}, {name: npu0, delegate: sim_npu, isolation: none}]", "onednn"});
    all.push_back({"[{name: npu0, delegate: sim_npu, isolation: none}, {name: onednn, isolation: process}]", "npu0"});
  }
  return all;
}

struct BadText {
  std::string entries, error;
};

std::vector<BadText> BadTexts() {
  return {{"[{name: npu0, delegate: sim_npu, isolaton: none}]", ":5:45: unknown key 'isolaton'"},
          {"[{name: npu0, delegate: sim_npu}, {name: absent, required: true}]", "'absent'"},
          {"[{name: npu0, delegate: sim_npu, options: {frequency: 5GHz}}]", "frequency"},
          {"[{name: crash_in_constructor, required: true}]", "crash_in_constructor"},
          {"[{name: npu0, delegate: sim_npu, isolation: process}, {name: crashes_in_open, required: true}]",
           "crashes_in_open"}};
}

class ReloadLoadTest : public testing::Test {
 protected:
  ReloadLoadTest() {
    fs::create_directory(folder_.path() / "plugins");
    for (const char* const name : {"crash_in_constructor.so", "crashes_in_open.so"})
      fs::copy_file(fs::path(FIXTURE_PLUGINS) / name, folder_.path() / "plugins" / name);
  }
  std::string path() const { return (folder_.path() / "deputy.yaml").string(); }
  void Write(const std::string& entries, const std::string& level = "error") const {
    const fs::path made = folder_.path() / "new~";
    std::ofstream(made) << "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS ", " << folder_.path().string()
                        << "/plugins]}\ncache: {dir: " << folder_.path().string() << "/cache}\nlog: {level: " << level
                        << "}\ndelegates: " << entries << "\n";
    fs::rename(made, path());
  }

  const host::TempFolder folder_;
  const LogLines log_{LogLevel::kError};
};

bool AreClose(const std::vector<float>& answer, const std::vector<float>& expected) {
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  const auto is_close = [&](float a, float b) { return std::fabs(a - b) <= largest * 0.02F; };
  return std::equal(answer.begin(), answer.end(), expected.begin(), expected.end(), is_close);
}

// Runs batches of three sizes in turn, every second time asynchronously.
class Load {
 public:
  explicit Load(const Model& model) {
    for (int64_t count = 1; count <= 3; ++count) {
      inputs_.push_back(Pictures(count));
      Session session = *model.CreateSession();
      expected_.push_back(Answer(session, inputs_.back()));
    }
    for (int t = 0; t < 4; ++t) threads_.emplace_back([this, &model, t] { Run(model, t); });
  }
  ~Load() { End(); }
  void End() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  uint64_t runs() const { return runs_; }

 private:
  void Run(const Model& model, int number) {
    Result<Session> session = model.CreateSession();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    std::vector<Tensor> outputs;
    for (size_t run = static_cast<size_t>(number); !ends_; ++run) {
      const size_t size = run % inputs_.size();
      Status status;
      if (number == 3) {
        PredictResult result = session->PredictAsync({inputs_[size]})->get();
        status = std::move(result.status);
        outputs = std::move(result.outputs);
      } else {
        status = session->Predict({inputs_[size]}, &outputs);
      }
      EXPECT_TRUE(status.ok()) << status.ToString();
      if (!status.ok()) return;
      EXPECT_TRUE(AreClose(Values(outputs[0]), expected_[size])) << "batch " << size + 1;
      ++runs_;
    }
  }

  std::vector<Tensor> inputs_;
  std::vector<std::vector<float>> expected_;
  std::atomic<bool> ends_{false};
  std::atomic<uint64_t> runs_{0};
  std::vector<std::thread> threads_;
};

TEST_F(ReloadLoadTest, TwoHundredReloadsEveryTenthOneBadUnderTheLoadOfFourThreads) {
  constexpr int kReloads = 200, kWarm = 40;
  Write("[]");
  Result<Context> context = Context::FromYaml(path());
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, *context).ok());
  const std::vector<Variant> variants = Variants();
  const std::vector<BadText> bad = BadTexts();
  Session idle = *model.CreateSession();
  auto load = std::make_unique<Load>(model);
  ProcessState warm;
  size_t warm_bytes = 0;
  uint64_t runs = 0, all_runs = 0, good = 0;
  // Without the load, whose sessions have memory for the shapes of their last runs, and with the CPU alone.
  const auto rest = [&] {
    load->End();
    all_runs += load->runs();
    load = nullptr;
    Write("[]");
    EXPECT_TRUE(context->Reload().ok());
    ++good;
    EXPECT_TRUE(Eventually([] { return ChildProcesses().empty(); }));
    malloc_trim(0);
    return mallinfo2().uordblks;
  };
  for (int i = 1; i <= kReloads; ++i) {
    if (i == kWarm) {
      warm_bytes = rest();
      warm = StateOfThisProcess();
      load = std::make_unique<Load>(model);
      runs = 0;
    }
    const bool is_bad = i % 10 == 0;
    const Variant& variant = variants[static_cast<size_t>(i) % variants.size()];
    const BadText& wrong = bad[static_cast<size_t>(i / 10) % bad.size()];
    Write(is_bad ? wrong.entries : variant.entries);
    const HealthReport before = context->Health();
    const Status status = context->Reload();
    const HealthReport after = context->Health();
    EXPECT_EQ(status.ok(), !is_bad) << i << ": " << status.ToString();
    good += is_bad ? 0 : 1;
    EXPECT_FALSE(after.degraded) << i;
    EXPECT_EQ(after.configuration.generation, good + 1);
    EXPECT_EQ(after.configuration.succeeded, good);
    EXPECT_EQ(after.configuration.failed, static_cast<uint64_t>(i / 10));
    EXPECT_EQ(after.configuration.error.empty(), !is_bad);
    if (is_bad) {
      EXPECT_NE(status.ToString().find(wrong.error), std::string::npos) << status.ToString();
      EXPECT_EQ(after.configuration.since, before.configuration.since);
      EXPECT_EQ(after.delegates.size(), before.delegates.size());
    } else {
      ASSERT_TRUE(idle.Resize({{2, 1, 28, 28}}).ok());
      size_t nodes = 0;
      const PlacementReport placed = *idle.Placement();
      for (const DelegateReport& delegate : placed.delegates)
        if (delegate.name == variant.first) nodes = delegate.nodes;
      EXPECT_GT(nodes, 0u) << i << ": " << variant.first;
    }
    EXPECT_TRUE(Eventually([&] { return load->runs() > runs; }));
    runs = load->runs();
  }
  const size_t bytes = rest();
  const ProcessState state = StateOfThisProcess();
  std::printf("%llu runs; %zu bytes in use, %zu before; %llu kB resident, %llu before\n",
              static_cast<unsigned long long>(all_runs), bytes, warm_bytes,
              static_cast<unsigned long long>(state.resident_kilobytes),
              static_cast<unsigned long long>(warm.resident_kilobytes));
  EXPECT_EQ(state.children.size(), warm.children.size());
  EXPECT_EQ(state.descriptors, warm.descriptors);
  EXPECT_EQ(state.threads, warm.threads);
  EXPECT_LE(bytes, warm_bytes + (size_t{256} << 10));
  EXPECT_LE(state.resident_kilobytes, warm.resident_kilobytes + 16 * 1024);
}

TEST_F(ReloadLoadTest, OptionsThatTheApplicationHasSetStay) {
  const LogLines lines(LogLevel::kWarning);
  const auto frequency_of = [](const Context& context) -> std::string {
    const DelegateListing listing = *context.ListDelegates();
    for (const DelegateReport& delegate : listing.delegates)
      for (const auto& [name, value] : delegate.options)
        if (name == "frequency") return value;
    return {};
  };
  const std::string npu = "[{name: npu0, delegate: sim_npu, options: {frequency: high}}]";
  Write(npu, "warning");
  Result<Context> context = Context::FromYaml(path());
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  ASSERT_TRUE(context->SetOption("npu0", "frequency", "low").ok());
  const std::string low = frequency_of(*context);
  ASSERT_TRUE(context->Reload().ok());
  EXPECT_EQ(frequency_of(*context), low);
  EXPECT_NE(context->ShowConfig().find("frequency: low  # api delegates.npu0"), std::string::npos);
  Write("[]", "warning");
  ASSERT_TRUE(context->Reload().ok());
  EXPECT_EQ(lines.Count("npu0: option 'frequency', which the application has set to 'low', is as configured again"), 1u)
      << lines.text();
  Write(npu, "warning");
  ASSERT_TRUE(context->Reload().ok());
  EXPECT_NE(frequency_of(*context), low);
}

TEST_F(ReloadLoadTest, LevelsOfTheLogAreThoseInForce) {
  const LogLines lines(LogLevel::kDebug);
  const std::string npu = "[{name: npu0, delegate: sim_npu}]";
  Write(npu, "warning");
  Result<Context> context = Context::FromYaml(path());
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  ASSERT_TRUE(context->Load().ok());
  Write(npu + "\nfallback: nowhere", "info");
  EXPECT_FALSE(context->Reload().ok());
  Write("[{name: absent, required: true}]", "info");
  EXPECT_FALSE(context->Reload().ok());
  Write(npu, "warning");
  ASSERT_TRUE(context->Reload().ok());
  EXPECT_EQ(lines.Count("is in force"), 0u) << lines.text();
  Write("[]", "info");
  ASSERT_TRUE(context->Reload().ok());
  EXPECT_EQ(lines.Count("configuration 3 is in force: " + path()), 1u) << lines.text();
}

TEST_F(ReloadLoadTest, ABundleIsThatOfTheVersionInUse) {
  const auto install = [&](const std::string& version, const std::string& text) {
    const fs::path file = folder_.path() / (version + ".yaml"), packed = folder_.path() / (version + ".dpb");
    std::ofstream(file) << "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS "]}\n" << text;
    BundleContents contents;
    contents.name = "device";
    contents.version = version;
    contents.configurations = {file.string()};
    const auto made = PackBundle(contents, packed.string());
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const auto installed = InstallBundle(packed.string(), "", (folder_.path() / "bundles").string());
    ASSERT_TRUE(installed.ok()) << installed.status().ToString();
    EXPECT_TRUE(installed->problems.empty());
  };
  install("1.0", "delegates: [{name: npu0, delegate: sim_npu}]\n");
  std::atomic<int> reloads{0};
  const std::string current = (folder_.path() / "bundles/device/current").string();
  Result<Context> context = Context::FromBundle(current);
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, *context).ok());
  ASSERT_TRUE(context
                  ->WatchFiles([&](const Status& status) {
                    EXPECT_TRUE(status.ok()) << status.ToString();
                    ++reloads;
                  })
                  .ok());
  install("1.1", "delegates: []\n");
  ASSERT_TRUE(Eventually([&] { return reloads > 0; }));
  EXPECT_TRUE(context->ConfiguredDelegates().empty());
  EXPECT_NE(model.Health().configuration.files.at(0).find("/1.1/"), std::string::npos);
  ASSERT_TRUE(RollBackBundle("device", "1.0", (folder_.path() / "bundles").string()).ok());
  ASSERT_TRUE(Eventually([&] { return context->ConfiguredDelegates().size() == 1; }));
}

}  // namespace
}  // namespace deputy
