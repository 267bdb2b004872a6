// The caller's tensors: which outputs are written in place, which are copied, and which may not share memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

constexpr size_t kWidth = 400;  // of many_outputs.onnx; behind them come x0, y1 again, and the positions
constexpr size_t kInput = kWidth, kRepeated = kWidth + 1, kDynamic = kWidth + 2;

class ManyOutputsTest : public testing::Test {
 protected:
  ManyOutputsTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/many_outputs.onnx", Context());
    EXPECT_TRUE(status.ok()) << status.ToString();
    session_ = std::move(*model_.CreateSession());
    for (size_t i = 0; i < kWidth; ++i) {
      const auto number = static_cast<float>(i);
      inputs_.push_back(*Tensor::FromValues<float>(DType::kFloat32, {2, 3},
                                                   std::vector<float>{number, -number, number + 0.5f, 0, -1, 1}));
    }
  }
  ~ManyOutputsTest() override { SetLogSink(nullptr); }

  void ExpectRight(const std::vector<Tensor>& outputs) {
    ASSERT_EQ(outputs.size(), kWidth + 3);
    for (size_t i = 0; i < kWidth + 2; ++i) {
      const std::span<const float> in = inputs_[i < kWidth ? i : i - kWidth].values<float>();
      const std::span<const float> out = outputs[i].values<float>();
      ASSERT_EQ(out.size(), in.size());
      for (size_t j = 0; j < in.size(); ++j) ASSERT_EQ(out[j], i == kInput ? in[j] : std::max(in[j], 0.0f)) << i;
    }
    EXPECT_EQ(outputs[kDynamic].shape(), (Shape{2, 5}));
  }
  std::string Refusal(std::vector<Tensor>& outputs) {
    const Status status = session_.Predict(inputs_, &outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    return status.message();
  }

  Model model_;
  Session session_;
  std::vector<Tensor> inputs_;
};

TEST_F(ManyOutputsTest, EachIsWrittenInPlace) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  ExpectRight(outputs);
  const std::vector<Tensor> before = outputs;
  for (Tensor& output : outputs) std::memset(output.mutable_data(), 0xff, output.byte_size());
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  ExpectRight(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].data(), before[i].data()) << i;
}

TEST_F(ManyOutputsTest, InputsMayShareMemory) {
  for (Tensor& input : inputs_) input = inputs_[7];
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  for (size_t i = 0; i < kWidth; ++i) EXPECT_EQ(outputs[i].values<float>()[2], 7.5f);
}

TEST_F(ManyOutputsTest, AnOutputInAnInputIsRefusedAlsoAfterARunThatWentWell) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  const Tensor own = outputs[300];
  outputs[300] = inputs_[3];
  EXPECT_EQ(Refusal(outputs), "output 'y300' shares memory with an input");
  outputs[300] = own;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  ExpectRight(outputs);
}

// Its owner would read what the run has not written there.
TEST_F(ManyOutputsTest, R187_LentMemoryOfAnotherShapeIsRefused) {
  std::vector<float> memory(16, 7);
  const auto lent = [&](DType dtype, Shape shape) {
    const size_t bytes = *ByteSize(dtype, shape);
    return *Tensor::Wrap(dtype, std::move(shape), memory.data(), bytes);
  };
  std::vector<Tensor> outputs(kWidth + 3);
  outputs[5] = lent(DType::kFloat32, {3, 2});
  EXPECT_EQ(Refusal(outputs), "output 'y5' is float32 [2,3], the bound tensor is float32 [3,2]");
  outputs[5] = lent(DType::kInt32, {2, 3});
  EXPECT_EQ(Refusal(outputs), "output 'y5' is float32 [2,3], the bound tensor is int32 [2,3]");
  // One whose extents only the run knows.
  outputs[5] = Tensor();
  std::vector<int64_t> positions(12, 7);
  outputs[kDynamic] = *Tensor::Wrap(DType::kInt64, {2, 6}, positions.data(), 12 * sizeof(int64_t));
  const Status status = session_.Predict(inputs_, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find("the bound tensor is int64 [2,6]"), std::string::npos) << status.message();
  // Of the right shape it is written; memory that the tensor owns is replaced.
  outputs[kDynamic] = Tensor();
  outputs[5] = lent(DType::kFloat32, {2, 3});
  outputs[6] = *Tensor::Allocate(DType::kFloat32, {7});
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  EXPECT_EQ(memory[0], 5);
  EXPECT_EQ(outputs[6].shape(), (Shape{2, 3}));
}

TEST_F(ManyOutputsTest, TwoOutputsThatShareOneByteAreRefused) {
  std::vector<float> memory(12);
  std::vector<Tensor> outputs(kWidth + 3);
  outputs[20] = *Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data(), 24);
  outputs[310] = *Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data() + 5, 24);
  EXPECT_EQ(Refusal(outputs), "outputs 'y20' and 'y310' share memory");
  outputs[310] = *Tensor::Wrap(DType::kFloat32, {2, 3}, memory.data() + 6, 24);
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  ExpectRight(outputs);
}

TEST_F(ManyOutputsTest, AnOutputThatIsAnInputIsNeverWrittenOverIt) {
  std::vector<Tensor> outputs(kWidth + 3);
  outputs[kInput] = inputs_[0];
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  EXPECT_NE(outputs[kInput].data(), inputs_[0].data());
  ExpectRight(outputs);
}

// They are written after the run, and would overwrite what it has made.
TEST_F(ManyOutputsTest, ACopiedOutputThatSharesMemoryWithAnotherIsRefused) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  const std::vector<Tensor> own = outputs;
  outputs[kRepeated] = outputs[5];
  EXPECT_EQ(Refusal(outputs), "outputs 'y5' and 'y1' share memory");
  outputs = own;
  outputs[kInput] = outputs[kRepeated];
  EXPECT_EQ(Refusal(outputs), "outputs 'x0' and 'y1' share memory");
  outputs = own;
  ASSERT_TRUE(session_.Predict(inputs_, &outputs).ok());
  ExpectRight(outputs);
}

TEST(Binding, NamesThatAreNotPrintableAreEscaped) {
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/unprintable_outputs.onnx", Context()).ok());
  Session session = *model.CreateSession();
  const Tensor x = *Tensor::Allocate(DType::kFloat32, {2, 3});
  std::vector<Tensor> outputs = {Tensor(), x};
  EXPECT_EQ(session.Predict({x}, &outputs).message(), R"(output 'two\x0alines' shares memory with an input)");
  outputs = {*Tensor::Allocate(DType::kFloat32, {2, 3}), Tensor()};
  outputs[1] = outputs[0];
  EXPECT_EQ(session.Predict({x}, &outputs).message(), R"(outputs 'red\x1b[31m' and 'two\x0alines' share memory)");
}

}  // namespace
}  // namespace deputy
