// Lists of sha256sum, and the paths in them.
#include "base/checksums.hpp"

#include <gtest/gtest.h>

#include <string>

namespace deputy::host {
namespace {

const std::string kDigits(64, 'a');

std::string ProblemOf(const std::string& text) { return ParseChecksums(text).status().message(); }

TEST(ChecksumsTest, BothFormsOfSha256sumAreRead) {
  const Result<Checksums> read = ParseChecksums(kDigits + "  ./b.so\n" + std::string(64, '1') + " *a/c d.so\n");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(ChecksumsText(*read), std::string(64, '1') + "  a/c d.so\n" + kDigits + "  b.so\n");
}

TEST(ChecksumsTest, OtherTextIsRefusedWithItsLine) {
  EXPECT_EQ(ProblemOf(kDigits + "  a"), "line 1 of the list of checksums is incomplete");
  EXPECT_EQ(ProblemOf(kDigits + "  a\nhello\n"), "line 2 of the list of checksums is not 'SHA-256  path'");
  EXPECT_EQ(ProblemOf(std::string(64, 'g') + "  a\n"), "line 1 of the list of checksums is not 'SHA-256  path'");
  EXPECT_EQ(ProblemOf(kDigits + "  a\n" + kDigits + "  ./a\n"), "'a' is twice in the list of checksums");
}

TEST(ChecksumsTest, PathsThatMustNotBeUsedAreRefused) {
  EXPECT_TRUE(CheckRelativePath("plugins/data/x-1.2_+~.so").ok());
  for (const auto& [path, why] : {std::pair<std::string, std::string>{"/etc/passwd", "is absolute"},
                                  {"../x", "leads out of its folder"},
                                  {"a/../../x", "leads out of its folder"},
                                  {"a//x", "has an empty part"},
                                  {"./x", "has an empty part"},
                                  {"x/", "has an empty part"},
                                  {"", "is empty or longer than 255 characters"},
                                  {std::string(256, 'a'), "is empty or longer than 255 characters"},
                                  {"a\\b", "has characters other than printable ASCII"},
                                  {"\xc3\xa9.so", "has characters other than printable ASCII"},
                                  {"1/2/3/4/5/6/7/8/9", "has too many folders"}}) {
    const Status status = CheckRelativePath(path);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << path;
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace deputy::host
