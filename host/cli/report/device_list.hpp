// The devices of a configuration's delegates, joined from what the plugins list and what the opened delegates report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/json_report.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

struct DeviceUse {
  std::string entry;                    // of the configuration, "cpu" included; empty: no entry uses the device
  std::string delegate;                 // id; empty if no plugin offers it
  std::string plugin;                   // file; empty for the CPU
  std::optional<DeviceListing> device;  // none: the delegate lists no devices, or was not run
  std::optional<DeviceReport> control;  // of an opened delegate that controls its device's clock
  bool available = true;
  std::string reason;  // why it is not
};

// In the order of the configuration, the CPU last; then devices that no entry uses.
std::vector<DeviceUse> ListDevices(const Context& context, const DelegateListing& opened, const PluginListing& plugins);

Json ToJson(const DeviceUse& use);

}  // namespace deputy::cli
