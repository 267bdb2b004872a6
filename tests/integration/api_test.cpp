// The C++ API on the digits model: contexts, models, sessions, and delegates of the application.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "deputy/deputy.hpp"
#include "deputy/sdk/sdk.hpp"
#include "samples/mindspore_tutorial/tutorial_delegate.hpp"
#include "support/digits.hpp"
#include "support/relu_delegate.hpp"
#include "support/temp_folder.hpp"

namespace deputy {
namespace {

const std::string kDigits = DEPUTY_TEST_DIGITS;

// Takes the operators given and computes nothing: refuses at compile.
class RefusingDelegate final : public sdk::PartitionDelegate {
 public:
  sdk::Verdict Supports(const sdk::NodeView&) override { return sdk::Verdict::Yes(); }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView&) override {
    return sdk::Status(sdk::Code::kNotSupported, "not today");
  }
};

class ApiTest : public testing::Test {
 protected:
  std::vector<float> Expected(const Tensor& input) {
    Context context;
    context.SetDelegate(nullptr);
    Model model;
    EXPECT_TRUE(model.Build(kDigits, context).ok());
    return Predict(model, input);
  }
  static std::vector<float> Predict(const Model& model, const Tensor& input) {
    Result<Session> session = model.CreateSession();
    return Answer(*session, input);
  }
  LogLines log_;
};

TEST_F(ApiTest, InputsAndOutputsAreListedBeforeRunning) {
  Model model;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "image");
  EXPECT_EQ(model.inputs()[0].dtype, DType::kFloat32);
  EXPECT_EQ(model.inputs()[0].shape, (Shape{-1, 1, 28, 28}));
  EXPECT_EQ(model.inputs()[0].dims[0], "batch");
  EXPECT_EQ(model.outputs()[0].name, "logits");
  EXPECT_EQ(model.outputs()[0].shape, (Shape{-1, 10}));
  EXPECT_FALSE(model.metadata().empty());
}

TEST_F(ApiTest, AModelFromMemoryOutlivesItsBuffer) {
  const Tensor input = Pictures(2, 1);
  std::ifstream file(kDigits, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Model model;
  ASSERT_TRUE(model.Build(bytes.data(), bytes.size(), ModelType::kOnnx, Context()).ok());
  std::memset(bytes.data(), 0xa5, bytes.size());
  bytes.clear();
  bytes.shrink_to_fit();
  EXPECT_EQ(Predict(model, input), Expected(input));
}

TEST_F(ApiTest, ASavedModelGivesTheSameAnswers) {
  const std::string path = std::filesystem::temp_directory_path() / ("api_test_" + std::to_string(getpid()) + ".dpm");
  Model model, again;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  ASSERT_TRUE(model.Save(path).ok());
  const Status status = again.Build(path, Context());
  std::filesystem::remove(path);  // the mapping keeps the file's bytes
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Tensor input = Pictures(3, 2);
  EXPECT_EQ(Predict(again, input), Predict(model, input));
  EXPECT_EQ(again.metadata(), model.metadata());
}

TEST_F(ApiTest, ExtraOutputsComeAfterTheModelsOwnAndAreNotSaved) {
  const std::string path = DEPUTY_TEST_MODELS "/tutorial.onnx";
  const std::string saved = std::filesystem::temp_directory_path() / ("extra_" + std::to_string(getpid()) + ".dpm");
  BuildOptions options;
  options.extra_outputs = {"sum", "z", "sum"};
  Model model, again;
  ASSERT_TRUE(model.Build(path, Context(), options).ok());
  ASSERT_EQ(model.outputs().size(), 2u);
  EXPECT_EQ(model.outputs()[0].name, "z");
  EXPECT_EQ(model.outputs()[1].name, "sum");
  std::vector<Tensor> inputs, outputs;
  for (const float value : {1.0f, 2.0f})
    inputs.push_back(*Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>(6, value)));
  ASSERT_TRUE(model.CreateSession()->Predict(inputs, &outputs).ok());
  EXPECT_EQ(Values(outputs[1]), std::vector<float>(6, 3.0f));
  ASSERT_TRUE(model.Save(saved).ok());
  const Status status = again.Build(saved, Context());
  std::filesystem::remove(saved);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(again.outputs().size(), 1u);
}

TEST_F(ApiTest, AnExtraOutputThatTheGraphDoesNotHaveIsRefused) {
  BuildOptions options;
  options.extra_outputs = {"sums"};
  Model model;
  const Status status = model.Build(DEPUTY_TEST_MODELS "/tutorial.onnx", Context(), options);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("did you mean 'sum'?"), std::string::npos) << status.ToString();
}

TEST_F(ApiTest, OneSessionRunsSeveralShapes) {
  Model model;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  Result<Session> session = model.CreateSession();
  std::vector<Tensor> outputs;
  for (const int64_t batch : {1, 5, 2, 1}) {
    ASSERT_TRUE(session->Resize({{batch, 1, 28, 28}}).ok());
    const Tensor input = Pictures(batch, static_cast<uint32_t>(batch));
    ASSERT_TRUE(session->Predict({input}, &outputs).ok());
    EXPECT_EQ(outputs[0].shape(), (Shape{batch, 10}));
    EXPECT_EQ(Values(outputs[0]), Expected(input));
  }
}

TEST_F(ApiTest, AnOutputTensorThatFitsIsWrittenInPlace) {
  Model model;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  Result<Session> session = model.CreateSession();
  std::vector<Tensor> outputs = {*Tensor::Allocate(DType::kFloat32, {1, 10})};
  const void* data = outputs[0].data();
  ASSERT_TRUE(session->Predict({Pictures(1, 3)}, &outputs).ok());
  EXPECT_EQ(outputs[0].data(), data);
}

TEST_F(ApiTest, ADeviceInfoThatIsAddedAfterLoadingCounts) {
  Context context;
  ASSERT_TRUE(context.Load().ok());
  DeviceInfo info;
  info.name = "nowhere";
  info.required = true;
  context.MutableDeviceInfo().push_back(info);
  EXPECT_EQ(context.Load().code(), StatusCode::kPlugin);
}

TEST_F(ApiTest, R122_AnInputOfAnotherTypeOrCountIsRefused) {
  Model model;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  Result<Session> session = model.CreateSession();
  std::vector<Tensor> outputs;
  EXPECT_EQ(session->Predict({*Tensor::Allocate(DType::kInt32, {1, 1, 28, 28})}, &outputs).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(session->Predict({}, &outputs).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session->Predict({Tensor()}, &outputs).code(), StatusCode::kInvalidArgument);
}

TEST_F(ApiTest, R122_AMisalignedInputIsReadAligned) {
  const auto hooks = std::make_shared<ReluHooks>();
  bool aligned = false;
  hooks->on_execute = [&](const sdk::RunArgs& args) {
    aligned = reinterpret_cast<uintptr_t>(args.input(0).values<float>().data()) % alignof(float) == 0;
    return sdk::Status();
  };
  Context context;
  context.SetDelegate(std::make_shared<ReluDelegate>(hooks));
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/relu.onnx", context).ok());
  const std::vector<float> values = {1, -2, 3, -4, 5, -6};
  std::vector<uint8_t> bytes(25);
  std::memcpy(bytes.data() + 1, values.data(), 24);
  EXPECT_EQ(Predict(model, *Tensor::Wrap(DType::kFloat32, {2, 3}, bytes.data() + 1, 24)),
            (std::vector<float>{1, 0, 3, 0, 5, 0}));
  EXPECT_TRUE(aligned);
}

// The whole model is one partition, which the delegate refuses only if it is large enough.
TEST_F(ApiTest, MinFlopsCountsTwoOperationsPerMultiplyAdd) {
  const std::vector<Shape> shapes = {{1, 1, 28, 28}};
  Model plain;
  ASSERT_TRUE(plain.Build(kDigits, Context()).ok());
  const auto work = plain.Placement(shapes)->multiply_adds;
  for (const bool enough : {true, false}) {
    Context context =
        *Context::FromYamlText("t", "version: 1\ndelegates: [{name: npu, delegate: in_process, min_flops: " +
                                        std::to_string(2 * work + (enough ? 0 : 2)) + "}]\n");
    context.AddDelegate(std::make_shared<RefusingDelegate>());
    Model model;
    ASSERT_TRUE(model.Build(kDigits, context).ok());
    EXPECT_EQ(model.Placement(shapes)->nodes[0].refusals[0].reason,
              enough ? "refused at compile" : "partition too small");
  }
}

TEST_F(ApiTest, TwoSessionsOnTwoThreadsAnswerAsOneAfterTheOther) {
  Model model;
  ASSERT_TRUE(model.Build(kDigits, Context()).ok());
  const Tensor inputs[] = {Pictures(2, 5), Pictures(3, 6)};
  const std::vector<float> expected[] = {Expected(inputs[0]), Expected(inputs[1])};
  std::vector<float> got[2];
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      Result<Session> session = model.CreateSession();
      std::vector<Tensor> outputs;
      for (int round = 0; round < 50; ++round)
        if (!session->Predict({inputs[t]}, &outputs).ok()) return;
      got[t] = Values(outputs[0]);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got[0], expected[0]);
  EXPECT_EQ(got[1], expected[1]);
}

TEST_F(ApiTest, TwoSessionsShareOneInProcessDelegate) {
  Context context;
  context.SetDelegate(std::make_shared<tutorial::TutorialDelegate>());
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  const Tensor inputs[] = {Pictures(1, 7), Pictures(1, 8)};
  const std::vector<float> expected[] = {Expected(inputs[0]), Expected(inputs[1])};
  std::vector<float> got[2];
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      Result<Session> session = model.CreateSession();
      std::vector<Tensor> outputs;
      for (int round = 0; round < 50; ++round)
        if (!session->Predict({inputs[t]}, &outputs).ok()) return;
      got[t] = Values(outputs[0]);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got[0], expected[0]);
  EXPECT_EQ(got[1], expected[1]);
}

// Seed row 9.
TEST_F(ApiTest, SetDelegateRunsTheApplicationsObject) {
  Context context;
  context.SetDelegate(std::make_shared<ReluDelegate>());
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  const Tensor input = Pictures(1, 9);
  EXPECT_EQ(Predict(model, input), Expected(input));
  const Result<PlacementReport> report = model.Placement({{1, 1, 28, 28}});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->delegates.size(), 2u);
  EXPECT_EQ(report->delegates[0].name, "in_process");
  EXPECT_EQ(report->delegates[0].nodes, 2u);
}

TEST_F(ApiTest, SetDelegateNullIsInnerInference) {
  Context context;
  context.SetDelegate(std::make_shared<ReluDelegate>());
  context.SetDelegate(nullptr);
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  const Result<PlacementReport> report = model.Placement({{1, 1, 28, 28}});
  ASSERT_EQ(report->delegates.size(), 1u);
  EXPECT_EQ(report->delegates[0].name, "cpu");
}

// Seed row 9.
TEST_F(ApiTest, AddDelegateStandsInFrontOfTheOneNamed) {
  Context context;
  context.AddDelegate(std::make_shared<ReluDelegate>());
  context.AddDelegate(std::make_shared<ReluDelegate>(), "in_process");
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  const Result<PlacementReport> report = model.Placement({{1, 1, 28, 28}});
  ASSERT_EQ(report->delegates.size(), 3u);
  EXPECT_EQ(report->delegates[0].name, "in_process_2");
  EXPECT_EQ(report->delegates[0].nodes, 2u);
  EXPECT_EQ(report->delegates[1].nodes, 0u);
}

TEST_F(ApiTest, R98_ARefusalAtCompileHandsTheNodesToTheNext) {
  Context context;
  context.AddDelegate(std::make_shared<RefusingDelegate>());
  context.AddDelegate(std::make_shared<ReluDelegate>());
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  const Tensor input = Pictures(1, 10);
  EXPECT_EQ(Predict(model, input), Expected(input));
  const Result<PlacementReport> report = model.Placement({{1, 1, 28, 28}});
  EXPECT_EQ(report->delegates[0].nodes, 0u);
  EXPECT_EQ(report->delegates[1].nodes, 2u);
  EXPECT_EQ(report->nodes[0].refusals[0].reason, "refused at compile");
  EXPECT_EQ(report->nodes[0].refusals[0].detail, "not today");
  EXPECT_NE(log_.text().find("refused partition"), std::string::npos);
}

TEST_F(ApiTest, EveryLoadSaysInOneLineWhatWentWhere) {
  Context context;
  context.SetDelegate(std::make_shared<ReluDelegate>());
  Model model;
  ASSERT_TRUE(model.Build(kDigits, context).ok());
  ASSERT_TRUE(model.Placement({{1, 1, 28, 28}}).ok());
  EXPECT_NE(log_.text().find("digits.onnx: 2 delegates, 3 partitions: in_process 2/8 nodes, cpu 6 (100 % of "
                             "multiply-adds)"),
            std::string::npos)
      << log_.text();
}

// Runs a model of two-by-three inputs and compares with the CPU alone.
void ExpectSameAsCpu(const std::string& path, const Context& context) {
  Context cpu;
  cpu.SetDelegate(nullptr);
  std::vector<std::vector<Tensor>> outputs(2);
  for (size_t i = 0; i < 2; ++i) {
    Model model;
    const Status status = model.Build(path, i == 0 ? cpu : context);
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::vector<Tensor> inputs;
    for (size_t input = 0; input < model.inputs().size(); ++input)
      inputs.push_back(*Tensor::FromValues<float>(
          DType::kFloat32, {2, 3}, std::vector<float>{-1, 2, -3, 0.5f, static_cast<float>(input), -0.25f}));
    ASSERT_TRUE(model.CreateSession()->Predict(inputs, &outputs[i]).ok());
  }
  const std::vector<float> want = Values(outputs[0][0]), got = Values(outputs[1][0]);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6f);
}

TEST_F(ApiTest, TheTutorialsDelegateTakesAWholeModelAsOnePartition) {
  Context context;
  context.SetDelegate(std::make_shared<tutorial::TutorialDelegate>());
  Model model;
  const Status status = model.Build(DEPUTY_TEST_MODELS "/tutorial.onnx", context);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Result<PlacementReport> report = model.Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->partitions.size(), 1u);
  EXPECT_EQ(report->nodes.size(), 5u);
  EXPECT_EQ(report->delegates[0].nodes, 5u);
  ExpectSameAsCpu(DEPUTY_TEST_MODELS "/tutorial.onnx", context);
}

TEST_F(ApiTest, TheTutorialsTwoBugsAreMended) {
  Context context;
  context.SetDelegate(std::make_shared<tutorial::TutorialDelegate>());
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/tutorial_cut.onnx", context).ok());
  const Result<PlacementReport> report = model.Placement();
  ASSERT_EQ(report->partitions.size(), 3u);
  EXPECT_EQ(report->partitions[0].delegate, "in_process");  // a run of one
  EXPECT_EQ(report->partitions[1].delegate, "cpu");
  EXPECT_EQ(report->partitions[2].delegate, "in_process");  // a run at the end
  ExpectSameAsCpu(DEPUTY_TEST_MODELS "/tutorial_cut.onnx", context);
}

TEST_F(ApiTest, ADelegateWithoutPluginIsAWarning) {
  const Result<Context> context = Context::FromYamlText("t.yaml", "version: 1\ndelegates:\n  - name: no_such_npu\n");
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  Model model;
  ASSERT_TRUE(model.Build(kDigits, *context).ok());
  EXPECT_NE(log_.text().find("t.yaml:3:11: no plugin offers the delegate 'no_such_npu'"), std::string::npos)
      << log_.text();
}

TEST_F(ApiTest, ARequiredDelegateWithoutPluginIsAnError) {
  const Result<Context> context =
      Context::FromYamlText("t.yaml", "version: 1\ndelegates:\n  - name: no_such_npu\n    required: true\n");
  Model model;
  const Status status = model.Build(kDigits, *context);
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_EQ(status.where(), "t.yaml:3:11");
}

TEST_F(ApiTest, R1_AnEmptyFileIsNoModel) {
  Model model;
  const Status status = model.Build("", 0, ModelType::kAuto, Context());
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "is empty (0 bytes), not a model");
}

TEST(Dump, ModelsOfOneNameHaveTheirOwnFolders) {
  const host::TempFolder folder;
  const Context context =
      *Context::FromYamlText("t.yaml", "version: 1\ndebug: {dump: graph, dump_dir: " + folder.path().string() + "}\n");
  Model first, second;
  for (Model* model : {&first, &second}) {
    ASSERT_TRUE(model->Build(DEPUTY_TEST_MODELS "/tutorial.onnx", context).ok());
    ASSERT_TRUE(model->Placement({{2, 3}, {2, 3}}).ok());
  }
  for (const char* plan : {"plan_1", "plan_2"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "tutorial.onnx" / plan / "graph.txt")) << plan;
}

}  // namespace
}  // namespace deputy
