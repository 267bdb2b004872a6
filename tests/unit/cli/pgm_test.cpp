#include "cli/pgm.hpp"

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

}  // namespace
}  // namespace deputy::cli
