#include "cli/inputs/picture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace deputy::cli {
namespace {

std::string Bytes(const std::string& header, size_t pixels, char value = '\xff') {
  return header + std::string(pixels, value);
}

TEST(Pgm, PixelsGoRowByRowFromBlackToWhite) {
  const Picture picture = ParsePgm("a.pgm", std::string("P5\n2 1\n255\n\x00\xff", 13)).value();
  EXPECT_EQ(picture.width, 2U);
  EXPECT_EQ(picture.height, 1U);
  EXPECT_EQ(picture.at(0, 0), 0.0F);
  EXPECT_EQ(picture.at(1, 0), 1.0F);
}

TEST(Pgm, LargestValueIsWhite) {
  EXPECT_EQ(ParsePgm("a.pgm", Bytes("P5 1 1 100 ", 1, 100)).value().at(0, 0), 1.0F);
  EXPECT_EQ(ParsePgm("a.pgm", Bytes("P5 1 1 100 ", 1, 50)).value().at(0, 0), 0.5F);
}

TEST(Pgm, CommentsInTheHeaderAreSkipped) {
  const Picture picture = ParsePgm("a.pgm", Bytes("P5\n# made by hand\n1 # width\n1\n255\n", 1)).value();
  EXPECT_EQ(picture.width, 1U);
  EXPECT_EQ(picture.at(0, 0), 1.0F);
}

TEST(Pgm, PixelThatLooksLikeSpaceIsAPixel) {
  EXPECT_EQ(ParsePgm("a.pgm", Bytes("P5 1 1 255\n", 1, '\n')).value().at(0, 0), 10.0F / 255.0F);
}

class PgmRefuses : public testing::TestWithParam<std::string> {};

TEST_P(PgmRefuses, WhatIsDamaged) {
  const auto refused = ParsePgm("a.pgm", GetParam());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().where(), "a.pgm");
}

INSTANTIATE_TEST_SUITE_P(Files, PgmRefuses,
                         testing::Values("", "P5", "P2 1 1 255 7", "P5 2 2 255 abc", "P5 0 1 255 ", "P5 1 1 0 a",
                                         "P5 1 1 65535 ab", "P5 99999999999999999999 1 255 a", "P5 5000 5000 255 a",
                                         "P5 -1 1 255 a", "P5 1 1 255", "P5 # no end"));

TEST(Pgm, MissingFileIsNotFound) { EXPECT_EQ(ReadPgm("/nowhere/a.pgm").status().code(), StatusCode::kNotFound); }

Picture Blank() { return {28, 28, std::vector<float>(28 * 28, 0.0F)}; }

TEST(DigitPicture, TwentyEightPixelsBecomeSevenLinesOfFourteen) {
  const std::vector<std::string> lines = DrawPicture(Blank(), /*utf8=*/false);
  EXPECT_EQ(lines, std::vector<std::string>(7, std::string(14, ' ')));
}

TEST(DigitPicture, WhiteIsTheDarkestShade) {
  Picture picture = Blank();
  picture.pixels.assign(picture.pixels.size(), 1.0F);
  EXPECT_EQ(DrawPicture(picture, /*utf8=*/false).front(), std::string(14, '@'));
}

TEST(DigitPicture, QuarterOfACellIsAQuarterBlock) {
  Picture picture = Blank();
  picture.pixels[1] = picture.pixels[28 + 1] = 1.0F;
  EXPECT_EQ(DrawPicture(picture, /*utf8=*/true).front(), "▝" + std::string(13, ' '));
}

TEST(DigitPicture, OddSizesAreDrawnToTheEdge) {
  const std::vector<std::string> lines = DrawPicture({3, 5, std::vector<float>(15, 1.0F)}, /*utf8=*/false);
  EXPECT_EQ(lines, (std::vector<std::string>{"@@", "@@"}));
}

TEST(DigitGallery, BlankLinesAroundARowAreLeftOut) {
  Picture picture = Blank();
  picture.pixels.assign(picture.pixels.size(), 0.0F);
  for (size_t x = 0; x < 28; ++x)
    for (size_t y = 12; y < 16; ++y) picture.pixels[y * 28 + x] = 1.0F;
  const Terminal plain;
  EXPECT_EQ(DrawGallery({picture}, {{"1 ok", Paint::kGood}}, plain), "  @@@@@@@@@@@@@@\n       1 ok\n\n");
}

}  // namespace
}  // namespace deputy::cli
