// The checked proxy around contexts that take other shapes.
#include <gtest/gtest.h>

#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

class Resizing : public AbleDelegate {
 protected:
  Result<ResizeOutcome> Resize() { return Resize(*Context()); }
  static Result<ResizeOutcome> Resize(ExecutionContext& context) {
    const int64_t dims[] = {9};
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.rank = 1;
    tensor.dims = dims;
    const deputy_tensor* border[] = {&tensor};
    return context.Resize(border, border);
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
  EXPECT_TRUE(Open().traits().keeps_partitions);
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

TEST_F(Resizing, TheFirstRunAfterItMustWriteItsOutputs) {
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome&) -> deputy_status* { return nullptr; };
  float in = 0, out = 0;
  const int64_t dims[] = {1};
  deputy_tensor input{}, output{};
  for (deputy_tensor* tensor : {&input, &output}) {
    tensor->struct_size = sizeof *tensor;
    tensor->dtype = DEPUTY_DTYPE_FLOAT32;
    tensor->rank = 1;
    tensor->dims = dims;
    tensor->byte_size = sizeof in;
  }
  input.data = &in;
  output.data = &out;
  const deputy_tensor* inputs[] = {&input};
  deputy_tensor* outputs[] = {&output};
  actor_.run = [](const deputy_run_args& args) { static_cast<float*>(args.outputs[0]->data)[0] = 1; };
  const std::unique_ptr<ExecutionContext> context = Context();
  ASSERT_TRUE(context->Execute({inputs, outputs}).ok());
  ASSERT_TRUE(Resize(*context).ok());
  actor_.run = nullptr;
  EXPECT_EQ(context->Execute({inputs, outputs}).code(), StatusCode::kPlugin);
}

TEST_F(Resizing, ARefusalIsPassedOn) {
  actor_.resized = [&](const deputy_resize_args&, deputy_resize_outcome&) {
    return actor_.Fail(DEPUTY_NOT_SUPPORTED, "static");
  };
  EXPECT_EQ(Resize().status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace deputy::host
