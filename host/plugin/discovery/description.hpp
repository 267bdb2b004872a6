// Description of a running plugin: copied out of its tables, checked, independent of its memory. Made in the probe
// process, or in this one for plugins that the application passes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/devices.h"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

struct OptionSchema {
  std::string name;
  uint32_t type = 0;  // deputy_option_type
  std::string help, unit, default_value;
  std::vector<std::string> choices;
  int64_t int_minimum = 0, int_maximum = 0;  // of a whole number
  double minimum = 0, maximum = 0;
  bool settable = false;  // while models use the delegate

  bool operator==(const OptionSchema&) const = default;
};

inline constexpr uint32_t kMaxCapabilities = 1024;
inline constexpr uint32_t kMaxDevices = 256;

struct CapabilityRow {
  std::string domain, op_type, note;
  uint32_t min_version = 0, max_version = 0;  // 0: any
  uint32_t min_rank = 0, max_rank = DEPUTY_ANY_RANK;
  uint32_t layouts = 1;         // bits 1 << DEPUTY_LAYOUT_...
  std::vector<int32_t> dtypes;  // empty: any

  bool operator==(const CapabilityRow&) const = default;
};

struct DeviceEntry {
  std::string id, name, driver;
  uint32_t kind = 0;  // deputy_device_kind
  uint64_t memory_bytes = 0, frequency_hz = 0;

  bool operator==(const DeviceEntry&) const = default;
};
// "npu"; "other" for kinds that this host does not know.
const char* NameOfDeviceKind(uint32_t kind);

struct DelegateDescription {
  std::string id, description;
  uint32_t flags = 0;       // DEPUTY_DELEGATE_...
  bool available = true;    // its probe succeeded
  std::string unavailable;  // why not
  std::vector<OptionSchema> options;
  std::vector<std::string> extensions;
  std::vector<CapabilityRow> capabilities;
  bool enumerates = false;  // false: it has one device, of which nothing is known
  std::vector<DeviceEntry> devices;

  bool operator==(const DelegateDescription&) const = default;
};

struct PluginDescription {
  std::string id, vendor, version;
  uint32_t abi_version = 0;
  std::vector<DelegateDescription> delegates;
  std::vector<PluginPart> mapped;          // libraries that it added to its process
  std::vector<std::string> refused_calls;  // that its sandbox refused while it was probed: "socket (1)"

  bool operator==(const PluginDescription&) const = default;
};

// `table` has passed CheckPluginTable.
std::optional<Rejection> Init(const deputy_plugin& table, const deputy_host* host);
// Describes each delegate of an initialised plugin.
Checked<PluginDescription> Describe(const deputy_plugin& table, const deputy_host* host);

// Empty for a delegate without the table.
std::optional<Rejection> ListCapabilities(const deputy_delegate& table, std::vector<CapabilityRow>& rows);

// Empty for a delegate without options.
std::optional<Rejection> ListOptions(const deputy_delegate& table, std::vector<OptionSchema>& schema);

// The devices as they are now. A failure is the delegate's own ("no driver"); a breach of the contract is a rejection.
// [load-time]
std::optional<Rejection> EnumerateDevices(const deputy_delegate& table, const deputy_host* host,
                                          std::vector<DeviceEntry>& devices, Status& failure);

}  // namespace deputy::host
