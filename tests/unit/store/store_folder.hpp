// A folder for a store in a test, with the warnings that the log receives meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "store/store.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host {

inline Digest KeyOf(std::string_view text) { return Digester().AddText(text).Finish(); }

class StoreFolder : public testing::Test {
 protected:
  StoreFolder() {
    SetLogSink([this](LogLevel level, std::string_view, std::string_view message) {
      const std::lock_guard lock(mutex_);
      if (level >= LogLevel::kWarning) log_ += std::string(message) + "\n";
    });
  }
  ~StoreFolder() override { SetLogSink(nullptr); }

  Store Open(uint64_t max_bytes = 1 << 20) const { return Store(StoreOptions{folder_, max_bytes}); }
  void Save(std::string_view key, std::string_view text, const std::vector<uint8_t>& bytes) const {
    Open().Save(EntryKind::kBlob, KeyOf(key), text, bytes);
  }
  std::filesystem::path PathOf(std::string_view key, EntryKind kind = EntryKind::kBlob) const {
    return folder_ / EntryFileName(kind, KeyOf(key));
  }
  // The bytes of the entry, as a new process finds it.
  std::optional<std::vector<uint8_t>> Found(std::string_view key, EntryKind kind = EntryKind::kBlob) const {
    return Found(Open(), key, kind);
  }
  static std::optional<std::vector<uint8_t>> Found(Store&& store, std::string_view key,
                                                   EntryKind kind = EntryKind::kBlob) {
    return Found(store, key, kind);
  }
  static std::optional<std::vector<uint8_t>> Found(Store& store, std::string_view key,
                                                   EntryKind kind = EntryKind::kBlob) {
    const std::optional<StoredEntry> found = store.Find(kind, KeyOf(key));
    if (!found) return std::nullopt;
    return std::vector<uint8_t>(found->bytes.begin(), found->bytes.end());
  }
  // All entries, checked.
  static std::vector<EntryInfo> Entries(Store& store) {
    Result<std::vector<EntryInfo>> entries = store.List(true);
    EXPECT_TRUE(entries.ok()) << entries.status().ToString();
    return entries.ok() ? std::move(entries).value() : std::vector<EntryInfo>();
  }
  std::vector<EntryInfo> Entries() const {
    Store store = Open();
    return Entries(store);
  }
  size_t CountInLog(std::string_view text) const {
    size_t count = 0;
    for (size_t at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1)) ++count;
    return count;
  }

  const TempFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "store";
  std::mutex mutex_;
  std::string log_;
  const std::vector<uint8_t> bytes_ = {10, 20, 30, 40, 50, 60, 70};
};

}  // namespace deputy::host
