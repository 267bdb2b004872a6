// The listing of the cache for applications and for the command.
#include "deputy/cache.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/context_state.hpp"
#include "runtime/engine.hpp"
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

// Lists the entries that the filter accepts, and removes them.
Result<CacheListing> ListEntries(host::Store* store, bool check, bool remove, const CacheFilter& filter) {
  CacheListing listing;
  if (store == nullptr) return listing;
  listing.folder = store->folder().string();
  listing.max_bytes = store->limit();
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
  return ListEntries(host::OpenStore(state_->config).get(), check, false, {});
}

Result<CacheListing> Context::PurgeCache(const CacheFilter& filter) const {
  const std::vector<std::string> kinds = CacheEntryKinds();
  for (const std::string& kind : filter.kinds)
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      return host::Error(StatusCode::kInvalidArgument, "the kind of an entry must be {}, got '{}'",
                         fmt::join(kinds, ", "), kind);
  return ListEntries(host::OpenStore(state_->config).get(), false, true, filter);
}

}  // namespace deputy
