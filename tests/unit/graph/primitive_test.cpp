#include "graph/primitive.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deputy::host {
namespace {

// Where a vector lies depends on what was written before it: names of all lengths give all positions.
TEST(Primitive, ListsWithoutElementsComeBackWhereverTheyLie) {
  for (size_t size = 1; size <= 16; ++size) {
    const std::string name(size, 'a');
    const Primitive primitive = PrimitiveBuilder("", "Squeeze", 11).Set(name, std::vector<int64_t>{}).Finish();
    ASSERT_NE(primitive.table(), nullptr) << size;
    EXPECT_TRUE(primitive.Has(name));
    EXPECT_TRUE(primitive.GetInts(name).empty());
  }
}

TEST(Primitive, ScalarTensorsComeBackWhereverTheyLie) {
  for (size_t size = 1; size <= 16; ++size) {
    const std::string name(size, 'a');
    const Primitive primitive =
        PrimitiveBuilder("", "ConstantOfShape", 9).Set(name, *Tensor::Allocate(DType::kFloat32, {})).Finish();
    ASSERT_NE(primitive.table(), nullptr) << size;
    ASSERT_TRUE(primitive.GetTensor(name).has_value());
    EXPECT_EQ(primitive.GetTensor(name)->byte_size(), 4u);
  }
}

}  // namespace
}  // namespace deputy::host
