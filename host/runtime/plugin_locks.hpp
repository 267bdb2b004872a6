// The locks of plugin folders, for `trust: listed`: SHA256SUMS in a plugin folder or, as in an unpacked bundle, in the
// folder above it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/checksums.hpp"
#include "plugin/discovery/plugin_file.hpp"

namespace deputy::host {

// One thread at a time.
class PluginLocks {
 public:
  // With keys, a lock counts only if one of them has signed it (SHA256SUMS.minisig).
  explicit PluginLocks(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // Why the file `name` of a plugin folder with these bytes is not the one that the lock lists; empty if it is.
  std::string ReasonNotListed(const std::filesystem::path& folder, const std::string& name, const ByteSource& bytes);

 private:
  struct Lock {
    std::string file, prefix;  // of the names in the plugin folder: "plugins/"
    Checksums checksums;
    std::string problem;  // why the lock cannot be used
  };
  const Lock& LockOf(const std::filesystem::path& folder);
  std::string SignatureProblem(const std::filesystem::path& lock, const std::string& text) const;

  const std::vector<std::string> keys_;
  std::map<std::filesystem::path, Lock> locks_;  // by plugin folder
};

}  // namespace deputy::host
