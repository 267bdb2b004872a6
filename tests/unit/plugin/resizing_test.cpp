// The checked proxy around contexts that take other shapes.
#include <gtest/gtest.h>

#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

class Resizing : public AbleDelegate {
 protected:
  Result<ResizeOutcome> Resize() {
    const int64_t dims[] = {9};
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.rank = 1;
    tensor.dims = dims;
    const deputy_tensor* border[] = {&tensor};
    return Context()->Resize(border, border);
  }
};

TEST_F(Resizing, ShowsTheShapes) {
  int64_t seen = 0;
  actor_.resized = [&](const deputy_resize_args& args, deputy_resize_outcome&) -> deputy_status* {
    seen = args.inputs[0]->dims[0] + args.input_count + args.output_count;
    return nullptr;
  };
  ASSERT_TRUE(Resize().ok());
  EXPECT_EQ(seen, 11);
  EXPECT_TRUE(Open().keeps_partitions());
}

TEST_F(Resizing, MayAskForACompile) {
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome& outcome) -> deputy_status* {
    outcome = DEPUTY_RESIZE_RECOMPILE;
    return nullptr;
  };
  EXPECT_EQ(*Resize(), ResizeOutcome::kRecompile);
}

TEST_F(Resizing, AnUnknownOutcomeIsAFault) {
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome& outcome) -> deputy_status* {
    outcome = 17;
    return nullptr;
  };
  EXPECT_EQ(Resize().status().code(), StatusCode::kPlugin);
}

TEST_F(Resizing, ARefusalIsPassedOn) {
  actor_.resized = [&](const deputy_resize_args&, deputy_resize_outcome&) {
    return actor_.Fail(DEPUTY_NOT_SUPPORTED, "static");
  };
  EXPECT_EQ(Resize().status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace deputy::host
