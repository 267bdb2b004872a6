// What was found in the plugin folders, and what became of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deputy {

struct OptionReport {
  std::string name, type, unit, default_value, choices, help;
  double minimum = 0, maximum = 0;
};

// A row of what a delegate says that it can run; the support query has the last word about a node.
struct CapabilityReport {
  std::string op_type, domain, note;
  uint32_t min_version = 0, max_version = 0;  // definitions; 0: any
  uint32_t min_rank = 0, max_rank = 0;
  bool any_rank = false;             // max_rank means nothing
  std::vector<std::string> dtypes;   // empty: any
  std::vector<std::string> layouts;  // "dense", "strided", "opaque"
};

// A device as it was found when the plugin was probed.
struct DeviceListing {
  uint32_t number = 0;  // what `device:` in the YAML may say, as may the name
  std::string name, kind, driver;
  uint64_t memory_bytes = 0, frequency_hz = 0;  // 0: unknown
};

struct PluginDelegateReport {
  std::string id, description;
  bool available = false;   // its plugin was probed and found what it needs
  std::string unavailable;  // why not
  std::vector<OptionReport> options;
  std::vector<std::string> extensions;
  std::vector<CapabilityReport> capabilities;  // empty: it lists none
  bool enumerates = false;                     // false: it has one device, of which nothing is known
  std::vector<DeviceListing> devices;
  std::vector<std::string> used_by;  // "npu0 (default.yaml:12:5)"
};

// Which plugins are run for a listing, beside those that the configuration names.
struct PluginQuery {
  std::vector<std::string> probe;  // ids of delegates
  bool probe_all = false;
};

struct PluginReport {
  std::string file;
  bool accepted = false;
  bool probed = false;  // it was run and described itself; else its delegates have nothing but their ids
  std::string rule;     // what decided: "probed", "manifest" (it was not run), or the reason of a refusal
  std::string reason;   // for people
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
