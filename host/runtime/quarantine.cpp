// The quarantined plugins for applications and for the command.
#include "deputy/quarantine.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "runtime/context_state.hpp"
#include "runtime/scan.hpp"

namespace deputy {
namespace {

constexpr size_t kFewestDigits = 6;  // of a key

// With the limits of the configuration, without which it is run.
std::string ReasonOf(const host::QuarantineRecord& record) {
  const std::string limits = record.limits.Describe();
  return limits.empty() ? record.text : record.text + "; this counts only with " + limits;
}

QuarantinedPlugin Report(const host::QuarantineRecord& record) {
  return {host::HexText(record.key),
          record.file.string(),
          record.plugin,
          record.reason,
          ReasonOf(record),
          record.since,
          record.in_force,
          record.part ? host::Printable(record.part->content.part) : "",
          record.part ? host::Printable(record.part->content.model_name) : ""};
}

bool Names(const std::string& name, const QuarantinedPlugin& plugin) {
  return name == plugin.file || name == std::filesystem::path(plugin.file).filename() || name == plugin.plugin ||
         (name.size() >= kFewestDigits && plugin.key.compare(0, name.size(), name) == 0);
}

// The records that the name chooses, with their reports.
Result<std::vector<std::pair<host::QuarantineRecord, QuarantinedPlugin>>> Find(host::PluginRecords& store,
                                                                               const std::optional<std::string>& name) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<host::QuarantineRecord> records, store.List());
  std::vector<std::pair<host::QuarantineRecord, QuarantinedPlugin>> found;
  std::vector<std::string> files;
  for (const host::QuarantineRecord& record : records) {
    QuarantinedPlugin plugin = Report(record);
    files.push_back(record.file.filename().string());
    if (!name || Names(*name, plugin)) found.emplace_back(record, std::move(plugin));
  }
  if (name && found.empty())
    return host::Error(StatusCode::kNotFound, "no quarantined plugin is called '{}'{}", *name,
                       host::DidYouMean(*name, std::span<const std::string>(files)));
  return found;
}

}  // namespace

Result<std::vector<QuarantinedPlugin>> Context::ListQuarantine(const std::optional<std::string>& name) const {
  const std::shared_ptr<host::PluginRecords> store = host::RecordsOf(state_->Current()->config, /*reuse=*/true);
  DEPUTY_ASSIGN_OR_RETURN(auto found, Find(*store, name));
  std::vector<QuarantinedPlugin> plugins;
  for (auto& [record, plugin] : found) plugins.push_back(std::move(plugin));
  return plugins;
}

Result<std::vector<QuarantinedPlugin>> Context::ClearQuarantine(const std::optional<std::string>& name) const {
  const std::shared_ptr<host::PluginRecords> store = host::RecordsOf(state_->Current()->config, /*reuse=*/true);
  DEPUTY_ASSIGN_OR_RETURN(auto found, Find(*store, name));
  std::vector<QuarantinedPlugin> cleared;
  for (auto& [record, plugin] : found) {
    if (name) DEPUTY_RETURN_IF_ERROR(store->Clear(record));
    cleared.push_back(std::move(plugin));
  }
  if (!name) DEPUTY_RETURN_IF_ERROR(store->ClearAll());
  return cleared;
}

}  // namespace deputy
