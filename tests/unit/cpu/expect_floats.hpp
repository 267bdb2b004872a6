// Compares a tensor of floats with expected numbers, to a few units in the last place of the larger ones.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {

inline void ExpectFloats(const Tensor& tensor, const std::vector<float>& want) {
  const std::vector<float> got = ValuesOf<float>(tensor);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 2e-6f * std::max(1.0f, std::fabs(want[i]))) << "at " << i;
}

}  // namespace deputy::host
