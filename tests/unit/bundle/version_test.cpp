#include "bundle/version.hpp"

#include <gtest/gtest.h>

namespace deputy::host::bundle {
namespace {

TEST(BundleVersions, R172_AreInTheirOrder) {
  const std::string_view ascending[] = {"0.9",
                                        "1.0~beta",
                                        "1.0-alpha",
                                        "1.0-alpha2",
                                        "1.0-beta",
                                        "1.0-rc1",
                                        "1.0-rc2",
                                        "1.0-rc10",
                                        "1.0",
                                        "1.0-1",
                                        "1.0-2",
                                        "1.0a",
                                        "1.0b",
                                        "1.0.1",
                                        "1.2.dev1",
                                        "1.2.rc1",
                                        "1.2",
                                        "1.2+git5",
                                        "1.9",
                                        "1.10",
                                        "1.10.0.1",
                                        "2",
                                        "2.0.1",
                                        "10",
                                        "2024-05",
                                        "2024-10",
                                        "18446744073709551616",
                                        "18446744073709551617"};
  for (size_t i = 0; i < std::size(ascending); ++i)
    for (size_t j = 0; j < std::size(ascending); ++j) {
      const int order = CompareVersions(ascending[i], ascending[j]);
      EXPECT_EQ(order < 0, i < j) << ascending[i] << " " << ascending[j];
      EXPECT_EQ(order > 0, i > j) << ascending[i] << " " << ascending[j];
    }
}

TEST(BundleVersions, ThoseThatMeanTheSameAreEqual) {
  EXPECT_EQ(CompareVersions("1.2", "1.2.0"), 0);
  EXPECT_EQ(CompareVersions("1.02", "1.2"), 0);
  EXPECT_EQ(CompareVersions("1_2", "1.2.0.0"), 0);
}

}  // namespace
}  // namespace deputy::host::bundle
