// Checks of an installation and of the machine that it runs on, for `deputy doctor`.
#pragma once

#include <string>
#include <vector>

#include "cli/report/device_list.hpp"
#include "deputy/context.hpp"
#include "deputy/installation.hpp"

namespace deputy::cli {

enum class Health { kOk, kWarning, kFailed };

struct HealthCheck {
  std::string subject;
  Health health = Health::kOk;
  std::string detail;
  std::string advice;  // empty if there is nothing to do
};
using HealthChecks = std::vector<HealthCheck>;

// Library, helper program, importers.
void CheckInstallation(const InstallationReport& installation, HealthChecks& checks);
// Folders and the files in them.
void CheckPlugins(const PluginListing& plugins, HealthChecks& checks);
// Parts of models that are kept away from plugins.
void CheckQuarantine(const std::vector<QuarantinedPlugin>& quarantined, HealthChecks& checks);
// Other vendors' libraries that plugins open.
void CheckRuntimes(const PluginListing& plugins, HealthChecks& checks);
// Variables that slow Deputy down or contradict what a plugin wants; to be called before a plugin is loaded, because
// the host then sets some of them. `ignored`: a message about one without effect, or empty.
void CheckEnvironment(const PluginListing& plugins, const std::string& ignored, HealthChecks& checks);
// Opens the delegates: devices, clocks, threads.
void CheckDelegates(const Context& context, const PluginListing& plugins, HealthChecks& checks);
// Limits of this process, and files of devices that it may not open.
void CheckMachine(const InstallationReport& installation, HealthChecks& checks);
// The folder, its entries, and the wrong results that were recorded in it.
void CheckCache(const Context& context, HealthChecks& checks);

}  // namespace deputy::cli
