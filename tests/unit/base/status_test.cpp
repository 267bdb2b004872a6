#include "base/status.hpp"

#include <gtest/gtest.h>

#include "base/checked.hpp"

namespace deputy::host {
namespace {

TEST(Status, PlacesAreNamedFromOutsideIn) {
  const Status status = Error(StatusCode::kModel, "has {} inputs", 3).At("node 'a'").At("m.onnx").Advise("fix it");
  EXPECT_EQ(status.ToString(), "m.onnx: node 'a': has 3 inputs; fix it");
}

TEST(Status, TheFirstAdviceStays) {
  EXPECT_EQ(Error(StatusCode::kModel, "x").Advise("inner").Advise("outer").advice(), "inner");
}

TEST(Status, OkTakesNoPlace) { EXPECT_EQ(Status().At("somewhere").ToString(), "ok"); }

TEST(Result, AnOkStatusWithoutAValueIsAnInternalError) {
  EXPECT_EQ(Result<int>(Status()).status().code(), StatusCode::kInternal);
}

TEST(CheckedElementCount, R12_ZeroTimesHugeDimIsRefused) {
  const int64_t dims[] = {0, int64_t{1} << 62, 4};
  EXPECT_FALSE(CheckedElementCount(dims).has_value());
}

TEST(CheckedElementCount, NegativeExtentsAreRefused) {
  const int64_t dims[] = {2, -1};
  EXPECT_FALSE(CheckedElementCount(dims).has_value());
}

TEST(CheckedElementCount, AScalarHasOneElement) { EXPECT_EQ(CheckedElementCount({}), 1); }

}  // namespace
}  // namespace deputy::host
