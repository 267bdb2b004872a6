// The listing of the cache for applications and for the command.
#include "deputy/cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plugin/discovery/plugin_build.hpp"
#include "runtime/context_state.hpp"
#include "runtime/engine.hpp"
#include "runtime/scan.hpp"
#include "store/store.hpp"

namespace deputy {
namespace {

CacheEntryState StateOf(host::EntryState state) {
  switch (state) {
    case host::EntryState::kUnchecked: return CacheEntryState::kUnchecked;
    case host::EntryState::kIntact: return CacheEntryState::kIntact;
    case host::EntryState::kDamaged: return CacheEntryState::kDamaged;
    case host::EntryState::kOther: return CacheEntryState::kOtherVersion;
    case host::EntryState::kUnreadable: return CacheEntryState::kUnreadable;
  }
  return CacheEntryState::kUnreadable;
}

// Why the plugin that made the entry is no longer there; empty: it is, or the entry does not tell.
class StaleCheck {
 public:
  explicit StaleCheck(const host::Config& config) : records_(host::RecordsOf(config, /*reuse=*/true)) {}

  std::string Of(const host::EntryOrigin& origin) {
    if (origin.file.empty() || origin.build.empty()) return {};
    const auto [known, added] = builds_.try_emplace({origin.file, origin.libraries});
    if (added) known->second = host::BuildAt(origin.file, origin.libraries, *records_);
    if (const host::Rejection* rejection = host::RejectionOf(*known->second))
      return "the plugin file " + rejection->text;
    const host::PluginBuild& now = std::get<host::PluginBuild>(*known->second);
    if (now.text == origin.build) return {};
    return now.version == origin.version ? "the plugin file, or a file or library of it, has changed"
                                         : fmt::format("the plugin file has version {} now", now.version);
  }

 private:
  const std::shared_ptr<host::PluginRecords> records_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::optional<host::Checked<host::PluginBuild>>> builds_;
};

// Lists the entries that the filter accepts, and removes them.
Result<CacheListing> ListEntries(const host::Config& config, bool check, bool remove, const CacheFilter& filter) {
  CacheListing listing;
  listing.off_by_setting = *config.cache.dir == "off";
  const std::unique_ptr<host::Store> store = host::OpenStore(config);
  if (store == nullptr) return listing;
  listing.folder = store->folder().string();
  listing.max_bytes = store->limit();
  StaleCheck stale(config);
  const auto newest = std::chrono::system_clock::now() - filter.unused_for;
  DEPUTY_ASSIGN_OR_RETURN(std::vector<host::EntryInfo> entries, store->List(check));
  for (host::EntryInfo& entry : entries) {
    std::string kind(NameOf(entry.kind));
    if (!filter.kinds.empty() && std::find(filter.kinds.begin(), filter.kinds.end(), kind) == filter.kinds.end())
      continue;
    if (entry.last_use > newest && filter.unused_for.count() != 0) continue;
    if (remove) {
      Status removed = store->Remove(entry.kind, entry.key);
      if (!removed.ok()) return std::move(removed).At(store->PathOf(entry.kind, entry.key).string());
    }
    listing.entries.push_back({std::move(kind), host::HexText(entry.key), store->PathOf(entry.kind, entry.key).string(),
                               entry.bytes, entry.last_use, std::move(entry.text), StateOf(entry.state),
                               std::move(entry.problem)});
    CacheEntry& listed = listing.entries.back();
    if (!remove) listed.stale = stale.Of(entry.origin);
    listed.model = std::move(entry.origin.model);
    listed.plugin = std::move(entry.origin.plugin);
    listed.plugin_version = std::move(entry.origin.version);
    listed.plugin_file = std::move(entry.origin.file);
    listed.delegate = std::move(entry.origin.delegate);
    listed.device = std::move(entry.origin.device);
  }
  return listing;
}

}  // namespace

std::vector<std::string> CacheEntryKinds() {
  std::vector<std::string> kinds;
  for (const host::EntryKind kind : host::kEntryKinds) kinds.emplace_back(NameOf(kind));
  return kinds;
}

Result<CacheListing> Context::ListCache(bool check) const {
  return ListEntries(state_->Current()->config, check, false, {});
}

Result<CacheListing> Context::PurgeCache(const CacheFilter& filter) const {
  const std::vector<std::string> kinds = CacheEntryKinds();
  for (const std::string& kind : filter.kinds)
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      return host::Error(StatusCode::kInvalidArgument, "the kind of an entry must be {}, got '{}'",
                         fmt::join(kinds, ", "), kind);
  return ListEntries(state_->Current()->config, false, true, filter);
}

}  // namespace deputy
