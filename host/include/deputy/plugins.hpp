// What was found in the plugin folders, and what became of it.
#pragma once

#include <string>
#include <vector>

namespace deputy {

struct OptionReport {
  std::string name, type, unit, default_value, choices, help;
  double minimum = 0, maximum = 0;
};

struct PluginDelegateReport {
  std::string id, description;
  bool available = false;   // its probe found what it needs
  std::string unavailable;  // why not
  std::vector<OptionReport> options;
  std::vector<std::string> extensions;
  std::vector<std::string> used_by;  // "npu0 (default.yaml:12:5)"
};

struct PluginReport {
  std::string file;
  bool accepted = false;
  std::string rule;    // the stage or rule that decided: "elf", "note", "probe", "duplicate", ...
  std::string reason;  // for people
  std::string id, vendor, version, abi;
  std::vector<std::string> files;  // that travel with it
  std::vector<PluginDelegateReport> delegates;
};

struct PluginListing {
  std::vector<std::string> folders;   // searched, in order
  std::vector<PluginReport> plugins;  // every file looked at
  std::vector<std::string> notes;     // entries of the YAML without a plugin, disabled ones, missing folders
};

}  // namespace deputy
