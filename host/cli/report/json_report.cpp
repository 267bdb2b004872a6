#include "cli/report/json_report.hpp"

#include "cli/standard_streams.hpp"

namespace deputy::cli {
namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json ToJson(const DeviceReport& device) {
  return {{"device", device.device},
          {"level_requested", device.level_requested},
          {"level_granted", device.level_granted},
          {"frequency_requested_hz", device.frequency_requested_hz},
          {"frequency_granted_hz", device.frequency_granted_hz},
          {"busy_ns", device.busy_ns},
          {"runs", device.runs}};
}

Json ToJson(const DelegateReport& delegate, const PlacementReport& report) {
  Json options = Json::object();
  for (const auto& [name, value] : delegate.options) options[name] = value;
  return {{"name", delegate.name},
          {"id", delegate.id},
          {"plugin", delegate.plugin},
          {"nodes", delegate.nodes},
          {"partitions", delegate.partitions},
          {"multiply_adds", delegate.multiply_adds},
          {"multiply_adds_share", Share(delegate.multiply_adds, report.multiply_adds)},
          {"options", std::move(options)},
          {"device", delegate.has_device ? ToJson(delegate.device) : Json(nullptr)}};
}

Json ToJson(const OptionReport& option) {
  const bool is_int = option.type == "int";
  return {{"name", option.name},
          {"type", option.type},
          {"unit", option.unit},
          {"default", option.default_value},
          {"choices", option.choices},
          {"minimum", is_int ? Json(option.int_minimum) : Json(option.minimum)},
          {"maximum", is_int ? Json(option.int_maximum) : Json(option.maximum)},
          {"settable", option.settable},
          {"help", option.help}};
}

Json ToJson(const DeviceListing& device) {
  return {{"number", device.number},
          {"id", device.id},
          {"name", device.name},
          {"kind", device.kind},
          {"driver", device.driver},
          {"memory_bytes", device.memory_bytes == 0 ? Json(nullptr) : Json(device.memory_bytes)},
          {"frequency_hz", device.frequency_hz == 0 ? Json(nullptr) : Json(device.frequency_hz)}};
}

Json ToJson(const EstimateReport& estimate) {
  const auto amount = [](int64_t known) { return known < 0 ? Json(nullptr) : Json(known); };
  return {{"latency_ns", amount(estimate.latency_ns)},
          {"memory_bytes", amount(estimate.memory_bytes)},
          {"energy_nj", amount(estimate.energy_nj)}};
}

// Values that only a probe can tell are null for plugins that were not run.
Json ToJson(const PluginDelegateReport& delegate, bool probed) {
  Json options = Json::array();
  for (const OptionReport& option : delegate.options) options.push_back(ToJson(option));
  Json capabilities = Json::array(), devices = Json::array();
  for (const CapabilityReport& row : delegate.capabilities) capabilities.push_back(cli::ToJson(row));
  for (const DeviceListing& device : delegate.devices) devices.push_back(ToJson(device));
  return {{"id", delegate.id},
          {"description", delegate.description},
          {"available", probed ? Json(delegate.available) : Json(nullptr)},
          {"unavailable", delegate.unavailable},
          {"options", std::move(options)},
          {"extensions", delegate.extensions},
          {"operators", std::move(capabilities)},
          {"devices", std::move(devices)},
          {"used_by", delegate.used_by}};
}

}  // namespace

Json ToJson(const CapabilityReport& row) {
  return {{"op_type", row.op_type},
          {"domain", row.domain},
          {"min_version", row.min_version == 0 ? Json(nullptr) : Json(row.min_version)},
          {"max_version", row.max_version == 0 ? Json(nullptr) : Json(row.max_version)},
          {"dtypes", row.dtypes},
          {"min_rank", row.min_rank},
          {"max_rank", row.any_rank ? Json(nullptr) : Json(row.max_rank)},
          {"layouts", row.layouts},
          {"note", row.note}};
}

Json ToJson(const NodeReport& node) {
  Json refusals = Json::array();
  for (const RefusalReport& refusal : node.refusals)
    refusals.push_back({{"delegate", refusal.delegate}, {"reason", refusal.reason}, {"detail", refusal.detail}});
  return {{"name", node.name},
          {"op_type", node.op_type},
          {"domain", node.domain},
          {"since_version", node.since_version},
          {"delegate", node.delegate},
          {"partition", node.partition},
          {"region", node.region},
          {"multiply_adds", node.multiply_adds},
          {"refusals", std::move(refusals)}};
}

Json ToJson(const PlacementReport& report) {
  Json delegates = Json::array(), partitions = Json::array(), nodes = Json::array();
  for (const DelegateReport& delegate : report.delegates) delegates.push_back(ToJson(delegate, report));
  for (const PartitionReport& partition : report.partitions)
    partitions.push_back({{"name", partition.name},
                          {"delegate", partition.delegate},
                          {"region", partition.region},
                          {"nodes", partition.nodes},
                          {"inputs", partition.inputs},
                          {"outputs", partition.outputs},
                          {"executable", partition.executable},
                          {"not_cached", partition.not_cached},
                          {"overlaps", partition.overlaps},
                          {"multiply_adds", partition.multiply_adds},
                          {"estimate", partition.estimated ? ToJson(partition.estimate) : Json(nullptr)}});
  for (const NodeReport& node : report.nodes) nodes.push_back(ToJson(node));
  return {{"summary", report.summary},
          {"multiply_adds", report.multiply_adds},
          {"delegates", std::move(delegates)},
          {"partitions", std::move(partitions)},
          {"nodes", std::move(nodes)}};
}

Json ToJson(const PluginReport& plugin) {
  Json delegates = Json::array();
  for (const PluginDelegateReport& delegate : plugin.delegates) delegates.push_back(ToJson(delegate, plugin.probed));
  Json opens = Json::array();
  for (const OpenedLibrary& library : plugin.opens)
    opens.push_back({{"name", library.name}, {"path", library.path.empty() ? Json() : Json(library.path)}});
  return {{"file", plugin.file},
          {"accepted", plugin.accepted},
          {"probed", plugin.probed},
          {"rule", plugin.rule},
          {"reason", plugin.reason},
          {"id", plugin.id},
          {"vendor", plugin.vendor},
          {"version", plugin.version},
          {"abi", plugin.abi},
          {"files", plugin.files},
          {"libraries", plugin.libraries},
          {"opens", std::move(opens)},
          {"cpu_features", plugin.cpu_features},
          {"environment", plugin.environment},
          {"devices", plugin.devices},
          {"sandbox", plugin.sandbox},
          {"refused_calls", plugin.refused_calls},
          {"listed", plugin.listed},
          {"lock", plugin.lock.empty() ? Json() : Json(plugin.lock)},
          {"not_listed", plugin.not_listed.empty() ? Json() : Json(plugin.not_listed)},
          {"delegates", std::move(delegates)}};
}

Json ToJson(const PluginListing& listing) {
  Json plugins = Json::array();
  for (const PluginReport& plugin : listing.plugins) plugins.push_back(ToJson(plugin));
  return {{"folders", listing.folders}, {"plugins", std::move(plugins)}, {"notes", listing.notes}};
}

const char* CacheStateText(CacheEntryState state) {
  switch (state) {
    case CacheEntryState::kUnchecked: return "unchecked";
    case CacheEntryState::kIntact: return "intact";
    case CacheEntryState::kDamaged: return "damaged";
    case CacheEntryState::kOtherVersion: return "other version";
    case CacheEntryState::kUnreadable: return "unreadable";
  }
  return "";
}

Json ToJson(const std::vector<QuarantinedPlugin>& plugins) {
  Json list = Json::array();
  for (const QuarantinedPlugin& plugin : plugins)
    list.push_back(
        {{"key", plugin.key},
         {"file", plugin.file},
         {"plugin", plugin.plugin},
         {"rule", plugin.rule},
         {"reason", plugin.reason},
         {"since_unix_s", std::chrono::duration_cast<std::chrono::seconds>(plugin.since.time_since_epoch()).count()},
         {"in_force", plugin.in_force},
         {"part", plugin.part},
         {"model", plugin.model}});
  return {{"plugins", std::move(list)}};
}

uint64_t TotalBytes(const CacheListing& listing) {
  uint64_t bytes = 0;
  for (const CacheEntry& entry : listing.entries) bytes += entry.bytes;
  return bytes;
}

Json ToJson(const CacheListing& listing) {
  Json rows = Json::array();
  for (const CacheEntry& entry : listing.entries)
    rows.push_back({{"kind", entry.kind},
                    {"key", entry.key},
                    {"file", entry.file},
                    {"bytes", entry.bytes},
                    {"last_used_unix_s",
                     std::chrono::duration_cast<std::chrono::seconds>(entry.last_use.time_since_epoch()).count()},
                    {"text", entry.text},
                    {"state", CacheStateText(entry.state)},
                    {"problem", entry.problem},
                    {"model", entry.model},
                    {"plugin", entry.plugin},
                    {"plugin_version", entry.plugin_version},
                    {"plugin_file", entry.plugin_file},
                    {"delegate", entry.delegate},
                    {"device", entry.device},
                    {"stale", entry.stale}});
  return {{"folder", listing.folder.empty() ? Json() : Json(listing.folder)},
          {"max_bytes", listing.max_bytes},
          {"bytes", TotalBytes(listing)},
          {"entries", std::move(rows)}};
}

std::string JsonText(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"; }

void PrintJson(const Json& json) { PrintOnStdout(JsonText(json)); }

}  // namespace deputy::cli
