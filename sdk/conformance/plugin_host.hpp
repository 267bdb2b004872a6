// The installed host with the plugin under test: a folder that has the plugin alone, and a configuration that reads it.
#pragma once

#include <filesystem>
#include <string>

#include "deputy/deputy.hpp"
#include "plugin.hpp"

namespace deputy::conformance {

// A folder with only the plugin and its accompanying files.
class PluginFolder {
 public:
  explicit PluginFolder(const std::string& plugin);
  ~PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A configuration with this delegate in front of the CPU; no delegate for an empty id.
Result<::deputy::Context> ContextFor(const PluginFolder& folder, const std::string& id, const OptionList& options);

}  // namespace deputy::conformance
