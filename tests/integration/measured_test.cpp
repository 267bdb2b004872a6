// Policy `measured` in an application: sessions of one model, timeouts, and what is kept between contexts. The delegate
// is many times slower than the CPU.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/temp_folder.hpp"

namespace deputy {
namespace {

using namespace std::chrono_literals;

class MeasuredTest : public testing::Test {
 protected:
  MeasuredTest() {
    std::filesystem::create_directory(folder_.path() / "plugins");
    std::filesystem::copy(DEPUTY_TEST_FIXTURES "/wrong_fusions.so", folder_.path() / "plugins" / "wrong_fusions.so");
    inputs_.push_back(*Tensor::Allocate(DType::kFloat32, {1, 3, 8, 8}));
  }
  Model Build(const std::string& budget = "20s", const std::string& path = DEPUTY_TEST_MODELS "/pyramid.onnx") {
    Result<Context> context =
        Context::FromYamlText("t.yaml", "version: 1\nplugins: {paths: [" + (folder_.path() / "plugins").string() +
                                            "]}\ncache: {dir: " + (folder_.path() / "store").string() +
                                            "}\nplacement: {policy: measured, budget: " + budget +
                                            "}\ndelegates: [{name: wrong_fusions, options: {fault: slow}}]\n");
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    context->SetProgress([this](const Progress& progress) {
      if (progress.stage == ProgressStage::kMeasurement && progress.number == 1) ++searches_;
    });
    Model model;
    const Status status = model.Build(path, *context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return model;
  }
  void Predict(Session& session) {
    const Status status = session.Predict(inputs_, &outputs_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  static size_t NodesOfTheDelegate(const Session& session) { return session.Placement()->delegates[0].nodes; }

  const host::TempFolder folder_;
  const LogLines lines_{LogLevel::kInfo};
  std::vector<Tensor> inputs_, outputs_;
  size_t searches_ = 0;  // that were begun
};

TEST_F(MeasuredTest, TheFirstRunDecidesForAllSessions) {
  const Model model = Build();
  Session first = *model.CreateSession(), second = *model.CreateSession();
  ASSERT_TRUE(second.Resize({{1, 3, 8, 8}}).ok());
  EXPECT_EQ(NodesOfTheDelegate(second), 13u) << "the order, until a run";
  Predict(first);
  Predict(first);
  EXPECT_EQ(NodesOfTheDelegate(first), 0u);
  Predict(second);
  EXPECT_EQ(NodesOfTheDelegate(second), 0u);
  EXPECT_EQ(lines_.Count("measured: the CPU alone"), 1u);
}

TEST_F(MeasuredTest, AnotherContextRestoresTheDecision) {
  {
    const Model model = Build();
    Session session = *model.CreateSession();
    Predict(session);
  }
  const Model model = Build();
  Session session = *model.CreateSession();
  ASSERT_TRUE(session.Resize({{1, 3, 8, 8}}).ok());
  EXPECT_EQ(NodesOfTheDelegate(session), 0u) << "before any run";
}

// Processes of others: not descendants of this one, whose processor time counts as its own. They end with it.
class BusyProcesses {
 public:
  explicit BusyProcesses(unsigned count) {
    EXPECT_EQ(pipe(ends_), 0);
    for (unsigned i = 0; i < count; ++i) {
      const pid_t intermediate = fork();
      if (intermediate == 0) {
        if (fork() == 0) Burn();
        _exit(0);
      }
      waitpid(intermediate, nullptr, 0);
    }
    close(ends_[0]);
  }
  ~BusyProcesses() { close(ends_[1]); }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  [[noreturn]] void Burn() const {
    close(ends_[1]);
    pollfd ended{ends_[0], 0, 0};
    while (poll(&ended, 1, 0) == 0) continue;
    _exit(0);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(MeasuredTest, ADecisionOfABusyMachineIsUnsureAndSearchedAgainAFewTimes) {
  const auto run = [&] {
    const Model model = Build();
    Session session = *model.CreateSession();
    Predict(session);
    Predict(session);
  };
  {
    const BusyProcesses busy(2 * std::thread::hardware_concurrency());
    run();
    EXPECT_GE(lines_.Count("unsure: other processes took"), 1u) << lines_.text();
  }
  for (int i = 0; i < 8; ++i) run();
  EXPECT_LE(searches_, 5u);
}

// A placement beside the model is as good as sure; beside other work the explicit search is not.
TEST_F(MeasuredTest, AnExplicitSearchReplacesAMoreCertainDecision) {
  const std::filesystem::path path = folder_.path() / "pyramid.onnx";
  std::filesystem::copy(DEPUTY_TEST_MODELS "/pyramid.onnx", path);
  {
    const Model measured = Build("20s", path);
    Session session = *measured.CreateSession();
    Predict(session);
    const Result<std::string> text = measured.MeasuredPlacements();
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    std::ofstream(path.string() + ".placement.yaml")
        << std::regex_replace(*text, std::regex("summary: .*"), "summary: 'of an earlier search'");
  }
  const Model model = Build("20s", path);
  Session session = *model.CreateSession();
  Predict(session);
  ASSERT_EQ(lines_.Count("of an earlier search"), 1u) << lines_.text();
  const BusyProcesses busy(2 * std::thread::hardware_concurrency());
  const Result<MeasureReport> report = session.MeasurePlacement(inputs_, {.budget = 5s});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->summary.find("earlier"), std::string::npos) << report->summary;
  EXPECT_EQ(model.MeasuredPlacements()->find("earlier"), std::string::npos) << *model.MeasuredPlacements();
}

TEST_F(MeasuredTest, OtherShapesAreMeasuredByThemselves) {
  const Model model = Build();
  Session session = *model.CreateSession();
  Predict(session);
  ASSERT_TRUE(session.Resize({{2, 3, 8, 8}}).ok());
  EXPECT_EQ(NodesOfTheDelegate(session), 13u);
}

TEST_F(MeasuredTest, ARunWithLittleTimeLeavesTheSearchToALaterOne) {
  const Model model = Build();
  Session session = *model.CreateSession();
  session.SetTimeout(9s);  // half of it is less than a quarter of the budget
  Predict(session);
  EXPECT_EQ(lines_.Count("measured: "), 0u);
  session.SetTimeout(0s);
  Predict(session);
  Predict(session);
  EXPECT_EQ(NodesOfTheDelegate(session), 0u);
}

}  // namespace
}  // namespace deputy
