#include "cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(ExitCode, ConfigurationIsTwoAtEveryStage) {
  for (const Stage stage : {Stage::kSetup, Stage::kDelegates, Stage::kModel, Stage::kRun})
    EXPECT_EQ(ExitCodeFor(stage, StatusCode::kConfig), 2);
}

TEST(ExitCode, PluginIsFourAtEveryStage) {
  for (const Stage stage : {Stage::kSetup, Stage::kDelegates, Stage::kModel, Stage::kRun})
    EXPECT_EQ(ExitCodeFor(stage, StatusCode::kPlugin), 4);
}

TEST(ExitCode, DamagedModelIsThree) { EXPECT_EQ(ExitCodeFor(Stage::kModel, StatusCode::kModel), 3); }

TEST(ExitCode, MissingModelIsThree) { EXPECT_EQ(ExitCodeFor(Stage::kModel, StatusCode::kNotFound), 3); }

TEST(ExitCode, OperatorThatNobodyHasIsThree) { EXPECT_EQ(ExitCodeFor(Stage::kModel, StatusCode::kNotSupported), 3); }

TEST(ExitCode, MissingInputFileIsTwo) { EXPECT_EQ(ExitCodeFor(Stage::kSetup, StatusCode::kNotFound), 2); }

TEST(ExitCode, ShapeThatDoesNotFitIsTwo) { EXPECT_EQ(ExitCodeFor(Stage::kModel, StatusCode::kInvalidArgument), 2); }

TEST(ExitCode, MissingRequiredDelegateIsFour) { EXPECT_EQ(ExitCodeFor(Stage::kDelegates, StatusCode::kNotFound), 4); }

TEST(ExitCode, FailureOfARunIsFive) {
  EXPECT_EQ(ExitCodeFor(Stage::kRun, StatusCode::kInvalidArgument), 5);
  EXPECT_EQ(ExitCodeFor(Stage::kRun, StatusCode::kDeviceLost), 5);
  EXPECT_EQ(ExitCodeFor(Stage::kRun, StatusCode::kInternal), 5);
}

}  // namespace
}  // namespace deputy::cli
