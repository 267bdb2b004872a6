#include "tensor/small_dims.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

SmallDims Count(size_t count) {
  SmallDims dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(static_cast<int64_t>(i));
  return dims;
}

TEST(SmallDims, KeepsElementsWhenItMovesToTheHeap) {
  const SmallDims dims = Count(20);
  ASSERT_EQ(dims.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(dims[i], static_cast<int64_t>(i));
}

TEST(SmallDims, KeepsElementsWhenItIsShortenedIntoPlaceAgain) {
  SmallDims dims = Count(12);
  dims.truncate(5);
  dims.push_back(77);
  EXPECT_EQ(std::vector<int64_t>(dims.begin(), dims.end()), (std::vector<int64_t>{0, 1, 2, 3, 4, 77}));
}

TEST(SmallDims, CopiesDoNotShareElements) {
  const SmallDims dims = Count(12);
  SmallDims copy = dims;
  copy[11] = -1;
  EXPECT_EQ(dims[11], 11);
}

}  // namespace
}  // namespace deputy::host
