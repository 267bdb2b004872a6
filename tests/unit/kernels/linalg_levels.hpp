// For tests that run at every instruction set of this machine: those that it lacks are not in the list of parameters.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/linalg/linalg.hpp"

namespace deputy::host::linalg {

inline std::vector<Level> AvailableLevels() {
  std::vector<Level> levels;
  for (const Level level : {Level::kBaseline, Level::kV3, Level::kV4})
    if (Available(level)) levels.push_back(level);
  return levels;
}

// Forces one level for its lifetime.
class ForcedLevel {
 public:
  explicit ForcedLevel(Level level) { EXPECT_TRUE(Select(level)); }
  ~ForcedLevel() { Select(before_); }
  ForcedLevel(const ForcedLevel&) = delete;
  ForcedLevel& operator=(const ForcedLevel&) = delete;

 private:
  Level before_ = ActiveLevel();
};

class LevelTest : public ::testing::TestWithParam<Level> {
 private:
  ForcedLevel level_{GetParam()};
};

inline std::string LevelName(const ::testing::TestParamInfo<Level>& level) { return NameOf(level.param); }

}  // namespace deputy::host::linalg
