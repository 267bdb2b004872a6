// The plugins found in the plugin folders, and the result of checking them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deputy {

// An option of a delegate, as its schema declares it. All values as texts; a range only where minimum < maximum.
struct OptionReport {
  std::string name, type, unit, default_value, choices, help;
  int64_t int_minimum = 0, int_maximum = 0;  // limits of a whole number
  double minimum = 0, maximum = 0;           // of a number or a clock; equal limits: none
  bool settable = false;                     // by Context::SetOption, while models use the delegate
};

// A row of a delegate's declared capabilities; the support query decides about each node.
struct CapabilityReport {
  std::string op_type, domain, note;
  uint32_t min_version = 0, max_version = 0;  // definitions; 0: any
  uint32_t min_rank = 0, max_rank = 0;
  bool any_rank = false;             // max_rank is not used
  std::vector<std::string> dtypes;   // empty: any
  std::vector<std::string> layouts;  // "dense", "strided", "opaque"
};

// A device as reported when the plugin was probed.
struct DeviceListing {
  uint32_t number = 0;  // `device:` in the YAML accepts it, the id and the name
  std::string id;       // stays the same when other devices come and go
  std::string name, kind, driver;
  uint64_t memory_bytes = 0, frequency_hz = 0;  // 0: unknown
};

// A delegate of a plugin.
struct PluginDelegateReport {
  std::string id, description;
  bool available = false;   // its plugin was probed and its requirements are met
  std::string unavailable;  // the reason
  std::vector<OptionReport> options;
  std::vector<std::string> extensions;
  std::vector<CapabilityReport> capabilities;  // empty: it lists none
  bool enumerates = false;                     // false: it has one device without a description
  std::vector<DeviceListing> devices;
  std::vector<std::string> used_by;  // "npu0 (default.yaml:12:5)"
};

// Plugins to run for a listing, beside those that the configuration names.
struct PluginQuery {
  std::vector<std::string> probe;  // ids of delegates
  bool probe_all = false;
};

// Another vendor's library that a plugin opens, and where it is in LD_LIBRARY_PATH or the system's folders; empty:
// nowhere there.
struct OpenedLibrary {
  std::string name, path;
};

// A file of a plugin folder, and the result of its check.
struct PluginReport {
  std::string file;
  bool accepted = false;
  bool probed = false;  // it was run and described itself; else its delegates have only ids
  std::string rule;     // the deciding rule: "probed", "manifest" (it was not run), or the reason of a refusal
  std::string reason;   // for people
  std::string id, vendor, version, abi;
  std::vector<std::string> files;         // that belong to it
  std::vector<std::string> libraries;     // that the dynamic linker loads with it: "libc.so.6"
  std::vector<OpenedLibrary> opens;       // other vendors': it is isolated and verified as if no lock listed it
  std::vector<std::string> cpu_features;  // required, as in /proc/cpuinfo
  std::vector<std::string> environment;   // set before it is loaded: "NAME=VALUE"
  std::vector<std::string> devices;       // device files of the accelerator, below /dev: "nvidia*"
  // What the plugin can open and call in a process of its own: "user", everything; "cpu", only what computing needs;
  // "gpu", also its devices.
  std::string sandbox;
  // That the sandbox refused while the plugin was probed, with how often: "socket (1)".
  std::vector<std::string> refused_calls;
  bool listed = false;  // in the lock of its folder (SHA256SUMS): with `isolation: auto` it runs in the application
  std::vector<PluginDelegateReport> delegates;
  std::string lock;  // that decided about `listed`, or that is not trusted; empty: there is none, or none was asked
  std::string not_listed;  // why not; empty where it is listed, or where the configuration does not use the plugin
};

// The result of a scan.
struct PluginListing {
  std::vector<std::string> folders;   // searched, in order
  std::vector<PluginReport> plugins;  // every file that was read
  std::vector<std::string> notes;     // entries of the YAML without a plugin, disabled ones, missing folders
};

}  // namespace deputy
