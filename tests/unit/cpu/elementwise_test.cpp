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

TEST(BitCast, KeepsTheBits) {
  const auto cast = [](DType to, const Tensor& x) {
    return RunNode(MakeBitCast, PrimitiveBuilder("", "BitCast", 26).Set("to", static_cast<int64_t>(to)), {x})[0];
  };
  EXPECT_EQ(ValuesOf<int32_t>(cast(DType::kInt32, TensorOf<float>({2}, {1, -0.0f}))),
            (std::vector<int32_t>{0x3f800000, INT32_MIN}));
  EXPECT_EQ(ValuesOf<uint64_t>(cast(DType::kUint64, TensorOf<double>({1}, {2}))),
            std::vector<uint64_t>{0x4000000000000000});
  EXPECT_EQ(ValuesOf<uint16_t>(cast(DType::kBFloat16, TensorOf<int16_t>({1}, {-1}))), std::vector<uint16_t>{0xffff});
  // A bool is 0 or 1.
  EXPECT_EQ(ValuesOf<uint8_t>(cast(DType::kBool, TensorOf<uint8_t>({3}, {0, 1, 2}))), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(BitCast, ToAnotherWidthIsRefused) {
  for (const DType to : {DType::kInt64, DType::kInt16, DType::kInt4, DType::kString})
    EXPECT_FALSE(TryRunNode(MakeBitCast, PrimitiveBuilder("", "BitCast", 26).Set("to", static_cast<int64_t>(to)),
                            {TensorOf<float>({1}, {1})})
                     .ok());
}

TEST(Swish, IsTheGateOfSwiGLU) {
  const Tensor x = TensorOf<float>({2}, {0, 2}), linear = TensorOf<float>({2}, {5, -3});
  const float gate = 2 / (1 + std::exp(-3.0f));
  ExpectFloats(RunNode(MakeSwish, PrimitiveBuilder("", "Swish", 24).Set("alpha", 1.5f), {x})[0], {0, gate});
  ExpectFloats(RunNode(MakeSwiGLU, PrimitiveBuilder("", "SwiGLU", 28).Set("alpha", 1.5f), {x, linear})[0],
               {0, -3 * gate});
  EXPECT_NE(Failure(MakeSwiGLU, PrimitiveBuilder("", "SwiGLU", 28), {x, TensorOf<float>({1}, {1})}), "");
}

TEST(SpaceToDepth, OrdersItsBlocksByTheMode) {
  const Tensor x = TensorOf<float>({1, 2, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13});
  const auto ordered = [&](const char* mode, int32_t version) {
    return RunNode(
        MakeSpaceToDepth,
        PrimitiveBuilder("", "SpaceToDepth", version).Set("blocksize", int64_t{2}).Set("mode", std::string(mode)),
        {x})[0];
  };
  ExpectFloats(ordered("DCR", 28), {0, 10, 1, 11, 2, 12, 3, 13});
  ExpectFloats(ordered("CRD", 28), {0, 1, 2, 3, 10, 11, 12, 13});
  ExpectFloats(ordered("CRD", 13), {0, 10, 1, 11, 2, 12, 3, 13});  // has no modes
}

// 2048 is the last integer that float16 counts by ones.
TEST(Range, OfHalvesIsComputedInTheTypeToStash) {
  const auto half = [](uint16_t bits) { return TensorOf<uint16_t>({}, {bits}, DType::kFloat16); };
  for (const int64_t stash : {1, 11}) {
    const PrimitiveBuilder builder = PrimitiveBuilder("", "Range", 27).Set("stash_type", stash);
    const Tensor y = RunNode(MakeRange, builder, {half(0x6800), half(0x6803), half(0x3c00)})[0];  // 2048, 2054, by 1
    EXPECT_EQ(ValuesOf<uint16_t>(y), (std::vector<uint16_t>{0x6800, 0x6800, 0x6801, 0x6802, 0x6802, 0x6802}));
  }
  EXPECT_NE(Failure(MakeRange, PrimitiveBuilder("", "Range", 27).Set("stash_type", int64_t{10}),
                    {half(0x3c00), half(0x4000), half(0x3c00)}),
            "");
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
