// Session::PredictAsync: results, their order, limits, and what a request in flight forbids.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/relu_delegate.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

using std::chrono::milliseconds;

std::vector<Tensor> Input(float first) {
  const std::vector<float> values = {first, -1, 2, -3, 4, -5};
  return {*Tensor::FromValues<float>(DType::kFloat32, {2, 3}, values)};
}
const std::vector<float> kRest = {0, 2, 0, 4, 0};

void ExpectAnswer(const PredictResult& result, float first) {
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  std::vector<float> expected = {first};
  expected.insert(expected.end(), kRest.begin(), kRest.end());
  const auto values = result.outputs.at(0).values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected);
}

class RequestsTest : public testing::Test {
 protected:
  RequestsTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    Context context;
    context.SetDelegate(std::make_shared<ReluDelegate>(hooks_));
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/relu.onnx", context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    session_ = std::make_unique<Session>(*model_.CreateSession());
  }
  ~RequestsTest() override {
    released_ = true;
    session_ = nullptr;
    SetLogSink(nullptr);
  }
  // Runs from now on wait until they are released.
  void Hold() {
    released_ = false;
    hooks_->on_execute = [this](const sdk::RunArgs& run) {
      ++begun_;
      EXPECT_TRUE(Eventually([&] { return released_ || run.cancelled(); }));
      return run.cancelled() ? sdk::Status(sdk::Code::kCancelled, "cancelled") : sdk::Status();
    };
  }
  std::future<PredictResult> Submit(float first, RequestOptions options = {}) {
    Result<std::future<PredictResult>> result = session_->PredictAsync(Input(first), std::move(options));
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? std::move(result).value() : std::future<PredictResult>();
  }

  std::shared_ptr<ReluHooks> hooks_ = std::make_shared<ReluHooks>();
  std::atomic<bool> released_{true};
  std::atomic<int> begun_{0};
  Model model_;
  std::unique_ptr<Session> session_;
};

TEST_F(RequestsTest, ResultsAreThoseOfPredictAndBringTheTensorsBack) {
  std::vector<Tensor> inputs = Input(7);
  const void* const given = inputs[0].data();
  RequestOptions options;
  options.outputs = {*Tensor::Allocate(DType::kFloat32, {2, 3})};
  const void* const wanted = options.outputs[0].data();
  std::promise<PredictResult> promise;
  const Result<uint64_t> number = session_->PredictAsync(
      std::move(inputs), [&](PredictResult&& result) { promise.set_value(std::move(result)); }, std::move(options));
  ASSERT_TRUE(number.ok()) << number.status().ToString();
  const PredictResult result = promise.get_future().get();
  ExpectAnswer(result, 7);
  EXPECT_EQ(result.request, *number);
  EXPECT_EQ(result.inputs.at(0).data(), given);
  EXPECT_EQ(result.outputs.at(0).data(), wanted);
  EXPECT_LE(result.submitted_ns, result.begun_ns);
  EXPECT_LE(result.begun_ns, result.ended_ns);
}

// Seed row 48.
TEST_F(RequestsTest, ManyAreAnsweredInOrder) {
  ASSERT_TRUE(session_->SetInFlight(4).ok());
  std::mutex mutex;
  std::vector<PredictResult> results;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Eventually([&] {
      const auto keep = [&](PredictResult&& result) {
        const std::lock_guard lock(mutex);
        results.push_back(std::move(result));
      };
      const Result<uint64_t> number = session_->PredictAsync(Input(static_cast<float>(i)), keep);
      return number.status().code() != StatusCode::kUnavailable;
    }));
  }
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return results.size() == 100;
  }));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].request, i + 1);
    ExpectAnswer(results[i], static_cast<float>(i));
  }
}

TEST_F(RequestsTest, AFullSessionIsAnAnswerThatLeavesTheTensors) {
  ASSERT_TRUE(session_->SetInFlight(2).ok());
  Hold();
  std::future<PredictResult> first = Submit(1), second = Submit(2);
  std::vector<Tensor> inputs = Input(3);
  RequestOptions options;
  options.outputs.resize(1);
  const Result<uint64_t> refused = session_->PredictAsync(
      std::move(inputs), [](PredictResult&&) {}, std::move(options));
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(refused.status().ToString().find("SetInFlight"), std::string::npos) << refused.status().ToString();
  EXPECT_EQ(inputs.size(), 1u);
  EXPECT_EQ(options.outputs.size(), 1u);
  released_ = true;
  ExpectAnswer(first.get(), 1);
  ExpectAnswer(second.get(), 2);
}

TEST_F(RequestsTest, WhileTheyAreInFlightTheSessionDoesNothingElse) {
  Hold();
  std::future<PredictResult> result = Submit(1);
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->Predict(Input(1), &outputs).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->Resize({{2, 3}}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->SetInFlight(3).code(), StatusCode::kFailedPrecondition);
  released_ = true;
  ExpectAnswer(result.get(), 1);
  EXPECT_TRUE(Eventually([&] { return session_->Predict(Input(1), &outputs).ok(); }));
}

TEST_F(RequestsTest, OneIsCancelledAndTheOthersAreNot) {
  ASSERT_TRUE(session_->SetInFlight(2).ok());
  Hold();
  std::future<PredictResult> first = Submit(1), second = Submit(2);
  ASSERT_TRUE(Eventually([&] { return begun_ == 2; }));
  session_->CancelRequest(1);
  EXPECT_EQ(first.get().status.code(), StatusCode::kCancelled);
  released_ = true;
  ExpectAnswer(second.get(), 2);
  ExpectAnswer(Submit(3).get(), 3);
}

TEST_F(RequestsTest, CancelEndsThemAll) {
  Hold();
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 4; ++i) results.push_back(Submit(1));
  ASSERT_TRUE(Eventually([&] { return begun_ == 4; }));
  session_->Cancel();
  for (std::future<PredictResult>& result : results) EXPECT_EQ(result.get().status.code(), StatusCode::kCancelled);
}

TEST_F(RequestsTest, TheTimeLimitCountsFromTheCall) {
  ASSERT_TRUE(session_->SetInFlight(2).ok());
  Hold();
  RequestOptions options;
  options.timeout = milliseconds(30);
  std::future<PredictResult> first = Submit(1, std::move(options));
  ASSERT_TRUE(Eventually([&] { return begun_ == 1; }));
  const auto over = std::chrono::steady_clock::now() + milliseconds(31);
  ASSERT_TRUE(Eventually([&] { return std::chrono::steady_clock::now() >= over; }));
  released_ = true;
  const PredictResult result = first.get();
  EXPECT_EQ(result.status.code(), StatusCode::kDeadlineExceeded) << result.status.ToString();
  EXPECT_NE(result.status.ToString().find("30ms"), std::string::npos) << result.status.ToString();
  ExpectAnswer(Submit(2).get(), 2);
}

TEST_F(RequestsTest, ALimitOfCenturiesIsNone) {
  ASSERT_TRUE(session_->SetInFlight(5).ok());
  Hold();
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 5; ++i) {
    RequestOptions options;
    options.timeout = std::chrono::nanoseconds::max();
    results.push_back(Submit(1, std::move(options)));
  }
  released_ = true;
  for (std::future<PredictResult>& result : results) ExpectAnswer(result.get(), 1);
}

TEST_F(RequestsTest, OwnersOfWhatACallbackLeavesMayCallTheSession) {
  auto memory = std::make_shared<std::vector<float>>(6, 1.0F);
  std::atomic<bool> freed{false};
  std::shared_ptr<void> owner(memory.get(), [this, memory, &freed](void*) {
    session_->CancelRequest(99);
    freed = true;
  });
  std::vector<Tensor> inputs = {*Tensor::Wrap(DType::kFloat32, {2, 3}, memory->data(), 24, std::move(owner))};
  ASSERT_TRUE(session_->PredictAsync(std::move(inputs), [](PredictResult&&) {}).ok());
  EXPECT_TRUE(Eventually([&] { return freed.load(); }));
}

TEST_F(RequestsTest, NumbersGoOnWhenTheSettingsChange) {
  EXPECT_EQ(Submit(1).get().request, 1u);
  ASSERT_TRUE(Eventually([&] { return session_->SetInFlight(3).ok(); }));
  EXPECT_EQ(Submit(1).get().request, 2u);
}

TEST_F(RequestsTest, AFailureIsTheResultOfItsRequestAlone) {
  std::vector<Tensor> wrong = {*Tensor::Allocate(DType::kInt32, {2, 3})};
  Result<std::future<PredictResult>> refused = session_->PredictAsync(std::move(wrong));
  ASSERT_TRUE(refused.ok()) << refused.status().ToString();
  EXPECT_EQ(refused->get().status.code(), StatusCode::kInvalidArgument);
  hooks_->on_run = [](int run) { return run == 1 ? sdk::Status(sdk::Code::kInternal, "no") : sdk::Status(); };
  const PredictResult answered = Submit(1).get();  // the CPU runs it instead
  ExpectAnswer(answered, 1);
  EXPECT_EQ(model_.Health().incidents.size(), 1u);
  ExpectAnswer(Submit(2).get(), 2);
}

TEST_F(RequestsTest, TheEndOfTheSessionEndsThemAndCallsBack) {
  Hold();
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 4; ++i) results.push_back(Submit(1));
  session_ = nullptr;
  for (std::future<PredictResult>& result : results) {
    ASSERT_EQ(result.wait_for(milliseconds(0)), std::future_status::ready);
    EXPECT_EQ(result.get().status.code(), StatusCode::kCancelled);
  }
}

TEST_F(RequestsTest, WithoutACallbackOrASessionTheyAreRefused) {
  EXPECT_EQ(session_->PredictAsync(Input(1), nullptr).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->SetInFlight(0).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(Session().PredictAsync(Input(1)).ok());
  Session().CancelRequest(1);
  session_->CancelRequest(99);
}

TEST_F(RequestsTest, ACallbackMayComputeWhereNoOtherRequestIsInFlight) {
  const auto promise = std::make_shared<std::promise<PredictResult>>();
  std::future<PredictResult> result = promise->get_future();
  const auto compute = [this, promise](PredictResult&&) {
    PredictResult computed;
    computed.status = session_->Predict(Input(3), &computed.outputs);
    promise->set_value(std::move(computed));
  };
  ASSERT_TRUE(session_->PredictAsync(Input(1), compute).ok());
  ExpectAnswer(result.get(), 3);
}

TEST_F(RequestsTest, SetInFlightFromACallbackIsRefused) {
  const auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> refused = promise->get_future();
  const auto change = [this, promise](PredictResult&&) { promise->set_value(session_->SetInFlight(2)); };
  ASSERT_TRUE(session_->PredictAsync(Input(1), change).ok());
  EXPECT_EQ(refused.get().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace deputy
