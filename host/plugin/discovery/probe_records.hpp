// What earlier scans, of any process, have found out about plugin files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/digest.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

// None of it is a grant of trust: files are checked in the same way, with or without records.
class ProbeRecords {
 public:
  virtual ~ProbeRecords() = default;

  struct Known {
    std::optional<Rejection> quarantined;          // why these bytes must not be run, by an earlier fault of theirs
    std::optional<PluginDescription> description;  // that an earlier probe of this file got, in these surroundings
    // Of the file and those of its note; none where nothing is kept.
    std::optional<Digest> content = std::nullopt;
  };
  // The parts of the file are set before each call, as far as they are known; for Quarantine also what it has mapped.
  virtual Known Find(const PluginFile& file) = 0;
  virtual void Save(const PluginFile& file, const PluginDescription& description) = 0;
  // Notes a fault of the file, which was found as `path`, and returns it with a note that it is kept.
  virtual Rejection Quarantine(const PluginFile& file, const std::filesystem::path& path, const std::string& plugin,
                               Rejection fault) = 0;
};

}  // namespace deputy::host
