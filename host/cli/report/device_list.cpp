#include "cli/report/device_list.hpp"

#include <algorithm>
#include <utility>

namespace deputy::cli {
namespace {

struct Offer {
  const PluginReport* plugin = nullptr;
  const PluginDelegateReport* delegate = nullptr;
};

Offer OfferOf(const PluginListing& plugins, const std::string& id) {
  for (const PluginReport& plugin : plugins.plugins)
    for (const PluginDelegateReport& delegate : plugin.delegates)
      if (plugin.accepted && delegate.id == id) return {&plugin, &delegate};
  return {};
}

DeviceUse UseOf(const Context& context, const PluginListing& plugins, const std::string& entry, std::string id) {
  DeviceInfo info;
  for (DeviceInfo& configured : context.ConfiguredDelegates())
    if (configured.name == entry) info = std::move(configured);
  if (id.empty()) id = info.delegate.empty() ? entry : info.delegate;
  const Offer offer = OfferOf(plugins, id);
  DeviceUse use;
  use.entry = entry;
  use.delegate = id;
  if (offer.plugin == nullptr) return use;
  use.plugin = offer.plugin->file;
  for (const DeviceListing& device : offer.delegate->devices)
    if (info.device_name.empty() ? static_cast<int64_t>(device.number) == info.device
                                 : device.name == info.device_name || device.id == info.device_name)
      use.device = device;
  return use;
}

}  // namespace

std::vector<DeviceUse> ListDevices(const Context& context, const DelegateListing& opened,
                                   const PluginListing& plugins) {
  std::vector<DeviceUse> uses;
  for (const DelegateReport& delegate : opened.delegates) {
    DeviceUse use = UseOf(context, plugins, delegate.name, delegate.id);
    if (delegate.has_device) use.control = delegate.device;
    uses.push_back(std::move(use));
  }
  const auto before_cpu = [&] { return uses.empty() ? uses.end() : uses.end() - 1; };
  for (const AbsentDelegate& absent : opened.absent) {
    DeviceUse use = UseOf(context, plugins, absent.name, "");
    use.available = false;
    use.reason = absent.reason;
    uses.insert(before_cpu(), std::move(use));
  }
  for (const PluginReport& plugin : plugins.plugins) {
    if (!plugin.accepted || !plugin.probed) continue;
    for (const PluginDelegateReport& delegate : plugin.delegates) {
      const auto is_used = [&](const DeviceListing* device) {
        return std::any_of(uses.begin(), uses.end(), [&](const DeviceUse& use) {
          return use.delegate == delegate.id &&
                 (device == nullptr || !use.device || use.device->number == device->number);
        });
      };
      DeviceUse use;
      use.delegate = delegate.id;
      use.plugin = plugin.file;
      use.available = delegate.available;
      use.reason = delegate.unavailable;
      if (delegate.devices.empty() && !is_used(nullptr)) uses.push_back(use);
      for (const DeviceListing& device : delegate.devices) {
        if (is_used(&device)) continue;
        use.device = device;
        uses.push_back(use);
      }
    }
  }
  return uses;
}

Json ToJson(const DeviceUse& use) {
  const auto known = [](uint64_t value) { return value == 0 ? Json(nullptr) : Json(value); };
  Json json = {{"entry", use.entry.empty() ? Json(nullptr) : Json(use.entry)},
               {"delegate", use.delegate},
               {"plugin", use.plugin},
               {"available", use.available},
               {"reason", use.reason},
               {"number", use.device ? Json(use.device->number) : Json(nullptr)},
               {"id", use.device ? Json(use.device->id) : Json(nullptr)},
               {"name", use.device ? Json(use.device->name) : Json(nullptr)},
               {"kind", use.device ? Json(use.device->kind) : Json(use.entry == "cpu" ? Json("cpu") : Json(nullptr))},
               {"driver", use.device ? Json(use.device->driver) : Json(nullptr)},
               {"memory_bytes", use.device ? known(use.device->memory_bytes) : Json(nullptr)},
               {"frequency_hz", use.device ? known(use.device->frequency_hz) : Json(nullptr)}};
  json["control"] = nullptr;
  if (use.control)
    json["control"] = {{"level_requested", use.control->level_requested},
                       {"level_granted", use.control->level_granted},
                       {"frequency_requested_hz", use.control->frequency_requested_hz},
                       {"frequency_granted_hz", use.control->frequency_granted_hz}};
  return json;
}

}  // namespace deputy::cli
