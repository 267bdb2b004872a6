// The digest against what Python's hashlib.blake2b(..., digest_size=32) says.
#include "base/digest.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace deputy::host {
namespace {

std::vector<uint8_t> Counting(size_t count) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

struct Known {
  size_t count;
  const char* digest;
};
class DigestOf : public ::testing::TestWithParam<Known> {};

TEST_P(DigestOf, CountingBytesIsTheKnownOne) {
  EXPECT_EQ(HexText(Digester().Add(Counting(GetParam().count)).Finish()), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(
    Lengths, DigestOf,
    ::testing::Values(Known{0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
                      Known{1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
                      Known{127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
                      Known{128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
                      Known{129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
                      Known{256, "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835"},
                      Known{257, "45f7f084c30bac7cbae2e1963bc6e6b0d8cb227a12927e97fb941d288fb1f9a3"},
                      Known{1000, "c636324d47d89f2b2434dc2c994100663fbbaea880ff020fc5de89dd0f77a1ec"}),
    [](const auto& tested) { return "Bytes" + std::to_string(tested.param.count); });

TEST(Digest, DoesNotDependOnHowTheBytesWereCut) {
  const std::vector<uint8_t> bytes = Counting(1000);
  const Digest whole = Digester().Add(bytes).Finish();
  for (const size_t step : {1, 7, 127, 128, 129, 300}) {
    Digester digester;
    for (size_t at = 0; at < bytes.size(); at += step)
      digester.Add(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    EXPECT_EQ(digester.Finish(), whole) << "in steps of " << step;
  }
}

TEST(Digest, TellsTextsOfAnotherCutApart) {
  EXPECT_NE(Digester().AddText("ab").AddText("c").Finish(), Digester().AddText("a").AddText("bc").Finish());
}

}  // namespace
}  // namespace deputy::host
