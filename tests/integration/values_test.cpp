// The C++ API on a model of sequences and optionals: what goes in, what comes out, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

const std::string kValues = DEPUTY_TEST_MODELS "/values.onnx";

Tensor Row(std::vector<float> values) {
  return *Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}
ModelValue SequenceOf(std::vector<Tensor> elements) {
  return *ModelValue::Sequence(DType::kFloat32, std::move(elements));
}

class ValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    const Context context = *Context::FromYamlText("values", "version: 1\nlog: {level: error}\n");
    const Status status = model_.Build(kValues, context);
    ASSERT_TRUE(status.ok()) << status.ToString();
    session_ = *model_.CreateSession();
  }
  // longer, length, there.
  std::vector<ModelValue> Predict(const ModelValue& sequence, const Tensor& x, const ModelValue& maybe) {
    std::vector<ModelValue> outputs;
    const Status status = session_.PredictValues({sequence, x, maybe}, &outputs);
    EXPECT_TRUE(status.ok()) << status.ToString();
    outputs.resize(3);
    return outputs;
  }
  std::string ErrorOf(const std::vector<ModelValue>& inputs) {
    std::vector<ModelValue> outputs;
    return session_.PredictValues(inputs, &outputs).ToString();
  }

  Model model_;
  Session session_;
};

TEST_F(ValuesTest, InputsAndOutputsSayWhatTheyAre) {
  EXPECT_EQ(model_.inputs()[0].kind, ValueKind::kSequence);
  EXPECT_EQ(model_.inputs()[1].kind, ValueKind::kTensor);
  EXPECT_EQ(model_.inputs()[2].kind, ValueKind::kOptionalSequence);
  EXPECT_EQ(model_.inputs()[2].shape, Shape{2});
  EXPECT_EQ(model_.outputs()[0].kind, ValueKind::kSequence);
  EXPECT_EQ(model_.outputs()[1].kind, ValueKind::kTensor);
}

TEST_F(ValuesTest, SequencesGoInAndComeOut) {
  const std::vector<ModelValue> outputs = Predict(SequenceOf({Row({1}), Row({2, 3})}), Row({4, 5, 6}), {});
  ASSERT_EQ(outputs[0].elements().size(), 3u);
  EXPECT_EQ(outputs[0].elements()[1].shape(), Shape{2});
  EXPECT_EQ(outputs[0].elements()[2].values<float>()[2], 6);
  EXPECT_EQ(outputs[1].tensor().values<int64_t>()[0], 3);
}

TEST_F(ValuesTest, AnOptionalIsThereOrNot) {
  EXPECT_EQ(Predict(SequenceOf({}), Row({1}), {})[2].tensor().values<uint8_t>()[0], 0);
  EXPECT_EQ(Predict(SequenceOf({}), Row({1}), SequenceOf({}))[2].tensor().values<uint8_t>()[0], 1);
}

TEST_F(ValuesTest, OneSessionTakesSequencesOfAnyLengthAndTensorsOfAnyShape) {
  ModelValue sequence = SequenceOf({});
  for (size_t i = 1; i < 5; ++i) {
    sequence = Predict(sequence, Row(std::vector<float>(i, 7)), {})[0];
    ASSERT_EQ(sequence.elements().size(), i);
    EXPECT_EQ(sequence.elements()[i - 1].shape(), Shape{static_cast<int64_t>(i)});
  }
}

TEST_F(ValuesTest, NoOutputLiesInMemoryOfAnInput) {
  float numbers[] = {1, 2};
  const Tensor borrowed = *Tensor::Wrap(DType::kFloat32, {2}, numbers, sizeof numbers);
  const ModelValue made = Predict(SequenceOf({borrowed}), Row({3}), {})[0];
  numbers[0] = 9;
  EXPECT_EQ(made.elements()[0].values<float>()[0], 1);
}

TEST_F(ValuesTest, WhatAnEarlierRunMadeStaysAsItWas) {
  const ModelValue first = Predict(SequenceOf({}), Row({1}), {})[0];
  Predict(SequenceOf({}), Row({2}), {});
  EXPECT_EQ(first.elements()[0].values<float>()[0], 1);
}

TEST_F(ValuesTest, PredictOfTensorsRefusesTheModel) {
  std::vector<Tensor> outputs;
  const Status status = session_.Predict({Row({1}), Row({1}), Row({1})}, &outputs);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.advice(), "use PredictValues");
}

TEST_F(ValuesTest, ValuesOfAnotherKindTypeOrShapeAreRefused) {
  const ModelValue sequence = SequenceOf({Row({1})}), x = Row({1}), nothing;
  const ModelValue integers = *ModelValue::Sequence(DType::kInt64, {});
  EXPECT_NE(ErrorOf({x, x, nothing}).find("input 'sequence': is a tensor, the model takes sequence of float32 [?]"),
            std::string::npos)
      << ErrorOf({x, x, nothing});
  EXPECT_NE(ErrorOf({nothing, x, nothing}).find("is empty"), std::string::npos);
  EXPECT_NE(ErrorOf({integers, x, nothing}).find("is of int64"), std::string::npos);
  EXPECT_NE(ErrorOf({sequence, sequence, nothing}).find("input 'x' is empty"), std::string::npos);
  EXPECT_NE(ErrorOf({sequence, x, sequence}).find("a sequence with an element of shape [1]"), std::string::npos);
  EXPECT_NE(ErrorOf({sequence, x}).find("2 inputs given, the model has 3"), std::string::npos);
}

TEST_F(ValuesTest, ModelsOfTensorsTakeValuesToo) {
  Model model;
  ASSERT_TRUE(model
                  .Build(DEPUTY_TEST_MODELS "/tutorial.onnx",
                         *Context::FromYamlText("plain", "version: 1\nlog: {level: error}\n"))
                  .ok());
  Session session = *model.CreateSession();
  const Tensor x = *Tensor::Allocate(DType::kFloat32, {2, 3});
  std::vector<ModelValue> values;
  std::vector<Tensor> tensors;
  ASSERT_TRUE(session.PredictValues({x, x}, &values).ok());
  ASSERT_TRUE(session.Predict({x, x}, &tensors).ok());
  ASSERT_TRUE(values[0].is_tensor());
  const std::span<const float> one = values[0].tensor().values<float>(), other = tensors[0].values<float>();
  EXPECT_TRUE(std::equal(one.begin(), one.end(), other.begin(), other.end()));
}

TEST_F(ValuesTest, AModelThatIsSavedTakesTheSame) {
  const std::string path = (std::filesystem::temp_directory_path() / "deputy_values_test.dpm").string();
  ASSERT_TRUE(model_.Save(path).ok());
  Model again;
  const Status status = again.Build(path, *Context::FromYamlText("saved", "version: 1\nlog: {level: error}\n"));
  std::filesystem::remove(path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(again.inputs()[2].kind, ValueKind::kOptionalSequence);
}

}  // namespace
}  // namespace deputy
