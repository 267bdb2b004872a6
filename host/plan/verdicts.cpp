#include "plan/verdicts.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "store/store.hpp"

namespace deputy::host {
namespace {

// The text of an entry. The bytes are the positions of wrong nodes, each a little-endian uint32_t.
constexpr std::string_view kRight = "right";
constexpr size_t kLongestText = 2000;

}  // namespace

// From memory, or from the store.
const PartitionVerdict* Verdicts::Known(const Digest& key) {
  if (const auto known = known_.find(key); known != known_.end()) return &known->second;
  if (store_ == nullptr) return nullptr;
  const std::optional<StoredEntry> entry = store_->Find(EntryKind::kVerdict, key);
  if (!entry) return nullptr;
  PartitionVerdict verdict;
  verdict.right = entry->text == kRight;
  if (!verdict.right) verdict.text = entry->text;
  verdict.wrong_nodes.resize(entry->bytes.size() / sizeof(uint32_t));
  if (!verdict.wrong_nodes.empty())
    std::memcpy(verdict.wrong_nodes.data(), entry->bytes.data(), verdict.wrong_nodes.size() * sizeof(uint32_t));
  if (verdict.right != verdict.wrong_nodes.empty()) return nullptr;
  return &(known_[key] = std::move(verdict));
}

std::optional<PartitionVerdict> Verdicts::Find(const Digest& key, size_t nodes) {
  const MutexLock lock(mutex_);
  const PartitionVerdict* const known = Known(key);
  const bool fits = known != nullptr && std::all_of(known->wrong_nodes.begin(), known->wrong_nodes.end(),
                                                    [&](uint32_t position) { return position < nodes; });
  return fits ? std::optional(*known) : std::nullopt;
}

void Verdicts::Save(const Digest& key, const PartitionVerdict& verdict) {
  const MutexLock lock(mutex_);
  PartitionVerdict merged = verdict;
  if (const PartitionVerdict* known = Known(key)) {
    std::vector<uint32_t> all;
    std::set_union(known->wrong_nodes.begin(), known->wrong_nodes.end(), verdict.wrong_nodes.begin(),
                   verdict.wrong_nodes.end(), std::back_inserter(all));
    if (all == known->wrong_nodes) return;
    merged.wrong_nodes = std::move(all);
  }
  known_[key] = merged;
  if (store_ == nullptr) return;
  const std::string_view text = merged.right ? kRight : std::string_view(merged.text).substr(0, kLongestText);
  store_->Save(
      EntryKind::kVerdict, key, text,
      {reinterpret_cast<const uint8_t*>(merged.wrong_nodes.data()), merged.wrong_nodes.size() * sizeof(uint32_t)});
}

}  // namespace deputy::host
