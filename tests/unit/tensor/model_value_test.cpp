#include "deputy/model_value.hpp"

#include <gtest/gtest.h>

#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

Tensor Floats(std::vector<float> values) {
  return *Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}

TEST(ModelValue, NothingIsNeitherATensorNorASequence) {
  const ModelValue nothing;
  EXPECT_TRUE(nothing.empty());
  EXPECT_FALSE(nothing.is_tensor());
  EXPECT_FALSE(nothing.is_sequence());
  EXPECT_TRUE(nothing.elements().empty());
}

TEST(ModelValue, ASequenceWithoutElementsIsThere) {
  const ModelValue sequence = *ModelValue::Sequence(DType::kInt64, {});
  EXPECT_FALSE(sequence.empty());
  EXPECT_TRUE(sequence.is_sequence());
  EXPECT_EQ(sequence.dtype(), DType::kInt64);
}

TEST(ModelValue, CopiesOfASequenceShareTheElements) {
  const ModelValue sequence = *ModelValue::Sequence(DType::kFloat32, {Floats({1}), Floats({2, 3})});
  const ModelValue copy = sequence;
  EXPECT_EQ(copy.elements()[1].data(), sequence.elements()[1].data());
}

TEST(ModelValue, ElementsOfAnotherTypeAreRefused) {
  const Result<ModelValue> mixed = ModelValue::Sequence(DType::kInt64, {Floats({1})});
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.status().message(), "element 0 of a sequence of int64 is float32");
}

TEST(ModelValue, EmptyTensorsAreNoElements) {
  EXPECT_FALSE(ModelValue::Sequence(DType::kFloat32, {Floats({1}), Tensor()}).ok());
}

TEST(HeldValue, ATensorBecomesAValueOfItsOwnBytes) {
  const Tensor tensor = Floats({1, 2});
  deputy_tensor passed = {};
  passed.dtype = DEPUTY_DTYPE_FLOAT32;
  passed.rank = 1;
  passed.dims = tensor.shape().data();
  passed.data = const_cast<void*>(tensor.data());
  passed.byte_size = tensor.byte_size();
  const Result<ModelValue> value = ValueOf(passed);
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  EXPECT_NE(value->tensor().data(), tensor.data());
  EXPECT_EQ(value->tensor().values<float>()[1], 2);
}

TEST(HeldValue, WhatATensorStandsForIsShared) {
  const ModelValue sequence = *ModelValue::Sequence(DType::kFloat32, {Floats({1})});
  deputy_tensor passed = {};
  passed.memory = kHeldMemory;
  passed.data = const_cast<ModelValue*>(&sequence);
  EXPECT_EQ(HeldValue(passed), &sequence);
  EXPECT_EQ(ValueOf(passed)->elements()[0].data(), sequence.elements()[0].data());
}

}  // namespace
}  // namespace deputy::host
