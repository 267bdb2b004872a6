// The operators with one tensor in and one out, element by element, each as a node would run.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

TEST(ThresholdedRelu, ThresholdItselfIsZero) {
  const Tensor out =
      RunNode(MakeThresholdedRelu, PrimitiveBuilder("", "ThresholdedRelu", 10), {TensorOf<float>({2}, {1, 1.5f})})[0];
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{0, 1.5f}));
}

TEST(Sqrt, OfIntegersIsRefusedWithTheReason) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeSqrt, PrimitiveBuilder("", "Sqrt", 13), {TensorOf<int32_t>({1}, {4})});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(out.status().message(), "Sqrt of int32 is not supported");
}

TEST(Sqrt, OutputOfAnotherSizeIsNeverWritten) {
  const Tensor output = TensorOf<float>({1}, {-1});
  const Status status =
      RunUnchecked(MakeSqrt, PrimitiveBuilder("", "Sqrt", 13), {TensorOf<float>({2}, {4, 9})}, output);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(ValuesOf<float>(output), std::vector<float>{-1});
}

TEST(Clip, BoundWithManyElementsIsRefused) {
  ExpectRefused(MakeClip, PrimitiveBuilder("", "Clip", 13),
                {TensorOf<float>({2}, {1, 2}), TensorOf<float>({2}, {1, 2})});
}

TEST(Dropout, TrainingIsRefusedUnlessNothingIsDropped) {
  const PrimitiveBuilder builder("", "Dropout", 13);
  const Tensor data = TensorOf<float>({2}, {1, 2}), training = TensorOf<bool>({}, {true});
  EXPECT_EQ(TryRunNode(MakeDropout, builder, {data, TensorOf<float>({}, {0.5f}), training}).status().code(),
            StatusCode::kNotSupported);
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeDropout, builder, {data, TensorOf<float>({}, {0}), training})[0]),
            (std::vector<float>{1, 2}));
}

TEST(Gelu, UnknownApproximationIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Gelu", 20).Set("approximate", std::string("erf"));
  EXPECT_EQ(Failure(MakeGelu, builder, {TensorOf<float>({1}, {1})}), "approximate must be none or tanh, got 'erf'");
}

TEST(Shrink, OfIntegersIsCutOff) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shrink", 9).Set("lambd", 0.75f).Set("bias", 0.5f);
  const Tensor x = TensorOf<int8_t>({4}, {-3, 0, 1, 4});
  EXPECT_EQ(ValuesOf<int8_t>(RunNode(MakeShrink, builder, {x})[0]), (std::vector<int8_t>{-2, 0, 0, 3}));
}

TEST(Shrink, OfIntegersEndsAtTheNumbersThatThereAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto shrunk = [](float bias, const Tensor& x) {
    return RunNode(MakeShrink, PrimitiveBuilder("", "Shrink", 9).Set("bias", bias).Set("lambd", 0.5f), {x})[0];
  };
  EXPECT_EQ(ValuesOf<int64_t>(shrunk(nan, List({-3, 0, 3}))), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(ValuesOf<int64_t>(shrunk(1e30f, List({3}))), std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(ValuesOf<uint64_t>(shrunk(-1e30f, TensorOf<uint64_t>({1}, {3}))), std::vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(ValuesOf<uint64_t>(shrunk(0, TensorOf<uint64_t>({1}, {UINT64_MAX}))), std::vector<uint64_t>{UINT64_MAX});
}

TEST(Dropout, ARatioThatCannotBeReadIsRefused) {
  EXPECT_EQ(Failure(MakeDropout, PrimitiveBuilder("", "Dropout", 13),
                    {TensorOf<float>({1}, {1}), TensorOf<uint8_t>({}, {1}, DType::kFloat8E4M3FN),
                     TensorOf<bool>({}, {true})}),
            "a ratio of dtype float8e4m3fn is not supported");
}

}  // namespace
}  // namespace deputy::host
