// The quiet hot path: once a session is warm, Predict asks for no memory. This program takes the place of malloc to
// count; each of the host's threads counts, whatever it allocates for.
#include <deputy.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/waiting.hpp"
#include "unit/tflite/model_writer.hpp"

extern "C" {
// glibc's own, under the names that it keeps for those who take the place of malloc.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

std::atomic<bool> g_counting{false};
std::atomic<uint64_t> g_allocations{0};

void Count() {
  if (g_counting.load(std::memory_order_relaxed)) g_allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  Count();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  Count();
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  Count();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"

namespace deputy {
namespace {

namespace fs = std::filesystem;

// Allocations of three runs after two that warmed everything up.
uint64_t AllocationsOf(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  for (int run = 0; run < 2; ++run) {
    const Status status = session.Predict(inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  g_allocations = 0;
  bool ok = true;
  g_counting = true;
  for (int run = 0; run < 3; ++run) ok = session.Predict(inputs, &outputs).ok() && ok;
  g_counting = false;
  EXPECT_TRUE(ok);
  return g_allocations;
}

Context TwoThreads() {
  return *Context::FromYamlText("allocation", "version: 1\ncpu: {threads: 2}\nlog: {level: error}\n");
}

TEST(Allocation, TheCounterCounts) {
  g_allocations = 0;
  g_counting = true;
  void* volatile memory = malloc(1);
  g_counting = false;
  free(memory);
  EXPECT_EQ(g_allocations, 1u);
}

TEST(Allocation, DigitsRunWithoutAny) {
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, TwoThreads()).ok());
  Tensor picture = *Tensor::Allocate(DType::kFloat32, {20, 1, 28, 28});
  for (float& value : picture.mutable_values<float>()) value = 0.25f;
  Session session = *model.CreateSession();
  EXPECT_EQ(AllocationsOf(session, {picture}), 0u);
}

// Submits the tensors of each result again.
class SteadyRequests {
 public:
  SteadyRequests(Session& session, int left) : session_(session), left_(left) {}
  void Submit(std::vector<Tensor>&& inputs, std::vector<Tensor>&& outputs) {
    const auto next = [this](PredictResult&& result) {
      ok_ = ok_ && result.status.ok();
      if (--left_ > 0) Submit(std::move(result.inputs), std::move(result.outputs));
      if (left_ <= 0) ++ended_;
    };
    ok_ = session_.PredictAsync(std::move(inputs), next, {std::move(outputs)}).ok() && ok_;
  }
  int ended() const { return ended_; }
  bool ok() const { return ok_; }

 private:
  Session& session_;
  std::atomic<int> left_, ended_{0};
  std::atomic<bool> ok_{true};
};

TEST(Allocation, RequestsInFlightRunWithoutAny) {
  constexpr int kInFlight = 3;
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, TwoThreads()).ok());
  Session session = *model.CreateSession();
  ASSERT_TRUE(session.SetInFlight(kInFlight).ok());
  std::vector<Tensor> inputs[kInFlight], outputs[kInFlight];
  for (std::vector<Tensor>& input : inputs) {
    input = {*Tensor::Allocate(DType::kFloat32, {20, 1, 28, 28})};
    for (float& value : input[0].mutable_values<float>()) value = 0.25f;
  }
  // The first requests of each of the threads allocate, whenever they come.
  EXPECT_TRUE(Eventually([&] {
    SteadyRequests requests(session, 30);
    std::vector<Tensor> given[kInFlight];
    for (int i = 0; i < kInFlight; ++i) given[i] = inputs[i];
    g_allocations = 0;
    g_counting = true;
    for (int i = 0; i < kInFlight; ++i) requests.Submit(std::move(given[i]), std::move(outputs[i]));
    while (requests.ended() < kInFlight) std::this_thread::yield();
    g_counting = false;
    EXPECT_TRUE(requests.ok());
    for (std::vector<Tensor>& output : outputs) output = {*Tensor::Allocate(DType::kFloat32, {20, 10})};
    return g_allocations == 0;
  }));
}

// A model of the C API with a session, and what it reads and writes.
class CDigits {
 public:
  CDigits() {
    DeputyContext* context = nullptr;
    const char* const settings[] = {"cpu.threads=2", "log.level=error"};
    Check(DeputyContextFromYaml("", settings, 2, &context));
    Check(DeputyModelFromFile(DEPUTY_TEST_DIGITS, context, nullptr, &model_));
    DeputyContextFree(context);
    Check(DeputyModelCreateSession(model_, &session_));
    Check(DeputyTensorAllocate(kDeputyFloat32, kPictures, 4, &input_));
  }
  CDigits(const CDigits&) = delete;
  CDigits& operator=(const CDigits&) = delete;
  ~CDigits() {
    DeputySessionFree(session_);
    DeputyTensorRelease(&input_);
    DeputyModelFree(model_);
  }
  static void Check(DeputyError* error) {
    EXPECT_EQ(error, nullptr) << DeputyErrorText(error);
    DeputyErrorFree(error);
  }
  void Run(DeputyTensor& output) { Check(DeputySessionRun(session_, &input_, 1, &output, 1)); }
  DeputySession* session() { return session_; }
  const DeputyTensor& input() const { return input_; }

 private:
  static constexpr int64_t kPictures[4] = {20, 1, 28, 28};
  DeputyModel* model_ = nullptr;
  DeputySession* session_ = nullptr;
  DeputyTensor input_{};
};

TEST(Allocation, RunsOfTheCApiGoWithoutAny) {
  CDigits digits;
  constexpr int64_t kScores[2] = {20, 10};
  std::vector<float> memory[2] = {std::vector<float>(200), std::vector<float>(200)};
  DeputyTensor own{}, borrowed[2];
  for (int i = 0; i < 2; ++i) borrowed[i] = {kDeputyFloat32, 2, kScores, memory[i].data(), 800, nullptr};
  for (DeputyTensor* output : {&own, &borrowed[0], &borrowed[1]}) digits.Run(*output);
  g_allocations = 0;
  g_counting = true;
  for (int run = 0; run < 3; ++run)
    for (DeputyTensor* output : {&own, &borrowed[0], &borrowed[1]}) digits.Run(*output);
  g_counting = false;
  EXPECT_EQ(g_allocations, 0u);
  DeputyTensorRelease(&own);
}

TEST(Allocation, RequestsOfTheCApiGoWithoutAny) {
  CDigits digits;
  constexpr int64_t kScores[2] = {20, 10};
  std::vector<float> memory(200);
  const DeputyTensor output{kDeputyFloat32, 2, kScores, memory.data(), 800, nullptr};
  const DeputyRequest request{sizeof(DeputyRequest), &digits.input(), 1, &output, 1, -1, 0, 0};
  std::atomic<int> ended{0};
  const auto run = [&] {
    const int before = ended;
    CDigits::Check(DeputySessionSubmit(
        digits.session(), &request,
        [](void* user, const DeputyRequestResult*) { ++*static_cast<std::atomic<int>*>(user); }, &ended, nullptr));
    while (ended == before) std::this_thread::yield();
  };
  // The first requests of each of the threads allocate, whenever they come.
  EXPECT_TRUE(Eventually([&] {
    g_allocations = 0;
    g_counting = true;
    for (int i = 0; i < 10; ++i) run();
    g_counting = false;
    return g_allocations == 0;
  }));
}

// Bound, copied, repeated and of extents that the run finds; the timeout on, and other buffers in every second run.
TEST(Allocation, ManyOutputsRunWithoutAny) {
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/many_outputs.onnx", TwoThreads()).ok());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) inputs.push_back(*Tensor::Allocate(DType::kFloat32, {2, 3}));
  Session session = *model.CreateSession();
  session.SetTimeout(std::chrono::hours(1));
  EXPECT_EQ(AllocationsOf(session, inputs), 0u);
  std::vector<Tensor> outputs[2];
  for (std::vector<Tensor>& set : outputs) ASSERT_TRUE(session.Predict(inputs, &set).ok());
  g_allocations = 0;
  g_counting = true;
  for (int run = 0; run < 4; ++run) EXPECT_TRUE(session.Predict(inputs, &outputs[run % 2]).ok());
  g_counting = false;
  EXPECT_EQ(g_allocations, 0u);
}

TEST(Allocation, AModelWithStatesRunsWithoutAny) {
  test::ModelWriter writer;
  const int32_t x = writer.Input(test::fb::TensorType_FLOAT32, {1, 1});
  const int32_t feature = writer.Constant<float>({1, 1}, {2}), time = writer.Constant<float>({1, 3}, {1, 2, 3});
  const int32_t state = writer.VariableTensor(test::fb::TensorType_FLOAT32, {1, 3});
  const int32_t y = writer.Tensor(test::fb::TensorType_FLOAT32, {1, 1});
  writer.Add(test::fb::BuiltinOperator_SVDF, {x, feature, time, -1, state}, {y},
             writer.With(6, test::fb::CreateSvdfOptions(writer.fbb, 1)));
  Model model;
  const Status status = test::Build(writer.Finish({y}), model);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(model.has_states());
  Session session = *model.CreateSession();
  EXPECT_EQ(AllocationsOf(session, {test::TensorOf<float>({1, 1}, {1})}), 0u);
}

class RealModel : public testing::TestWithParam<std::string> {};

TEST_P(RealModel, RunsWithoutAllocation) {
  const fs::path folder = fs::path(DEPUTY_TEST_DATA) / "models" / GetParam();
  if (!fs::exists(folder / "model.onnx"))
    GTEST_SKIP() << folder << " is not here; set DEPUTY_TEST_DATA to a folder with models/";
  Model model;
  const Status status = model.Build(folder / "model.onnx", TwoThreads());
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    Result<Tensor> input = ReadTensorFile(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"));
    ASSERT_TRUE(input.ok()) << input.status().ToString();
    inputs.push_back(std::move(input).value());
    // One model takes float16 and comes with float32 data; what it computes does not matter here.
    if (inputs.back().dtype() != model.inputs()[i].dtype)
      inputs.back() = *Tensor::Allocate(model.inputs()[i].dtype, inputs.back().shape());
  }
  Session session = *model.CreateSession();
  EXPECT_EQ(AllocationsOf(session, inputs), 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel,
                         testing::Values("aecmos_16k", "dnsmos_p808", "magika_fast_v2_1", "mnist_cntk",
                                         "ort_qdq_resblock", "policy_go1", "ppocr_det_v2_ch", "silero_vad_16k_op15",
                                         "squeezenet_fp16", "t5_random_encoder", "ultraface_rfb_320", "vittrack"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace deputy
