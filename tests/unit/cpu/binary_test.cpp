// The operators whose inputs broadcast against each other, each as a node would run.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

TEST(Add, WorksAtRankTen) {
  const Shape shape = {1, 2, 1, 1, 2, 1, 1, 1, 1, 2}, other = {2, 1, 1, 1, 1, 1};
  const Tensor out =
      RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
              {TensorOf<int32_t>(shape, {1, 2, 3, 4, 5, 6, 7, 8}), TensorOf<int32_t>(other, {10, 20})})[0];
  EXPECT_EQ(ValuesOf<int32_t>(out), (std::vector<int32_t>{11, 12, 23, 24, 15, 16, 27, 28}));
}

TEST(Add, WorksWhereExtentsAreKnownOnlyAtTheRun) {
  const Tensor out = RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
                             {TensorOf<float>({2}, {1, 2}), TensorOf<float>({}, {3})}, {.hide_shapes = true})[0];
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{4, 5}));
}

TEST(Add, OfBoolIsRefusedWithTheReason) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeAdd, PrimitiveBuilder("", "Add", 14), {TensorOf<bool>({1}, {true}), TensorOf<bool>({1}, {true})});
  EXPECT_EQ(out.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(out.status().message(), "Add of bool is not supported");
}

TEST(Add, OutputThatTheInputsDoNotReachIsNeverWritten) {
  const Tensor input = TensorOf<float>({2}, {4, 9}), output = TensorOf<float>({3}, {-1, -1, -1});
  EXPECT_FALSE(RunUnchecked(MakeAdd, PrimitiveBuilder("", "Add", 14), {input, input}, output).ok());
  EXPECT_EQ(ValuesOf<float>(output), (std::vector<float>{-1, -1, -1}));
}

TEST(Xor, ReadsAnyByteButZeroAsTrue) {
  const Tensor odd = TensorOf<uint8_t>({3}, {0, 2, 2}, DType::kBool),
               other = TensorOf<uint8_t>({3}, {1, 1, 0}, DType::kBool);
  const Tensor out = RunNode(MakeXor, PrimitiveBuilder("", "Xor", 7), {odd, other})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0, 1}));
}

TEST(Equal, OfBoolComparesTruth) {
  const Tensor out =
      RunNode(MakeEqual, PrimitiveBuilder("", "Equal", 13),
              {TensorOf<uint8_t>({2}, {2, 0}, DType::kBool), TensorOf<uint8_t>({}, {1}, DType::kBool)})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0}));
}

TEST(Mod, OfFloatsNeedsFmod) {
  const std::vector<Tensor> inputs = {TensorOf<float>({1}, {-7}), TensorOf<float>({1}, {3})};
  PrimitiveBuilder builder("", "Mod", 13);
  EXPECT_EQ(TryRunNode(MakeMod, builder, inputs).status().code(), StatusCode::kNotSupported);
  builder.Set("fmod", int64_t{1});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeMod, builder, inputs)[0]), std::vector<float>{-1});
}

TEST(Sum, OfFloat16DoesNotOverflowOnTheWay) {
  const auto half = [](uint16_t bits) { return TensorOf<uint16_t>({1}, {bits}, DType::kFloat16); };
  const std::vector<Tensor> terms = {half(0x7bff), half(0x7bff), half(0xfbff)};  // the largest number
  EXPECT_EQ(ValuesOf<uint16_t>(RunNode(MakeSum, PrimitiveBuilder("", "Sum", 13), terms)[0]),
            (std::vector<uint16_t>{0x7bff}));
}

using Bytes = std::vector<uint8_t>;

TEST(BitShift, ByTheWidthNothingIsLeft) {
  const auto shifted = [](const char* direction) {
    const PrimitiveBuilder builder = PrimitiveBuilder("", "BitShift", 11).Set("direction", std::string(direction));
    return ValuesOf<uint8_t>(RunNode(
        MakeBitShift, builder, {TensorOf<uint8_t>({3}, {0x81, 0x81, 0x81}), TensorOf<uint8_t>({3}, {0, 1, 8})})[0]);
  };
  EXPECT_EQ(shifted("LEFT"), (Bytes{0x81, 0x02, 0x00}));
  EXPECT_EQ(shifted("RIGHT"), (Bytes{0x81, 0x40, 0x00}));
}

TEST(BitShift, AllByOneNumber) {
  const auto shifted = [](const char* direction, uint16_t by) {
    const PrimitiveBuilder builder = PrimitiveBuilder("", "BitShift", 11).Set("direction", std::string(direction));
    return ValuesOf<uint16_t>(
        RunNode(MakeBitShift, builder, {TensorOf<uint16_t>({2}, {0x8001, 0x00ff}), TensorOf<uint16_t>({1}, {by})})[0]);
  };
  EXPECT_EQ(shifted("LEFT", 4), (std::vector<uint16_t>{0x0010, 0x0ff0}));
  EXPECT_EQ(shifted("RIGHT", 4), (std::vector<uint16_t>{0x0800, 0x000f}));
  EXPECT_EQ(shifted("LEFT", 16), (std::vector<uint16_t>{0, 0}));
  EXPECT_EQ(shifted("RIGHT", 999), (std::vector<uint16_t>{0, 0}));
}

TEST(BitShift, WithoutADirectionIsRefused) {
  const Tensor one = TensorOf<uint8_t>({1}, {1});
  EXPECT_EQ(Failure(MakeBitShift, PrimitiveBuilder("", "BitShift", 11), {one, one}),
            "direction must be LEFT or RIGHT, got ''");
}

}  // namespace
}  // namespace deputy::host
