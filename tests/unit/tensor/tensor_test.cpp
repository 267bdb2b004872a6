#include "deputy/tensor.hpp"

#include <gtest/gtest.h>

namespace deputy {
namespace {

TEST(Tensor, MemoryIsAlignedAndZeroed) {
  const Result<Tensor> tensor = Tensor::Allocate(DType::kFloat32, {3, 5});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
  EXPECT_EQ(tensor->byte_size(), 60u);
  for (const float value : tensor->values<float>()) EXPECT_EQ(value, 0.0f);
}

TEST(Tensor, ATensorWithoutElementsIsNotEmpty) {
  const Result<Tensor> tensor = Tensor::Allocate(DType::kInt64, {0, 4});
  ASSERT_TRUE(tensor.ok());
  EXPECT_FALSE(tensor->empty());
  EXPECT_EQ(tensor->element_count(), 0);
}

TEST(Tensor, R11_NegativeExtentsAreRefused) {
  EXPECT_EQ(Tensor::Allocate(DType::kFloat32, {2, -3}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Tensor, MoreThan2To48ElementsAreRefused) {
  EXPECT_EQ(*ByteSize(DType::kFloat64, std::vector<int64_t>{int64_t{1} << 24, int64_t{1} << 24}), size_t{1} << 51);
  const Status status = Tensor::Allocate(DType::kFloat64, {int64_t{1} << 24, int64_t{1} << 25}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "shape [16777216,33554432] has a negative extent or more than 281474976710656 elements");
  EXPECT_EQ(Tensor::Allocate(DType::kUint8, {0, int64_t{1} << 31, int64_t{1} << 31}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Tensor, PackedElementsShareBytes) {
  EXPECT_EQ(*ByteSize(DType::kInt4, std::vector<int64_t>{3, 3}), 5u);
  EXPECT_EQ(*ByteSize(DType::kUint2, std::vector<int64_t>{9}), 3u);
  EXPECT_EQ(*ByteSize(DType::kInt4, std::vector<int64_t>{0}), 0u);
  EXPECT_EQ(Tensor::Allocate(DType::kInt4, {3, 3})->element_count(), 9);
}

TEST(Tensor, StringsAreNotSupported) {
  EXPECT_EQ(Tensor::Allocate(DType::kString, {1}).status().code(), StatusCode::kNotSupported);
}

TEST(Tensor, WrappingChecksTheByteCount) {
  float values[4] = {};
  EXPECT_TRUE(Tensor::Wrap(DType::kFloat32, {2, 2}, values, 16).ok());
  EXPECT_EQ(Tensor::Wrap(DType::kFloat32, {2, 3}, values, 16).status().code(), StatusCode::kInvalidArgument);
}

TEST(Tensor, CopiesShareTheBytes) {
  Result<Tensor> tensor = Tensor::Allocate(DType::kFloat32, {1});
  Tensor copy = *tensor;
  copy.mutable_values<float>()[0] = 7;
  EXPECT_EQ(tensor->values<float>()[0], 7.0f);
}

}  // namespace
}  // namespace deputy
