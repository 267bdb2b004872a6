#include <gtest/gtest.h>

#include <vector>

#include "kernels/indexing.hpp"

namespace deputy::host {
namespace {

IndexList List(const std::vector<int64_t>& indices) {
  return {indices.data(), static_cast<int64_t>(indices.size()), DType::kInt64};
}

TEST(Gather, IndexOutOfRangeNamesIndexRangeAndAxis) {
  const std::vector<int64_t> indices = {0, 7};
  const Status status = CheckIndices(List(indices), 5, 0);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "index 7 is outside [-5, 4] along axis 0");
}

TEST(Gather, LowestIndexOfTheAxisIsInRange) {
  const std::vector<int64_t> indices = {-5, 4};
  EXPECT_TRUE(CheckIndices(List(indices), 5, 0).ok());
}

TEST(Gather, AnyIndexIntoAnEmptyAxisIsOutOfRange) {
  const std::vector<int64_t> indices = {0};
  EXPECT_EQ(CheckIndices(List(indices), 0, 2).message(), "index 0 is used along axis 2, which has no elements");
}

TEST(GatherElements, IndexOutOfRangeIsRefusedWithoutReadingThroughIt) {
  const std::vector<int64_t> indices = {0, 1, INT64_MAX, 0};
  const std::vector<uint32_t> data = {0, 1, 2, 3};  // [2,2]
  std::vector<uint32_t> target(4, 0);
  ThreadPool pool(1);
  const Status status = GatherElements(std::vector<int64_t>{2, 2}, std::vector<int64_t>{2, 2}, 1, List(indices),
                                       data.data(), target.data(), sizeof(uint32_t), pool);
  EXPECT_EQ(status.message(), "index 9223372036854775807 is outside [-2, 1] along axis 1");
}

TEST(GatherND, IndexOutOfRangeIsRefusedWithoutReadingThroughIt) {
  const std::vector<int64_t> indices = {0, 0, 1, 2};
  const std::vector<uint32_t> data = {0, 1, 2, 3};  // [2,2]
  std::vector<uint32_t> target(2, 99);
  ThreadPool pool(1);
  const GatherTuples tuples{.batch_dims = 0, .batches = 1, .tuples_per_batch = 2, .tuple = 2};
  const Status status =
      GatherND(std::vector<int64_t>{2, 2}, tuples, List(indices), data.data(), target.data(), sizeof(uint32_t), pool);
  EXPECT_EQ(status.message(), "index 2 is outside [-2, 1] along axis 1");
}

}  // namespace
}  // namespace deputy::host
