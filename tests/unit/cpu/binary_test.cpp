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

// The special cases are those of the definition.
TEST(Mod, OfFloatsHasTheSignOfTheDivisorSinceOpset28) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  struct {
    float x, y, rest;
  } const cases[] = {{5.5f, 2, 1.5f},   {-5.5f, 2, 0.5f}, {5.5f, -2, -0.5f}, {-5.5f, -2, -1.5f}, {0, 3, 0},
                     {-0.0f, 3, 0},     {0, -3, -0.0f},   {6, 3, 0},         {-6, 3, 0},         {6, -3, -0.0f},
                     {kInf, 3, kNan},   {1, 0, kNan},     {1, -0.0f, kNan},  {2, kInf, 2},       {-2, kInf, kInf},
                     {2, -kInf, -kInf}, {-2, -kInf, -2},  {kNan, 2, kNan},   {2, kNan, kNan}};
  for (const auto& one : cases) {
    const auto check = [&](auto rest) {
      if (std::isnan(one.rest)) {
        EXPECT_TRUE(std::isnan(rest)) << one.x << " by " << one.y;
        return;
      }
      EXPECT_EQ(rest, one.rest) << one.x << " by " << one.y;
      EXPECT_EQ(std::signbit(rest), std::signbit(one.rest)) << one.x << " by " << one.y;
    };
    const PrimitiveBuilder builder("", "Mod", 28);
    check(ValuesOf<float>(
        RunNode(MakeMod, builder, {TensorOf<float>({1}, {one.x}), TensorOf<float>({1}, {one.y})})[0])[0]);
    check(ValuesOf<double>(
        RunNode(MakeMod, builder, {TensorOf<double>({1}, {one.x}), TensorOf<double>({1}, {one.y})})[0])[0]);
  }
  const auto half = [](uint16_t bits) { return TensorOf<uint16_t>({1}, {bits}, DType::kFloat16); };
  EXPECT_EQ(ValuesOf<uint16_t>(RunNode(MakeMod, PrimitiveBuilder("", "Mod", 28), {half(0xc580), half(0x4000)})[0]),
            (std::vector<uint16_t>{0x3800}));  // -5.5 by 2 is 0.5
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

template <class T>
void ExpectShifted(const char* direction, std::initializer_list<T> by, std::initializer_list<T> expected) {
  const auto count = static_cast<int64_t>(by.size());
  const PrimitiveBuilder builder = PrimitiveBuilder("", "BitShift", 28).Set("direction", std::string(direction));
  for (const T sign : {T{1}, T{-1}}) {
    std::vector<T> wanted(expected);
    // A negative number keeps its sign bit; without one it is all that a shift to the right leaves.
    if (sign < 0)
      for (T& value : wanted) value = *direction == 'L' ? static_cast<T>(-value) : static_cast<T>(~value);
    const T start = sign > 0 ? T{100} : *direction == 'L' ? T{-100} : static_cast<T>(~T{100});
    const std::vector<Tensor> inputs = {TensorOf<T>({count}, std::vector<T>(by.size(), start)),
                                        TensorOf<T>({count}, by)};
    EXPECT_EQ(ValuesOf<T>(RunNode(MakeBitShift, builder, inputs)[0]), wanted) << direction << " of " << +start;
  }
}

TEST(BitShift, OfSignedNumbersKeepsTheSign) {
  ExpectShifted<int8_t>("RIGHT", {0, 1, 2, 7, 8, 100, -1}, {100, 50, 25, 0, 0, 0, 0});
  ExpectShifted<int16_t>("RIGHT", {0, 1, 2, 15, 16, -1}, {100, 50, 25, 0, 0, 0});
  ExpectShifted<int32_t>("RIGHT", {0, 1, 2, 31, 32, -1}, {100, 50, 25, 0, 0, 0});
  ExpectShifted<int64_t>("RIGHT", {0, 1, 2, 63, 64, -1}, {100, 50, 25, 0, 0, 0});
  ExpectShifted<int32_t>("LEFT", {0, 1, 3, 32, -1, 1000}, {100, 200, 800, 0, 0, 0});
  ExpectShifted<int64_t>("LEFT", {0, 40, 64, -1}, {100, int64_t{100} << 40, 0, 0});
}

TEST(BitShift, OfSignedNumbersDropsBitsPastTheSign) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "BitShift", 28).Set("direction", std::string("LEFT"));
  EXPECT_EQ(ValuesOf<int8_t>(
                RunNode(MakeBitShift, builder, {TensorOf<int8_t>({2}, {64, -127}), TensorOf<int8_t>({}, {1})})[0]),
            (std::vector<int8_t>{-128, 2}));
}

TEST(BitShift, WithoutADirectionIsRefused) {
  const Tensor one = TensorOf<uint8_t>({1}, {1});
  EXPECT_EQ(Failure(MakeBitShift, PrimitiveBuilder("", "BitShift", 11), {one, one}),
            "direction must be LEFT or RIGHT, got ''");
}

}  // namespace
}  // namespace deputy::host
