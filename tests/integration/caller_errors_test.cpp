// Mistakes of callers of the C++ API: each is a typed error, touches no memory of the caller, and leaves the model and
// the session usable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/relu_delegate.hpp"

namespace deputy {
namespace {

const std::string kRelu = DEPUTY_TEST_MODELS "/relu.onnx";             // x float32 [2,3] -> y
const std::string kTwoInputs = DEPUTY_TEST_MODELS "/two_inputs.onnx";  // x [n,3], row [1,3] -> y

class CallerErrorsTest : public testing::Test {
 protected:
  CallerErrorsTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  }
  ~CallerErrorsTest() override { SetLogSink(nullptr); }

  Session Open(const std::string& path) {
    const Status status = model_.Build(path, Context());
    EXPECT_TRUE(status.ok()) << status.ToString();
    return *model_.CreateSession();
  }
  static Tensor Zeros(Shape shape, DType dtype = DType::kFloat32) { return *Tensor::Allocate(dtype, std::move(shape)); }
  static Tensor Numbers() {
    return *Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>{1, -2, 3, -4, 5, -6});
  }
  // The session answers as if nothing had been wrong before.
  static void ExpectUsable(Session& session) {
    std::vector<Tensor> outputs;
    const Status status = session.Predict({Numbers()}, &outputs);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const std::span<const float> values = outputs[0].values<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{1, 0, 3, 0, 5, 0}));
  }
  static void ExpectRefused(Session& session, const std::vector<Tensor>& inputs, const std::string& message) {
    std::vector<Tensor> outputs;
    const Status status = session.Predict(inputs, &outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find(message), std::string::npos) << status.ToString();
  }

  Model model_;
};

TEST_F(CallerErrorsTest, R122_AnInputOfAnotherDTypeIsRefused) {
  Session session = Open(kRelu);
  // Shorter and longer elements than those that the model reads.
  for (const DType dtype : {DType::kUint8, DType::kFloat16, DType::kInt32, DType::kFloat64})
    ExpectRefused(session, {Zeros({2, 3}, dtype)}, "input 'x' is " + std::string(NameOf(dtype)) + ", the model takes");
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_AnInputOfAnotherShapeIsRefused) {
  Session session = Open(kRelu);
  for (const Shape& shape : {Shape{3, 2}, Shape{6}, Shape{2, 3, 1}, Shape{}, Shape{0, 3}, Shape{2, 4}})
    ExpectRefused(session, {Zeros(shape)}, "input 'x' is ");
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_TooFewAndTooManyInputsAreRefused) {
  Session session = Open(kRelu);
  ExpectRefused(session, {}, "0 inputs given, the model has 1");
  ExpectRefused(session, {Numbers(), Numbers()}, "2 inputs given, the model has 1");
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_AnEmptyTensorIsNoInput) {
  Session session = Open(kRelu);
  ExpectRefused(session, {Tensor()}, "input 'x' is empty");
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_ATensorKnowsItsBytes) {
  std::vector<float> memory(6);
  for (const size_t bytes : {size_t{0}, size_t{20}, size_t{23}, size_t{25}, SIZE_MAX})
    EXPECT_EQ(Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data(), bytes).status().code(), StatusCode::kInvalidArgument)
        << bytes;
  EXPECT_EQ(Tensor::Wrap(DType::kFloat32, {2, 3}, nullptr, 24).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::FromValues<float>(DType::kFloat32, {2, 2}, std::vector<float>(3)).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kFloat32, {INT64_MAX, 2}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kUndefined, {2}).status().code(), StatusCode::kNotSupported);
}

TEST_F(CallerErrorsTest, ExtentsOfOneSymbolMustAgree) {
  const Status status = model_.Build(DEPUTY_TEST_MODELS "/branches.onnx", Context());
  ASSERT_TRUE(status.ok()) << status.ToString();
  Session session = *model_.CreateSession();
  ExpectRefused(session, {Zeros({}, DType::kBool), Zeros({2, 3}), Zeros({4, 3})}, "input 'b' is [4,3]");
}

TEST_F(CallerErrorsTest, OutputsMustNotBeNull) {
  Session session = Open(kRelu);
  EXPECT_EQ(session.Predict({Numbers()}, nullptr).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session.PredictValues({Numbers()}, nullptr).code(), StatusCode::kInvalidArgument);
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_TheVectorOfTheInputsIsNotThatOfTheOutputs) {
  Session session = Open(kRelu);
  std::vector<Tensor> tensors = {Numbers()};
  EXPECT_EQ(session.Predict(tensors, &tensors).message(), "inputs and outputs must not be the same vector");
  std::vector<ModelValue> values = {Numbers()};
  EXPECT_EQ(session.PredictValues(values, &values).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tensors[0].values<float>()[1], -2);
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_AnOutputInTheMemoryOfAnInputIsRefused) {
  Session session = Open(kRelu);
  std::vector<float> memory = {1, -2, 3, -4, 5, -6, 7, -8};
  const std::vector<float> before = memory;
  const Tensor input = *Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data(), 24);
  for (const size_t shift : {0, 1, 2}) {  // the same memory, and a part of it
    std::vector<Tensor> outputs = {*Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data() + shift, 24)};
    const Status status = session.Predict({input}, &outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "output 'y' shares memory with an input");
  }
  EXPECT_EQ(memory, before);
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R122_AnOutputTensorThatDoesNotFitIsNotWritten) {
  Session session = Open(kRelu);
  std::vector<float> memory(4, 9);
  for (const bool short_of : {true, false}) {
    std::vector<Tensor> outputs = {short_of ? *Tensor::Wrap(DType::kFloat32, {2, 2}, memory.data(), 16)
                                            : *Tensor::Wrap(DType::kInt16, {2, 3}, memory.data(), 12)};
    EXPECT_EQ(session.Predict({Numbers()}, &outputs).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(outputs[0].data(), memory.data());
  }
  EXPECT_EQ(memory, std::vector<float>(4, 9));
  // Memory of its own is replaced.
  std::vector<Tensor> outputs = {*Tensor::Allocate(DType::kFloat32, {2, 2})};
  ASSERT_TRUE(session.Predict({Numbers()}, &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
}

void ExpectNoSession(Session& session) {
  std::vector<Tensor> tensors;
  std::vector<ModelValue> values;
  const auto failed = StatusCode::kFailedPrecondition;
  EXPECT_EQ(session.Predict({}, &tensors).code(), failed);
  EXPECT_EQ(session.PredictValues({}, &values).code(), failed);
  EXPECT_EQ(session.Resize({}).code(), failed);
  EXPECT_EQ(session.ResetStates().code(), failed);
  EXPECT_EQ(session.MeasurePlacement({}, {}).status().code(), failed);
  EXPECT_EQ(session.Placement().status().code(), failed);
  EXPECT_TRUE(session.events().empty());
  EXPECT_EQ(session.statistics().total_ns, 0u);
  session.Cancel();
  session.SetTimeout(std::chrono::seconds(1));
  session.SetHints({});
  session.EnableProfiling(true);
  session.EnableEvents(true);
}

TEST_F(CallerErrorsTest, R120_ASessionThatWasNotCreatedOrWasMovedRefusesEveryCall) {
  Session none;
  ExpectNoSession(none);
  Session session = Open(kRelu);
  Session other = std::move(session);
  ExpectNoSession(session);  // NOLINT(bugprone-use-after-move)
  ExpectUsable(other);
  session = std::move(other);
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, R120_ASessionOutlivesItsModelAndItsContext) {
  std::optional<Session> session;
  {
    const auto context = std::make_unique<Context>();
    const auto model = std::make_unique<Model>();
    ASSERT_TRUE(model->Build(kRelu, *context).ok());
    session = *model->CreateSession();
  }
  ExpectUsable(*session);
}

TEST_F(CallerErrorsTest, AModelThatIsNotBuiltRefusesEveryCall) {
  const auto failed = StatusCode::kFailedPrecondition;
  EXPECT_EQ(model_.CreateSession().status().code(), failed);
  EXPECT_EQ(model_.Placement().status().code(), failed);
  EXPECT_EQ(model_.Placement({}).status().code(), failed);
  EXPECT_EQ(model_.PlacementWithGraph({}).status().code(), failed);
  EXPECT_EQ(model_.Verify({}, {}).status().code(), failed);
  EXPECT_EQ(model_.MeasuredPlacements().status().code(), failed);
  EXPECT_EQ(model_.Save("never.dpm").code(), failed);
  EXPECT_TRUE(model_.inputs().empty());
  EXPECT_TRUE(model_.outputs().empty());
  EXPECT_TRUE(model_.metadata().empty());
  EXPECT_FALSE(model_.has_states());
}

TEST_F(CallerErrorsTest, ABuildThatFailsLeavesTheModelAsItWas) {
  Session session = Open(kRelu);
  EXPECT_EQ(model_.Build("/nonexistent/model.onnx", Context()).code(), StatusCode::kModel);
  EXPECT_FALSE(model_.Build("garbage", 7, ModelType::kAuto, Context()).ok());
  ASSERT_EQ(model_.inputs().size(), 1u);
  Session again = *model_.CreateSession();
  ExpectUsable(again);
  ExpectUsable(session);
}

TEST_F(CallerErrorsTest, ModelDataThatIsNullOrOfAnotherTypeIsRefused) {
  const Context context;
  EXPECT_EQ(model_.Build(nullptr, 8, ModelType::kAuto, context).code(), StatusCode::kInvalidArgument);
  for (const ModelType type : {ModelType::kAuto, ModelType::kOnnx, ModelType::kDeputy, ModelType::kTflite}) {
    EXPECT_FALSE(model_.Build(nullptr, 0, type, context).ok());
    EXPECT_FALSE(model_.Build("no model", 8, type, context).ok());
  }
  EXPECT_EQ(model_.CreateSession().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(CallerErrorsTest, AContextThatWasMovedBuildsNothing) {
  Context context;
  const Context other = std::move(context);
  EXPECT_EQ(model_.Build(kRelu, context).code(), StatusCode::kFailedPrecondition);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(model_.Build("", 0, ModelType::kAuto, context).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(model_.Build(kRelu, other).ok());
}

TEST_F(CallerErrorsTest, ADelegateThatIsNullIsAnErrorOfLoad) {
  Context context;
  context.AddDelegate(std::shared_ptr<ReluDelegate>());
  const Status status = context.Load();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "the delegate is null");
  EXPECT_EQ(model_.Build(kRelu, context).code(), StatusCode::kInvalidArgument);
}

TEST_F(CallerErrorsTest, ShapesThatDoNotFitAreRefusedByResize) {
  Session session = Open(kTwoInputs);
  std::vector<Tensor> outputs;
  const std::vector<Tensor> inputs = {Zeros({2, 3}), Zeros({1, 3})};
  ASSERT_TRUE(session.Predict(inputs, &outputs).ok());
  for (const std::vector<Shape>& shapes : std::vector<std::vector<Shape>>{
           {}, {{2, 3}}, {{2, 3}, {1, 3}, {1}}, {{2, 4}, {1, 3}}, {{2}, {1, 3}}, {{-1, 3}, {1, 3}}, {{2, 3}, {2, 3}}})
    EXPECT_EQ(session.Resize(shapes).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(session.Resize({{INT64_MAX, 3}, {1, 3}}).ok());  // more elements than can be counted
  EXPECT_TRUE(session.Predict(inputs, &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
}

TEST_F(CallerErrorsTest, VerifyChecksItsInputsLikeARun) {
  ASSERT_TRUE(model_.Build(kRelu, Context()).ok());
  EXPECT_EQ(model_.Verify({Zeros({2, 3}, DType::kUint8)}, {}).status().message(),
            "input 'x' is uint8, the model takes float32");
  EXPECT_EQ(model_.Verify({Tensor()}, {}).status().message(), "input 'x' is empty");
  EXPECT_EQ(model_.Verify({Zeros({3, 2})}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model_.Verify({}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model_.Verify({Numbers(), Numbers()}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(model_.Verify({Numbers()}, {}).ok());
}

TEST_F(CallerErrorsTest, PlacementsOfShapesThatDoNotFitAreRefused) {
  ASSERT_TRUE(model_.Build(kTwoInputs, Context()).ok());
  EXPECT_EQ(model_.Placement().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model_.Placement({{2, 3}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model_.PlacementWithGraph({{2, 3}, {1, 4}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(model_.Placement({{2, 3}, {1, 3}}).ok());
}

}  // namespace
}  // namespace deputy
