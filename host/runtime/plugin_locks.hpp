// The locks of plugin folders (SHA256SUMS, and the lists of packages in SHA256SUMS.d), which decide what runs in this
// process. A list counts only where users other than root and this one can neither change nor replace it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/checksums.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/registry.hpp"

namespace deputy::host {

// One thread at a time.
class PluginLocks {
 public:
  // With keys, a list counts only if one of them has signed it (beside it, with the ending .minisig).
  explicit PluginLocks(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // Whether the lock of a plugin folder lists the file `name` with these bytes: any of its lists. The lock is in the
  // folder; that of an unpacked bundle, whose plugins are in the folder `plugins`, is beside that and lists the
  // bundle's description.
  LockAnswer LookUp(const std::filesystem::path& folder, const std::string& name, const ByteSource& bytes);

 private:
  struct List {
    std::filesystem::path file;
    std::optional<Checksums> checksums;  // nothing if it could not be read
    std::string problem;                 // why it does not count
  };
  struct Lock {
    std::vector<List> lists;  // of one folder: SHA256SUMS, then those of SHA256SUMS.d by name; empty: there is no lock
    std::string prefix;       // of the names in the plugin folder: "plugins/"
    std::filesystem::path folder;  // of the plugins, without links
  };
  const Lock& LockOf(const std::filesystem::path& folder);
  void AddList(const std::filesystem::path& file, std::vector<List>& lists) const;
  void AddListsIn(const std::filesystem::path& folder, std::vector<List>& lists) const;
  std::string SignatureProblem(const std::filesystem::path& list, const std::string& text) const;

  const std::vector<std::string> keys_;
  std::map<std::filesystem::path, Lock> locks_;  // by plugin folder
};

}  // namespace deputy::host
