// Description of a running plugin: copied out of its tables, checked, independent of its memory. Made in the probe
// process, or in this one for plugins that the application passes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deputy/abi/delegate.h"
#include "plugin/inventory.hpp"
#include "plugin/rejection.hpp"

namespace deputy::host {

struct OptionSchema {
  std::string name;
  uint32_t type = 0;  // deputy_option_type
  std::string help, unit, default_value;
  std::vector<std::string> choices;
  double minimum = 0, maximum = 0;

  bool operator==(const OptionSchema&) const = default;
};

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

  bool operator==(const PluginDescription&) const = default;
};

// `table` has passed CheckPluginTable.
std::optional<Rejection> Init(const deputy_plugin& table, const deputy_host* host);
// Describes each delegate of an initialised plugin.
Checked<PluginDescription> Describe(const deputy_plugin& table, const deputy_host* host);

}  // namespace deputy::host
