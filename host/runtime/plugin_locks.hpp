// The locks of plugin folders (SHA256SUMS), which decide what runs in this process. A lock counts only where users
// other than root and this one can neither change nor replace it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/checksums.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/registry.hpp"

namespace deputy::host {

// One thread at a time.
class PluginLocks {
 public:
  // With keys, a lock counts only if one of them has signed it (SHA256SUMS.minisig).
  explicit PluginLocks(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // Whether the lock of a plugin folder lists the file `name` with these bytes. The lock is in the folder; that of an
  // unpacked bundle, whose plugins are in the folder `plugins`, is beside that and lists the bundle's description.
  LockAnswer LookUp(const std::filesystem::path& folder, const std::string& name, const ByteSource& bytes);

 private:
  struct Lock {
    std::filesystem::path file;
    std::string prefix;  // of the names in the plugin folder: "plugins/"
    Checksums checksums;
    std::string problem;  // why the lock cannot be used
  };
  const Lock& LockOf(const std::filesystem::path& folder);
  Lock ReadLock(const std::filesystem::path& file, bool of_bundle) const;
  std::string SignatureProblem(const std::filesystem::path& lock, const std::string& text) const;

  const std::vector<std::string> keys_;
  std::map<std::filesystem::path, Lock> locks_;  // by plugin folder
};

}  // namespace deputy::host
