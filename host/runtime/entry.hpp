// An entry of `delegates`: what is to be opened, and the check of it against the plugins that were found.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "deputy/compare.hpp"
#include "deputy/context.hpp"
#include "isolation/run_limit.hpp"
#include "partition/placement.hpp"
#include "plan/health.hpp"
#include "plugin/discovery/registry.hpp"

namespace deputy::host {

// One delegate to open, from the configuration or from the API.
struct Entry {
  std::string name, delegate;
  Origin origin;           // of its name
  Origin delegate_origin;  // of the id, or of the name where that is the id
  std::string device = "0";
  int32_t priority = 0;
  DType precision = DType::kUndefined;
  Origin device_origin;
  bool takes_own_name = false;  // as the id of the delegate: the configuration gives none
  bool required = false;
  Origin required_origin;
  RunHandling handling;
  ToleranceSettings tolerance;
  bool verifies_unlisted = false;  // the first run of each partition, if no lock lists the plugin
  Isolation isolation = Isolation::kAuto;
  uint64_t memory_limit = 0;  // of its process, in bytes; 0: none
  // Of runs only where it is isolated; 0: no limit.
  std::chrono::milliseconds call_timeout = std::chrono::seconds(30), run_timeout = kAutomaticTimeout;
  std::chrono::milliseconds call_timeout_total = std::chrono::minutes(10);
  std::chrono::nanoseconds spin = std::chrono::microseconds(50);  // of both sides of a run, where it is isolated
  Origin spin_origin;                                             // none where it is the default
  Origin limit;       // of a limit that only a process of its own can have; none where there is none
  Origin call_limit;  // of call_timeout
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<Origin> option_origins, option_name_origins;
  DelegateLimits limits;
};

// Whether the entry limits the worker process.
bool HasLimit(const Entry& entry);
// Whether the delegate of the entry runs in a worker process, if this plugin provides it.
// `trusts_all`: where the entry does not decide, it runs in this process, listed or not. One that others could replace
// never does.
bool IsIsolated(const Entry& entry, const PluginEntry& provider, bool trusts_all);

// Whether the shipped configuration `default` has the entry. Its plugin may be in a package that is not installed,
// which is no fault of the configuration.
bool IsOfTheDefault(const Entry& entry);

Entry EntryFromConfig(const DelegateConfig& config);
Entry EntryFromDeviceInfo(const DeviceInfo& info);

std::vector<std::string> Texts(const List<Setting<std::string>>& list);
// The place of a rule over all delegates.
std::string RulePlace(const PlacementRule& rule);

struct EntryCheck {
  const PluginEntry* provider = nullptr;  // null: no plugin offers the delegate
  DelegateDescription description;
  std::vector<std::pair<std::string, std::string>> options;  // normalized
  std::string device, driver;     // id of the device, and versions of its driver; empty where the delegate lists none
  bool is_accelerator = false;    // the device is listed, and is not the CPU
  std::vector<Problem> mistakes;  // in the entry: options, device
  Status unusable;                // kPlugin: the plugin or its device is absent or cannot be used
};

// Describes the delegate of the entry, which loads a plugin that was not probed; opens nothing. `names`: of all
// entries, for the message about one that was meant to change another.
EntryCheck CheckEntry(PluginRegistry& registry, const Entry& entry, const std::vector<std::string>& names = {});

// Names of the entries of a configuration.
std::vector<std::string> NamesOf(const Config& config);
// Entries that are disabled although there is nothing to disable: no lower layer has them, and no plugin offers them.
// `misspelled`: only those whose name is almost that of another entry; the package of others may be absent.
std::vector<Problem> DisabledNames(const Config& config, const PluginRegistry& registry, bool misspelled);
// The error of a required entry, with the place of `required` and the remedy; other statuses are unchanged.
Status WithRequired(Status status, const Entry& entry);

// The status of a plugin with the place of the entry, as kPlugin.
Status AsPluginError(Status status, const Entry& entry);

}  // namespace deputy::host
