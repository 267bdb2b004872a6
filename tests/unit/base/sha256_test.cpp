// Digests of NIST's examples (FIPS 180-4) and of text in pieces.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace deputy::host {
namespace {

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// By both codes, which must agree.
std::string HexOf(std::string_view text) {
  const std::string portable = HexText(Sha256(Sha256::Code::kPortable).Add(BytesOf(text)).Finish());
  EXPECT_EQ(HexText(Sha256().Add(BytesOf(text)).Finish()), portable) << text.size();
  return portable;
}

TEST(Sha256Test, ExamplesOfTheStandard) {
  EXPECT_EQ(HexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOf(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, TextsOfAllLengthsHaveOneDigestByBothCodes) {
  std::string text;
  std::set<std::string> digests;
  for (int length = 0; length < 400; ++length) {
    digests.insert(HexOf(text));
    text += static_cast<char>(length * 31 + length / 7);
  }
  EXPECT_EQ(digests.size(), 400u);
}

TEST(Sha256Test, PiecesOfAnySizeGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const std::string whole = HexOf(text);
  for (size_t piece = 1; piece <= 130; ++piece) {
    Sha256 sha256;
    for (size_t at = 0; at < text.size(); at += piece) sha256.Add(BytesOf(std::string_view(text).substr(at, piece)));
    EXPECT_EQ(HexText(sha256.Finish()), whole) << piece;
  }
}

}  // namespace
}  // namespace deputy::host
