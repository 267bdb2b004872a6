#include "plan/verdicts.hpp"

#include <algorithm>
#include <cstring>

#include "store/store.hpp"

namespace deputy::host {
namespace {

// The text of an entry. The bytes are the positions of wrong nodes, each a little-endian uint32_t.
constexpr std::string_view kRight = "right";
constexpr size_t kLongestText = 2000;

}  // namespace

std::optional<PartitionVerdict> Verdicts::Find(const Digest& key, size_t nodes) {
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (store_ == nullptr) return std::nullopt;
  const std::optional<StoredEntry> entry = store_->Find(EntryKind::kVerdict, key);
  if (!entry) return std::nullopt;
  PartitionVerdict verdict;
  verdict.right = entry->text == kRight;
  if (!verdict.right) verdict.text = entry->text;
  verdict.wrong_nodes.resize(entry->bytes.size() / sizeof(uint32_t));
  if (!verdict.wrong_nodes.empty())
    std::memcpy(verdict.wrong_nodes.data(), entry->bytes.data(), verdict.wrong_nodes.size() * sizeof(uint32_t));
  const bool fits = std::all_of(verdict.wrong_nodes.begin(), verdict.wrong_nodes.end(),
                                [&](uint32_t position) { return position < nodes; });
  if (!fits || verdict.right != verdict.wrong_nodes.empty()) return std::nullopt;
  return known_[key] = std::move(verdict);
}

void Verdicts::Save(const Digest& key, const PartitionVerdict& verdict) {
  const std::lock_guard lock(mutex_);
  known_[key] = verdict;
  if (store_ == nullptr) return;
  const std::string_view text = verdict.right ? kRight : std::string_view(verdict.text).substr(0, kLongestText);
  store_->Save(
      EntryKind::kVerdict, key, text,
      {reinterpret_cast<const uint8_t*>(verdict.wrong_nodes.data()), verdict.wrong_nodes.size() * sizeof(uint32_t)});
}

}  // namespace deputy::host
