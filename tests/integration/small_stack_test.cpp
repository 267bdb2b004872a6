// Models that are long or deeply nested, on a thread with a stack of 64 KiB: no step of loading, running and freeing a
// model may use a recursion as deep as the model is long.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStackBytes = 16 * 64 * 1024;  // a sanitizer's frames are several times as large
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif

void OnSmallStack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  const int failed = pthread_create(
      &thread, &attributes,
      [](void* self) -> void* {
        (*static_cast<std::function<void()>*>(self))();
        return nullptr;
      },
      &work);
  pthread_attr_destroy(&attributes);
  ASSERT_EQ(failed, 0);
  pthread_join(thread, nullptr);
}

class SmallStackTest : public testing::Test {
 protected:
  // The plugins, importers and tables of the process are opened once, by whichever thread is the first.
  SmallStackTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_MODELS "/relu.onnx", Context()).ok());
  }
  ~SmallStackTest() override { SetLogSink(nullptr); }

  // Loads, runs and frees the model.
  static Status Run(const std::string& name, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
    Status status;
    OnSmallStack([&] {
      Model model;
      status = model.Build(DEPUTY_TEST_MODELS "/" + name, Context());
      if (!status.ok()) return;
      Result<Session> session = model.CreateSession();
      status = session.ok() ? session->Predict(inputs, &outputs) : session.status();
    });
    return status;
  }
};

// Cases 37 and 150 of the fault catalogue.
TEST_F(SmallStackTest, R150_AChainOfManyNodes) {
  std::vector<Tensor> outputs;
  const Status status = Run("chain.onnx", {*Tensor::Allocate(DType::kFloat32, {1, 4})}, outputs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(outputs[0].values<float>()[0], 2500);  // 10000 times a quarter
}

TEST_F(SmallStackTest, R150_GraphsNestedAsDeepAsTheyMayBe) {
  std::vector<Tensor> outputs;
  const std::vector<Tensor> inputs = {
      *Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>{1, -2, 3, -4, 5, -6}),
      *Tensor::FromValues<uint8_t>(DType::kBool, {}, std::vector<uint8_t>{1}),
      *Tensor::FromValues<int64_t>(DType::kInt64, {}, std::vector<int64_t>{1})};
  const Status status = Run("nested.onnx", inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::span<const float> values = outputs[0].values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{1, 0, 3, 0, 5, 0}));
}

}  // namespace
}  // namespace deputy
