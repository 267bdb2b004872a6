#include "runtime/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/plural.hpp"
#include "base/worker_environment.hpp"
#include "deputy/abi/ext/options.h"
#include "isolation/sandbox_level.hpp"
#include "plugin/discovery/device_names.hpp"
#include "plugin/discovery/needed_libraries.hpp"
#include "runtime/context_state.hpp"
#include "runtime/engine.hpp"
#include "runtime/paths.hpp"
#include "runtime/plugin_locks.hpp"

namespace deputy::host {
namespace {

std::string OptionTypeName(uint32_t type) {
  switch (type) {
    case DEPUTY_OPTION_BOOL: return "bool";
    case DEPUTY_OPTION_INT: return "int";
    case DEPUTY_OPTION_FLOAT: return "float";
    case DEPUTY_OPTION_STRING: return "string";
    case DEPUTY_OPTION_ENUM: return "enum";
    case DEPUTY_OPTION_FREQUENCY: return "frequency";
    default: return "unknown";
  }
}

CapabilityReport ReportCapability(const CapabilityRow& row) {
  CapabilityReport report;
  report.op_type = row.op_type;
  report.domain = row.domain;
  report.note = row.note;
  report.min_version = row.min_version;
  report.max_version = row.max_version;
  report.min_rank = row.min_rank;
  report.any_rank = row.max_rank == DEPUTY_ANY_RANK;
  report.max_rank = report.any_rank ? 0 : row.max_rank;
  for (const int32_t dtype : row.dtypes) report.dtypes.emplace_back(NameOf(static_cast<DType>(dtype)));
  for (const auto& [layout, name] :
       {std::pair{DEPUTY_LAYOUT_DENSE, "dense"}, std::pair{DEPUTY_LAYOUT_STRIDED, "strided"},
        std::pair{DEPUTY_LAYOUT_OPAQUE, "opaque"}})
    if ((row.layouts >> layout & 1u) != 0) report.layouts.emplace_back(name);
  return report;
}

// The entries of the configuration for a delegate: "npu0 (default.yaml:12:5)".
std::vector<std::string> UsersOf(const std::string& id, const Config& config) {
  std::vector<std::string> users;
  for (const DelegateConfig& delegate : config.delegates)
    if (delegate.id() == id)
      users.push_back(*delegate.name + " (" + delegate.name.origin.ToString() +
                      (*delegate.enabled ? ")" : ", disabled)"));
  return users;
}

std::string SandboxOf(const Manifest& manifest, const Config& config) {
  const SandboxLevel level = AvailableSandbox();
  if (!*config.plugins.sandbox || (level.landlock == 0 && !level.seccomp)) return "user";
  return AcceleratorsHere(manifest.devices).empty() ? "cpu" : "gpu";
}

PluginDelegateReport ReportDelegate(const DelegateDescription& description, const Config& config) {
  PluginDelegateReport report;
  report.id = description.id;
  report.description = description.description;
  report.available = description.available;
  report.unavailable = description.unavailable;
  report.extensions = description.extensions;
  for (const CapabilityRow& row : description.capabilities) report.capabilities.push_back(ReportCapability(row));
  report.enumerates = description.enumerates;
  for (const DeviceEntry& device : description.devices)
    report.devices.push_back({static_cast<uint32_t>(report.devices.size()), device.id, device.name,
                              NameOfDeviceKind(device.kind), device.driver, device.memory_bytes, device.frequency_hz});
  for (const OptionSchema& option : description.options) {
    std::string choices;
    for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : "|") + choice;
    report.options.push_back({option.name, OptionTypeName(option.type), option.unit, option.default_value, choices,
                              option.help, option.int_minimum, option.int_maximum, option.minimum, option.maximum,
                              option.settable});
  }
  report.used_by = UsersOf(description.id, config);
  return report;
}

// $deputy is the folder of the installed library.
std::filesystem::path PathOf(const std::string& written) {
  const std::string prefix(kDeputyPrefix);
  if (written.compare(0, prefix.size(), prefix) != 0) return written;
  return PrivateFolder().string() + written.substr(prefix.size());
}

// For a plugin that was not run: its manifest has only the id of the delegate.
PluginDelegateReport ReportUnprobed(const std::string& id, const Config& config) {
  PluginDelegateReport report;
  report.id = id;
  report.used_by = UsersOf(id, config);
  return report;
}

}  // namespace

void ApplyLogLevels(const LogConfig& config) {
  SetLogLevel(*config.level);
  SetLogFormat(*config.format);
  for (const Named<LogLevel>& delegate : config.delegates) SetLogLevel(delegate.name, *delegate);
}

void ReplaceLogLevels(const LogConfig& former, const LogConfig& config) {
  for (const Named<LogLevel>& delegate : former.delegates) UnsetLogLevel(delegate.name);
  ApplyLogLevels(config);
}

std::vector<std::string> EnvironmentOf(const Config& config) {
  std::vector<std::string> patterns;
  for (const Setting<std::string>& pattern : config.plugins.environment) patterns.push_back(*pattern);
  std::string readable;
  for (const Setting<std::string>& folder : config.plugins.readable) readable += PathOf(*folder).string() + "\n";
  if (!readable.empty()) patterns.push_back(std::string(kReadableVariable) + "=" + readable);
  return patterns;
}

std::shared_ptr<PluginRecords> RecordsOf(const Config& config, bool reuse) {
  return std::make_shared<PluginRecords>(OpenStore(config), *config.plugins.sandbox, EnvironmentOf(config), reuse,
                                         std::chrono::ceil<std::chrono::milliseconds>(*config.plugins.probe_timeout));
}

ScanOptions MakeScanOptions(const Context::State& state) {
  ScanOptions options = MakeScanOptions(state.config);
  if (state.progress)
    options.progress = [&report = state.progress](const std::filesystem::path& file) {
      report({ProgressStage::kScan, {}, file.native()});
    };
  return options;
}

ScanOptions MakeScanOptions(const Config& config) {
  ScanOptions options;
  for (const Setting<std::string>& readable : config.plugins.readable) {
    const std::filesystem::path folder = PathOf(*readable);
    std::error_code error;
    if (std::filesystem::status(folder, error).type() == std::filesystem::file_type::not_found)
      Log(LogLevel::kWarning, "{}: the folder {} does not exist", readable.origin.ToString(), folder.string());
  }
  for (const Setting<std::string>& path : config.plugins.paths) {
    std::filesystem::path folder = PathOf(*path);
    // Several layers may name one folder.
    if (std::find(options.paths.begin(), options.paths.end(), folder) == options.paths.end())
      options.paths.push_back(std::move(folder));
  }
  options.worker = WorkerProgram();
  options.probe_timeout = std::chrono::ceil<std::chrono::milliseconds>(*config.plugins.probe_timeout);
  options.sandbox = *config.plugins.sandbox;
  options.environment = EnvironmentOf(config);
  options.probe = options.refuse_untrusted = *config.plugins.trust != Trust::kAny;
  options.require_listed = *config.plugins.trust == Trust::kListed;
  std::vector<std::string> keys;
  for (const Setting<std::string>& key : config.plugins.trust_keys) keys.push_back(*key);
  options.look_up_lock = [locks = std::make_shared<PluginLocks>(std::move(keys))](const auto& folder, const auto& name,
                                                                                  const ByteSource& bytes) {
    return locks->LookUp(folder, name, bytes);
  };
  return options;
}

Config WithPluginDefaults(Config config) {
  PluginRegistry registry;
  ScanOptions options = MakeScanOptions(config);
  options.probe = true;
  options.named.emplace();
  for (const DelegateConfig& delegate : config.delegates)
    if (*delegate.enabled) options.named->push_back(delegate.id());
  registry.Scan(options);
  for (DelegateConfig& delegate : config.delegates.items) {
    if (!*delegate.enabled || registry.ProviderOf(delegate.id()) == nullptr) continue;
    const Result<DelegateDescription> description = registry.Describe(delegate.id());
    if (!description.ok()) continue;
    std::vector<Named<OptionValue>>& set = delegate.options.items;
    for (const OptionSchema& option : description->options) {
      if (std::any_of(set.begin(), set.end(), [&](const auto& other) { return other.name == option.name; })) continue;
      const bool quoted = option.type == DEPUTY_OPTION_STRING || option.default_value.empty();
      set.push_back({option.name, {{option.default_value, quoted}, {"the plugin's default", 0, 0}}, {}});
    }
  }
  return config;
}

std::vector<const PluginEntry*> RefusedFiles(const PluginRegistry& registry) {
  std::vector<const PluginEntry*> refused;
  for (const PluginEntry* entry : registry.entries())
    if (!entry->accepted && entry->reason != RejectReason::kNotAPlugin) refused.push_back(entry);
  return refused;
}

std::string RefusalSummary(const std::vector<const PluginEntry*>& refused) {
  std::map<RejectReason, size_t> counts;
  for (const PluginEntry* entry : refused) ++counts[entry->reason];
  std::string reasons;
  for (const auto& [reason, count] : counts)
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, NameOf(reason));
  const PluginEntry& first = *refused.front();
  return fmt::format("{} in the plugin folders {} not used: {}. The first is {}: {}. 'deputy plugins --why' lists all",
                     Plural(refused.size(), "file"), refused.size() == 1 ? "is" : "are", reasons, first.path.string(),
                     first.text);
}

Result<PluginListing> ListPluginFiles(const Context::State& state, const PluginQuery& query) {
  ApplyLogLevels(state.config.log);
  PluginRegistry registry;
  ScanOptions options = MakeScanOptions(state);
  options.records = RecordsOf(state.config, /*reuse=*/false);
  if (!query.probe_all) {
    options.named = query.probe;
    for (const DelegateConfig& delegate : state.config.delegates)
      if (*delegate.enabled) options.named->push_back(delegate.id());
    for (const DeviceInfo& info : state.device_infos)
      options.named->push_back(info.delegate.empty() ? info.name : info.delegate);
  }
  if (query.probe_all || !query.probe.empty()) options.probe = true;  // regardless of the trust in the configuration
  registry.Scan(options);
  const LibraryFolders libraries = FoldersOfThisProcess();
  PluginListing listing;
  for (const std::filesystem::path& folder : options.paths) listing.folders.push_back(folder.string());
  for (const PluginEntry* entry : registry.entries()) {
    PluginReport report;
    report.file = entry->path.string();
    report.accepted = entry->accepted;
    report.probed = entry->description.has_value();
    report.rule = entry->accepted ? (report.probed ? "probed" : "manifest") : std::string(NameOf(entry->reason));
    report.reason = entry->text;
    if (!entry->distrust.empty())
      report.reason = fmt::format("{}; it may be used because of 'trust: any'", entry->distrust);
    for (const std::string& note : entry->notes) report.reason += (report.reason.empty() ? "" : "; ") + note;
    if (entry->manifest) {
      report.id = entry->manifest->id;
      report.version = entry->manifest->version;
      report.abi = AbiText(entry->manifest->abi_version);
      report.files = entry->manifest->files;
      report.libraries = entry->manifest->libraries;
      report.cpu_features = entry->manifest->cpu_features;
      for (const std::string& library : entry->manifest->opens)
        report.opens.push_back({library, PathOfLibrary(library, libraries).string()});
      for (const auto& [name, value] : entry->manifest->environment) report.environment.push_back(name + "=" + value);
      report.devices = entry->manifest->devices;
      report.sandbox = SandboxOf(*entry->manifest, state.config);
      report.listed = entry->listed;
      report.lock = entry->lock.string();
      report.not_listed = entry->not_listed;
    }
    if (entry->description) {
      report.vendor = entry->description->vendor;
      report.refused_calls = entry->description->refused_calls;
      for (const DelegateDescription& delegate : entry->description->delegates)
        report.delegates.push_back(ReportDelegate(delegate, state.config));
    } else if (entry->accepted) {
      for (const std::string& id : entry->manifest->delegates)
        report.delegates.push_back(ReportUnprobed(id, state.config));
    }
    listing.plugins.push_back(std::move(report));
  }
  for (const DelegateConfig& delegate : state.config.delegates) {
    const std::string& id = delegate.id();
    if (registry.ProviderOf(id) != nullptr) continue;
    const std::string refusal = registry.RefusalOf(id);
    listing.notes.push_back(delegate.name.origin.ToString() + ": no plugin offers the delegate '" + id + "'" +
                            (refusal.empty() ? "" : "; " + refusal));
  }
  return listing;
}

}  // namespace deputy::host
