#include "cli/digit_picture.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

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
