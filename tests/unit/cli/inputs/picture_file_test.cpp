#include "cli/inputs/picture_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "unit/cli/inputs/picture_bytes.hpp"

namespace deputy::cli {
namespace {

using namespace std::string_view_literals;

int LargestDifference(const PixelImage& a, const PixelImage& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.channels, b.channels);
  if (a.values.size() != b.values.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  return largest;
}

class PictureFormats : public testing::TestWithParam<size_t> {};

TEST_P(PictureFormats, PngAndPnmAreExactAndJpegIsNear) {
  const PixelImage image = Gradient(19, 11, GetParam());
  EXPECT_EQ(LargestDifference(DecodePicture("a", PngOf(image)).value(), image), 0);
  EXPECT_EQ(LargestDifference(DecodePicture("a", PnmOf(image)).value(), image), 0);
  EXPECT_LE(LargestDifference(DecodePicture("a", JpegOf(image)).value(), image), 6);
  EXPECT_LE(LargestDifference(DecodePicture("a", JpegOf(image, TJFLAG_PROGRESSIVE)).value(), image), 6);
}

INSTANTIATE_TEST_SUITE_P(Channels, PictureFormats, testing::Values(1, 3));

TEST(PictureFile, APngFileThatIsCutAnywhereIsRefused) {
  const std::string whole = PngOf(Gradient(4, 4, 3));
  ASSERT_TRUE(DecodePicture("a", whole).ok());
  for (size_t size = 8; size < whole.size(); ++size) {
    const Result<PixelImage> image = DecodePicture("a", whole.substr(0, size));
    ASSERT_FALSE(image.ok()) << size;
    EXPECT_NE(image.status().message().find("damaged"), std::string::npos) << image.status().ToString();
  }
}

TEST(PictureFile, AlphaIsDroppedAndColoursStay) {
  const uint8_t pixels[] = {10, 20, 30, 0, 200, 100, 50, 128};
  const PixelImage image = DecodePicture("a.png", PngOf(2, 1, PNG_FORMAT_RGBA, pixels)).value();
  EXPECT_EQ(image.channels, 3U);
  EXPECT_EQ(image.values, (std::vector<uint8_t>{10, 20, 30, 200, 100, 50}));
}

TEST(PictureFile, SixteenBitsAreReducedToEight) {
  const std::string pnm = std::string("P5 2 1 65535\n") + std::string("\x80\x80\xff\xff", 4);
  EXPECT_EQ(DecodePicture("a.pgm", pnm).value().values, (std::vector<uint8_t>{128, 255}));
}

TEST(PictureFile, OtherLargestValueIsWhite) {
  EXPECT_EQ(DecodePicture("a.pgm", "P5 2 1 100 \x32\x64").value().values, (std::vector<uint8_t>{128, 255}));
}

// The picture 1 2 3 / 4 5 6 in each of EXIF's orientations.
TEST(PictureFile, OrientationsAreThoseOfExif) {
  const PixelImage image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const std::vector<std::vector<uint8_t>> wanted = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                                    {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                                    {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const PixelImage turned = Oriented(image, orientation);
    EXPECT_EQ(turned.values, wanted[static_cast<size_t>(orientation - 1)]) << orientation;
    EXPECT_EQ(turned.width, orientation < 5 ? 3U : 2U) << orientation;
  }
  EXPECT_EQ(Oriented(image, 9).values, image.values);
}

TEST(PictureFile, OrientationOfAJpegFileIsApplied) {
  const PixelImage image = Gradient(16, 8, 3);
  const PixelImage turned = DecodePicture("a.jpg", WithOrientation(JpegOf(image), 6)).value();
  EXPECT_EQ(turned.width, 8U);
  EXPECT_LE(LargestDifference(turned, Oriented(image, 6)), 6);
}

TEST(PictureFile, NamesOfPicturesAreKnownByTheirExtension) {
  for (const char* name : {"a.png", "a.JPG", "dir.npy/a.jpeg", "a.ppm", "a.pgm", "a.webp"})
    EXPECT_TRUE(IsPictureName(name)) << name;
  for (const char* name : {"a.npy", "a.pb", "png", "a.raw", "a.png.bin"}) EXPECT_FALSE(IsPictureName(name)) << name;
}

class PictureRefuses : public testing::TestWithParam<std::string> {};

TEST_P(PictureRefuses, DamagedFile) {
  const auto refused = DecodePicture("a.png", GetParam());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.status().where(), "a.png");
}

INSTANTIATE_TEST_SUITE_P(Files, PictureRefuses,
                         testing::Values("", "GIF89a", "P6 2 2 255 abc", "P5 70000 1 255 a", "P6 65535 65535 255 a",
                                         "P5 1 1 0 a", "P5 1 1 65536 abc", "P5 0 1 255 a", "P6 # no end",
                                         "P5 99999999999999999999 1 255 a", "\xff\xd8\xff", "\x89PNG\r\n\x1a\n"));

TEST(PictureFile, TruncatedFilesAreRefused) {
  const PixelImage image = Gradient(64, 48, 3);
  for (const std::string& whole : {PngOf(image), JpegOf(image), JpegOf(image, TJFLAG_PROGRESSIVE), PnmOf(image)})
    for (const size_t part : {size_t{2}, size_t{3}, size_t{4}})
      EXPECT_FALSE(DecodePicture("a", whole.substr(0, whole.size() - whole.size() / part)).ok()) << whole.substr(0, 4);
}

TEST(PictureFile, HugeSizeInAPngHeaderIsRefusedBeforeDecoding) {
  std::string png = PngOf(Gradient(4, 4, 1));
  png.replace(16, 8, "\x00\x00\xff\xff\x00\x00\xff\xff"sv);  // width and height; the checksum is wrong then, too
  EXPECT_FALSE(DecodePicture("a.png", png).ok());
}

TEST(PictureFile, AFolderAndADeviceAreNoPictures) {
  EXPECT_EQ(ReadPicture("/dev/zero").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadPicture("/").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadPicture("/nowhere/a.png").status().code(), StatusCode::kNotFound);
}

// Files with changed, repeated and missing bytes end in an error or in a picture of a valid size.
TEST(PictureFile, MutatedFilesAreDecodedOrRefused) {
  constexpr unsigned kSeed = 14;
  std::mt19937 generator(kSeed);
  const auto below = [&](size_t limit) { return static_cast<size_t>(generator() % limit); };
  const PixelImage image = Gradient(24, 16, 3);
  size_t decoded = 0, refused = 0;
  for (const std::string& whole : {PngOf(image), JpegOf(image), JpegOf(image, TJFLAG_PROGRESSIVE),
                                   WithOrientation(JpegOf(image), 5), PnmOf(image)})
    for (int round = 0; round < 400; ++round) {
      std::string mutant = whole;
      for (size_t change = 0; change <= below(4); ++change) {
        const size_t at = below(mutant.size()), length = std::min(below(16), mutant.size() - at);
        switch (below(3)) {
          case 0: mutant[at] = static_cast<char>(below(256)); break;
          case 1: mutant.insert(below(mutant.size()), mutant.substr(at, length)); break;
          default: mutant.erase(at, std::min(length, mutant.size() - 1)); break;
        }
      }
      const auto result = DecodePicture("mutant", mutant);
      (result.ok() ? decoded : refused) += 1;
      if (!result.ok()) continue;
      EXPECT_EQ(result->values.size(), result->width * result->height * result->channels) << "seed " << kSeed;
    }
  EXPECT_GT(decoded, 0U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace deputy::cli
