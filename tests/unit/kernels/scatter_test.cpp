#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/indexing.hpp"

namespace deputy::host {
namespace {

IndexList Indices(const std::vector<int64_t>& indices) {
  return {indices.data(), static_cast<int64_t>(indices.size()), DType::kInt64};
}

template <class T>
std::vector<T> Scattered(std::vector<T> data, const std::vector<int64_t>& indices, const std::vector<T>& updates,
                         DType dtype, ScatterReduction reduction) {
  ScatterElements(std::vector<int64_t>{static_cast<int64_t>(data.size())},
                  std::vector<int64_t>{static_cast<int64_t>(indices.size())}, 0, Indices(indices), updates.data(),
                  data.data(), dtype, reduction);
  return data;
}

TEST(Scatter, RepeatedIndicesAddUp) {
  EXPECT_EQ(Scattered<int32_t>({1, 2, 3}, {0, -3, 2}, {10, 20, 30}, DType::kInt32, ScatterReduction::kAdd),
            (std::vector<int32_t>{31, 2, 33}));
}

TEST(Scatter, IntegersWrapAround) {
  EXPECT_EQ(Scattered<int8_t>({100}, {0}, {100}, DType::kInt8, ScatterReduction::kAdd), (std::vector<int8_t>{-56}));
  EXPECT_EQ(Scattered<int64_t>({INT64_MAX}, {0}, {2}, DType::kInt64, ScatterReduction::kMul),
            (std::vector<int64_t>{-2}));
}

TEST(Scatter, SixteenBitFloatsAreCombinedAsFloats) {
  EXPECT_EQ(Scattered<uint16_t>({0x3c00}, {0}, {0x4000}, DType::kFloat16, ScatterReduction::kAdd),
            (std::vector<uint16_t>{0x4200}));
}

TEST(Scatter, NotANumberWinsOverTheLarger) {
  const std::vector<float> result =
      Scattered<float>({1, NAN}, {0, 1}, {NAN, 1}, DType::kFloat32, ScatterReduction::kMax);
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
}

TEST(Scatter, TruthsAreJoined) {
  EXPECT_EQ(Scattered<uint8_t>({0, 1}, {0, 1}, {1, 0}, DType::kBool, ScatterReduction::kAdd),
            (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(Scattered<uint8_t>({0, 1}, {0, 1}, {1, 0}, DType::kBool, ScatterReduction::kMul),
            (std::vector<uint8_t>{0, 0}));
}

TEST(Scatter, IndexOutOfRangeIsRefusedBeforeAnythingIsWritten) {
  std::vector<uint32_t> data = {0, 1, 2, 3};  // [2,2]
  const std::vector<int64_t> indices = {0, 0, 0, 2};
  const std::vector<uint32_t> updates = {10, 11};
  const Status status = ScatterND(std::vector<int64_t>{2, 2}, 2, Indices(indices), updates.data(), data.data(),
                                  DType::kUint32, ScatterReduction::kReplace);
  EXPECT_EQ(status.message(), "index 2 is outside [-2, 1] along axis 1");
  EXPECT_EQ(data[0], 0u);
}

}  // namespace
}  // namespace deputy::host
