// The bitwise operators, each as a node would run.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Bytes = std::vector<uint8_t>;

Tensor Left() { return TensorOf<uint8_t>({2, 2}, {0x0f, 0xf0, 0x33, 0xff}); }
Tensor Right() { return TensorOf<uint8_t>({2}, {0x3c, 0x01}); }

TEST(Bitwise, OperandsBroadcast) {
  const auto result = [](Maker make, const char* name) {
    return ValuesOf<uint8_t>(RunNode(make, PrimitiveBuilder("", name, 18), {Left(), Right()})[0]);
  };
  EXPECT_EQ(result(MakeBitwiseAnd, "BitwiseAnd"), (Bytes{0x0c, 0x00, 0x30, 0x01}));
  EXPECT_EQ(result(MakeBitwiseOr, "BitwiseOr"), (Bytes{0x3f, 0xf1, 0x3f, 0xff}));
  EXPECT_EQ(result(MakeBitwiseXor, "BitwiseXor"), (Bytes{0x33, 0xf1, 0x0f, 0xfe}));
}

TEST(Bitwise, NotOfSignedIntegers) {
  EXPECT_EQ(ValuesOf<int32_t>(
                RunNode(MakeBitwiseNot, PrimitiveBuilder("", "BitwiseNot", 18), {TensorOf<int32_t>({2}, {0, -8})})[0]),
            (std::vector<int32_t>{-1, 7}));
}

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
  EXPECT_EQ(TryRunNode(MakeBitShift, PrimitiveBuilder("", "BitShift", 11), {Left(), Right()}).status().message(),
            "attribute 'direction' is '', neither LEFT nor RIGHT");
}

}  // namespace
}  // namespace deputy::host
