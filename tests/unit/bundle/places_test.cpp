// The places of files in a bundle.
#include "bundle/places.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

TEST(PlacesInABundle, AreThoseOfTheFormat) {
  for (const char* path : {"bundle.json", "config/01-a.yaml", "config/100-a", "models/m.onnx", "models/sub/m.data",
                           "plugins/a.so", "plugins/data/SHA256"})
    EXPECT_TRUE(IsPlaceInBundle(path)) << path;
}

TEST(PlacesInABundle, R196_OthersAreNone) {
  for (const char* path : {"",
                           "config",
                           "config/",
                           "config/a.yaml",
                           "config/1-a.yaml",
                           "config/01a.yaml",
                           "config/01-",
                           "config/01",
                           "config/..-x.yaml",
                           "config/conf.d/1.yaml",
                           "config/01-a/b.yaml",
                           "models/",
                           "other/a",
                           "a.yaml",
                           "plugins/SHA256SUMS",
                           "plugins/SHA256SUMS.minisig",
                           "plugins/sub/SHA256SUMS",
                           "models/SHA256SUMS",
                           "plugins/SHA256SUMS.d",
                           "plugins/sub/SHA256SUMS.d",
                           "plugins/SHA256SUMS.d/a.sha256",
                           "plugins/sub/SHA256SUMS.d/a.sha256"})
    EXPECT_FALSE(IsPlaceInBundle(path)) << path;
}

}  // namespace
}  // namespace deputy::host
