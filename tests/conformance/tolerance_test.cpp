// The kit's comparison of elements.
#include "tolerance.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace deputy::conformance {
namespace {

Tensor Floats(std::initializer_list<double> values) {
  Tensor tensor(kF32, {static_cast<int64_t>(values.size())});
  int64_t at = 0;
  for (const double value : values) tensor.Put(at++, value);
  return tensor;
}

TEST(KitTolerance, R207_LimitsOfATypeMakeNoOtherDifferenceSmall) {
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  Tolerance tolerance;
  tolerance.scaled = 0.1;
  tolerance.relative = 1e-3;
  EXPECT_EQ(LargestMagnitude(Floats({kLowest, -3, 2})), 3);
  EXPECT_EQ(Difference(Floats({kLowest, 1.05}), Floats({kLowest, 1}), tolerance), "");
  EXPECT_NE(Difference(Floats({kLowest, 42}), Floats({kLowest, 1}), tolerance), "");
  EXPECT_NE(Difference(Floats({42, 1}), Floats({kLowest, 1}), tolerance), "");
}

}  // namespace
}  // namespace deputy::conformance
