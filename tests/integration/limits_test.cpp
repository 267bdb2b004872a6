// `limits: {...}` through the public API: loop steps, the time of a run and the memory of a session, each with an error
// that names what to raise, and a session that can be used afterwards.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  }
  ~LimitsTest() override { SetLogSink(nullptr); }

  Status Build(const std::string& model, const std::string& limits) {
    return model_.Build(DEPUTY_TEST_MODELS "/" + model,
                        *Context::FromYamlText("limits", "version: 1\ncpu: {threads: 1}\nlimits: {" + limits + "}\n"));
  }
  Session Open(const std::string& model, const std::string& limits) {
    const Status status = Build(model, limits);
    EXPECT_TRUE(status.ok()) << status.ToString();
    Result<Session> session = model_.CreateSession();
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return session.ok() ? std::move(session).value() : Session();
  }
  // Of the model that counts: so many outer iterations, each of so many inner ones.
  static std::vector<Tensor> Counts(int64_t outer, int64_t inner) {
    return {*Tensor::FromValues<int64_t>(DType::kInt64, {}, std::vector<int64_t>{outer}),
            *Tensor::FromValues<int64_t>(DType::kInt64, {}, std::vector<int64_t>{inner})};
  }

  Model model_;
};

constexpr int64_t kForever = INT64_MAX;

// Case 31 of the fault catalogue.
TEST_F(LimitsTest, R31_AnEndlessLoopEndsAtTheLimitOfSteps) {
  Session session = Open("counting.onnx", "loop_steps: 1000");
  std::vector<Tensor> outputs;
  const Status status = session.Predict(Counts(1, kForever), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "iteration 999 exceeds the limit of 1000 loop steps, which all Loops and Scans of a run share");
  EXPECT_EQ(status.where(), "counting.onnx: node 'outer' (Loop): node 'inner' (Loop)");
  EXPECT_EQ(status.advice(), "raise 'limits: {loop_steps: ...}' in the configuration, or none for no limit");
  ASSERT_TRUE(session.Predict(Counts(10, 99), &outputs).ok());
  EXPECT_EQ(*static_cast<const float*>(outputs[0].data()), 990);
}

TEST_F(LimitsTest, StepsOfAllLoopsOfARunCountAndThoseOfTheNextRunDoNot) {
  Session session = Open("counting.onnx", "loop_steps: 100");
  std::vector<Tensor> outputs;
  EXPECT_TRUE(session.Predict(Counts(10, 9), &outputs).ok());  // 10 + 10 * 9
  EXPECT_TRUE(session.Predict(Counts(10, 9), &outputs).ok());
  const Status status = session.Predict(Counts(10, 10), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
}

TEST_F(LimitsTest, TheTimeOfARunIsLimited) {
  Session session = Open("counting.onnx", "loop_steps: none, timeout: 30ms");
  std::vector<Tensor> outputs;
  const Status status = session.Predict(Counts(kForever, 1), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.where().rfind("counting.onnx: node 'outer' (Loop)", 0), 0u) << status.ToString();
  EXPECT_EQ(status.advice(), "raise 'limits: {timeout: 30ms}' in the configuration");
  EXPECT_TRUE(session.Predict(Counts(1, 1), &outputs).ok());
}

TEST_F(LimitsTest, TheApplicationSetsAnotherTime) {
  Session session = Open("counting.onnx", "loop_steps: 50000000, timeout: 1us");
  session.SetTimeout(std::chrono::nanoseconds(0));
  std::vector<Tensor> outputs;
  Status status = session.Predict(Counts(100, 100), &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  session.SetTimeout(std::chrono::milliseconds(20));
  status = session.Predict(Counts(kForever, 1), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.advice(), "the time limit of the run is 20ms");
}

TEST_F(LimitsTest, AModelWhoseArenaIsLargerThanTheMemoryIsNotLoaded) {
  // Two values of 4 MB live at once, one of them in the output.
  ASSERT_TRUE(Build("wide.onnx", "memory: 6MB").ok());
  const Status status = model_.CreateSession().status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.where(), "wide.onnx: node 'second' (Neg)") << status.ToString();
  EXPECT_NE(
      status.message().find("bytes for tensors, of which 'b' [1000,1000] has 4000000 bytes exceed the memory limit "
                            "of the session: 6000000 bytes, of which 4000000 are in use"),
      std::string::npos)
      << status.ToString();
  Session session = Open("wide.onnx", "memory: 20MB");
  std::vector<Tensor> outputs;
  EXPECT_TRUE(session.Predict({*Tensor::Allocate(DType::kFloat32, {1000, 1000})}, &outputs).ok());
}

TEST_F(LimitsTest, AnOutputLargerThanTheMemoryIsNamed) {
  ASSERT_TRUE(Build("wide.onnx", "memory: 1MB").ok());
  const Status status = model_.CreateSession().status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.where(), "wide.onnx: node 'last' (Add)") << status.ToString();
  EXPECT_EQ(status.message(),
            "4000000 bytes for output 'y' exceed the memory limit of the session: 1000000 bytes, of "
            "which 0 are in use");
}

TEST_F(LimitsTest, AValueOfExtentsThatARunMakesIsLimitedInTheRun) {
  Session session = Open("expanding.onnx", "memory: 1MB");
  const auto extents = [](int64_t rows, int64_t columns) {
    return std::vector<Tensor>{*Tensor::FromValues<int64_t>(DType::kInt64, {2}, std::vector<int64_t>{rows, columns})};
  };
  std::vector<Tensor> outputs;
  const Status status = session.Predict(extents(1000, 1000), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.where(), "expanding.onnx: node 'grow' (ConstantOfShape)") << status.ToString();
  EXPECT_EQ(status.message().rfind("4000000 bytes for value 'grown' [1000,1000] exceed the memory limit", 0), 0u)
      << status.ToString();
  ASSERT_TRUE(session.Predict(extents(10, 10), &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{10, 10}));
  // A larger one takes the place of a smaller one, and is not counted beside it.
  for (int64_t rows = 100; rows <= 400; rows += 100) {
    const Status next = session.Predict(extents(rows, 200), &outputs);
    EXPECT_TRUE(next.ok()) << rows << ": " << next.ToString();
  }
}

// A copy for the caller is one more of them.
TEST_F(LimitsTest, AnOutputThatIsCopiedForTheCallerCounts) {
  Session session = Open("expanding.onnx", "memory: 1MB");
  std::vector<Tensor> outputs;
  const std::vector<Tensor> inputs = {
      *Tensor::FromValues<int64_t>(DType::kInt64, {2}, std::vector<int64_t>{100, 1500})};
  const Status status = session.Predict(inputs, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message().rfind("600000 bytes for output 'grown' exceed", 0), 0u) << status.ToString();
}

TEST_F(LimitsTest, WeightsThatTheCpuPacksCount) {
  // 64 filters of 64 channels, 3 by 3: 147456 bytes, more when they are transformed.
  const Status status = Build("filters.onnx", "memory: 100kB");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
  EXPECT_NE(status.where().find("node 'the filters' (Conv)"), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("bytes for packed weights exceed the memory limit of a session: 100000 bytes"),
            std::string::npos)
      << status.ToString();
  Session session = Open("filters.onnx", "memory: 10MB");
  std::vector<Tensor> outputs;
  EXPECT_TRUE(session.Predict({*Tensor::Allocate(DType::kFloat32, {1, 64, 16, 16})}, &outputs).ok());
}

TEST_F(LimitsTest, AResizeThatDoesNotFitLeavesTheSessionAsItWas) {
  Session session = Open("open_rows.onnx", "memory: 1MB");
  std::vector<Tensor> outputs;
  const std::vector<Tensor> small = {*Tensor::Allocate(DType::kFloat32, {10, 100})};
  ASSERT_TRUE(session.Predict(small, &outputs).ok());
  EXPECT_EQ(session.Resize({{100000, 100}}).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(session.Predict(small, &outputs).ok());
  // Only one plan's memory counts, however many there were.
  for (int64_t rows = 500; rows < 520; ++rows) {
    const Status next = session.Resize({{rows, 100}});
    EXPECT_TRUE(next.ok()) << rows << ": " << next.ToString();
  }
}

}  // namespace
}  // namespace deputy
