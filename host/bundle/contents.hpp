// The contents of a bundle: its description (bundle.json), its list of checksums, and the rules for both. Errors are
// those of archive.hpp, and kIncompatible for a bundle of a newer format.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksums.hpp"
#include "base/status.hpp"
#include "deputy/bundle.hpp"

namespace deputy::host::bundle {

inline constexpr mode_t kFolderMode = 0755;
inline constexpr int kFormat = 1;  // of bundle.json and the folders; a newer one is refused

// kInvalidArgument for names and versions that do not fit BundleContents.
Status CheckName(std::string_view name);
Status CheckVersion(std::string_view version);

// bundle.json, of the members of `info` that do not follow from the list of checksums.
std::string DescriptionText(const BundleInfo& info);

// A bundle as it was read. The signature is empty if there is none.
struct ReadBundle {
  BundleInfo info;
  Checksums checksums;
  std::string checksums_text, signature;
};

// Parses all of it; every listed file must have a size and the reverse.
Result<ReadBundle> MakeReadBundle(std::string checksums_text, std::string signature, std::string_view description,
                                  const std::map<std::string, uint64_t>& sizes);

// Whether InspectBundle reads this file, whose text is then in BundleFile.
bool IsConfiguration(const std::string& path);

Result<ReadBundle> ReadBundleFile(const std::filesystem::path& file);
// Writes into the folder, which exists and is empty, and compares every checksum. `durable`: waits for the disk.
Result<ReadBundle> Unpack(const std::filesystem::path& file, const std::filesystem::path& folder, bool durable);
// Of an unpacked bundle; compares no checksum.
Result<ReadBundle> ReadBundleFolder(const std::filesystem::path& folder);
// Waits until the entries of a folder are on the disk.
Status FlushFolder(const std::filesystem::path& path);
// Adds files that are changed, missing or not listed.
void CheckFiles(const std::filesystem::path& folder, const Checksums& checksums, std::vector<BundleProblem>& problems);

}  // namespace deputy::host::bundle
