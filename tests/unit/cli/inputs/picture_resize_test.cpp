#include "cli/inputs/picture_resize.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "unit/cli/inputs/picture_bytes.hpp"

namespace deputy::cli {
namespace {

using Values = std::vector<uint8_t>;

TEST(PictureResize, TheSameSizeIsTheSamePicture) {
  const PixelImage image = Gradient(5, 4, 3);
  EXPECT_EQ(Resized(image, 5, 4, PictureFit::kStretch).values, image.values);
}

TEST(PictureResize, HalfTheSizeIsATriangleOverFourPixels) {
  // Distances of 0.5 and 1.5 pixels from the centre weigh 3 and 1; at the edge the outer pixel is missing.
  const PixelImage image{4, 1, 1, {0, 80, 160, 240}};
  EXPECT_EQ(Resized(image, 2, 1, PictureFit::kStretch).values, (Values{57, 183}));
}

TEST(PictureResize, EnlargementIsLinearBetweenCentres) {
  const PixelImage image{2, 1, 1, {0, 100}};
  EXPECT_EQ(Resized(image, 4, 1, PictureFit::kStretch).values, (Values{0, 25, 75, 100}));
}

TEST(PictureResize, AConstantPictureStaysConstant) {
  const PixelImage image{37, 23, 3, Values(37 * 23 * 3, 201)};
  for (const PictureFit fit : {PictureFit::kStretch, PictureFit::kCrop})
    EXPECT_EQ(Resized(image, 10, 50, fit).values, Values(10 * 50 * 3, 201));
}

TEST(PictureResize, LetterboxKeepsTheAspectRatioBetweenBlackBars) {
  const PixelImage image{4, 2, 1, Values(8, 9)};
  EXPECT_EQ(Resized(image, 4, 4, PictureFit::kLetterbox).values,
            (Values{0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0}));
}

TEST(PictureResize, CropTakesTheMiddle) {
  const PixelImage image{4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(Resized(image, 2, 2, PictureFit::kCrop).values, (Values{2, 3, 6, 7}));
}

TEST(PictureResize, OnePixelBecomesManyAndManyBecomeOne) {
  EXPECT_EQ(Resized({1, 1, 1, {77}}, 3, 2, PictureFit::kStretch).values, Values(6, 77));
  EXPECT_EQ(Resized({3, 1, 1, {10, 20, 30}}, 1, 1, PictureFit::kStretch).values, (Values{20}));
}

TEST(PictureChannels, GreyIsTheLumaOfBt601) {
  const PixelImage image{4, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9}};
  EXPECT_EQ(WithChannels(image, 1).values, (Values{76, 150, 29, 9}));
}

TEST(PictureChannels, GreyIsRepeated) {
  EXPECT_EQ(WithChannels({2, 1, 1, {4, 5}}, 3).values, (Values{4, 4, 4, 5, 5, 5}));
}

}  // namespace
}  // namespace deputy::cli
