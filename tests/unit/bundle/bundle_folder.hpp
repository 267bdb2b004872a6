// A scratch folder with sources of bundles.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bundle/pack.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host::bundle {

class BundleFolder : public ::testing::Test {
 protected:
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    WriteAll(path() / name, text);
    return path() / name;
  }

  // A bundle without plugins, whose model is `text`.
  std::filesystem::path Pack(const std::string& version, const std::string& text,
                             const std::filesystem::path& key = {}) const {
    BundleSources sources{"a", version, {Write("c.yaml", "version: 1\n")}, {}, {Write("m.dpm", text)}, key, {}};
    const std::filesystem::path file = path() / ("a-" + version + ".dpb");
    const Result<BundleInfo> packed = bundle::Pack(sources, file);
    EXPECT_TRUE(packed.ok()) << packed.status().ToString();
    return file;
  }

 private:
  TempFolder folder_;
};

}  // namespace deputy::host::bundle
