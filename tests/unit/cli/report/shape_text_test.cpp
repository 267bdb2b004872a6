#include "cli/report/shape_text.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(ShapeText, ExtentsAreSeparatedByX) { EXPECT_EQ(ParseShape("1x3x224x224").value(), (Shape{1, 3, 224, 224})); }

TEST(ShapeText, OneExtentIsAShape) { EXPECT_EQ(ParseShape("5").value(), Shape{5}); }

TEST(ShapeText, ZeroIsAnExtent) { EXPECT_EQ(ParseShape("2x0").value(), (Shape{2, 0})); }

TEST(ShapeText, ScalarHasNoExtents) { EXPECT_EQ(ParseShape("scalar").value(), Shape()); }

class ShapeTextRefuses : public testing::TestWithParam<const char*> {};

TEST_P(ShapeTextRefuses, WhatIsNoShape) { EXPECT_FALSE(ParseShape(GetParam()).ok()); }

INSTANTIATE_TEST_SUITE_P(Texts, ShapeTextRefuses,
                         testing::Values("", "x", "1x", "x1", "1xx2", "1,2", "-1x2", "1x-2", "-0", "1.5", "ax2",
                                         "99999999999999999999", "1 x 2"));

TEST(ShapeText, ShapeReadsBackAsTyped) {
  EXPECT_EQ(ParseShape(TypedShape({4, 0, 7})).value(), (Shape{4, 0, 7}));
  EXPECT_EQ(ParseShape(TypedShape({})).value(), Shape());
}

TEST(ShapeText, OpenExtentsAreShownByName) {
  TensorInfo info;
  info.dtype = DType::kFloat32;
  info.shape = {-1, 3, -1};
  info.dims = {"batch", "3", ""};
  EXPECT_EQ(TypeText(info), "float32 [batch,3,?]");
}

TEST(NamedValue, SplitsAtTheFirstEqualsSign) {
  const NamedValue named = ParseNamedValue("--input", "NAME=FILE", "a:0=b=c.npy").value();
  EXPECT_EQ(named.name, "a:0");
  EXPECT_EQ(named.value, "b=c.npy");
}

TEST(NamedValue, WithoutNameOrValueIsRefusedWithTheForm) {
  for (const char* text : {"photo.npy", "=photo.npy", "image="}) {
    const auto refused = ParseNamedValue("--input", "NAME=FILE", text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.status().message().find("NAME=FILE"), std::string::npos);
  }
}

}  // namespace
}  // namespace deputy::cli
