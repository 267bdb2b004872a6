// Bundles as text and as JSON, and the comparison of two of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/bundle.hpp"

namespace deputy::cli {

// One item that two bundles do not share: "plugin", "file", "configuration"; before or after is missing where only one
// has it.
struct BundleDifference {
  std::string kind, name;
  std::optional<std::string> before, after;  // the version of a plugin, the SHA-256 of a file, the layers
  std::vector<BundleDifference> values;      // of the configuration, by their paths
  std::string problem;                       // why the values could not be compared
};

// Plugins by id, files by path, without bundle.json, which lists the plugins, and at last the configuration, if its
// values differ or cannot be read here.
std::vector<BundleDifference> CompareBundles(const BundleInfo& before, const BundleInfo& after);

Json ToJson(const BundleInfo& info);
Json ToJson(const BundleVerification& verification);
Json ToJson(const std::vector<BundleDifference>& differences);
Json ToJson(const std::vector<InstalledBundle>& bundles);

Shown BundleText(const BundleInfo& info, const Terminal& terminal);
// "digits 1.2"
std::string BundleTitle(const BundleInfo& info);
// "B1E5A04D2C6D8F17", "B1E5A04D2C6D8F17 until 2027-01-31"
std::string SignerText(const BundleInfo& info);
uint64_t TotalBytes(const BundleInfo& info);

// "digits-1.2.dpb" or a path to it: name and version, which begins at the first '-' before a digit.
struct BundleFileName {
  std::string name, version;
};
std::optional<BundleFileName> SplitBundleFileName(const std::string& path);

}  // namespace deputy::cli
