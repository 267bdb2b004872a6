// What is kept between runs of the program: compiled partitions, and decisions about models and partitions that took
// time to make. A folder with one file per entry, named by a digest of all that the entry depends on. No failure here
// is an error of the model: an entry that cannot be read is made again, one that cannot be written is made again next
// time, and the log reports it. host/docs/store.md defines the files.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/status.hpp"
#include "store/entry_file.hpp"

namespace deputy::host {

struct StoreOptions {
  std::filesystem::path folder;  // made when something is saved
  uint64_t max_bytes = 0;        // of all files together
};

enum class EntryState : uint8_t {
  kUnchecked,  // only the header was read
  kIntact,
  kDamaged,    // damaged, foreign or not trusted: a reader removes it
  kOther,      // of another version of the format; it stays until it is replaced or makes room
  kUnreadable  // a failure of the system, such as missing permission
};

struct EntryInfo {
  EntryKind kind{};
  Digest key{};
  uint64_t bytes = 0;  // of its file
  std::chrono::system_clock::time_point last_use;
  std::string text;  // empty where it could not be read
  EntryState state = EntryState::kUnchecked;
  std::string problem;  // "is damaged: its checksum does not match"; empty if there is none
  EntryOrigin origin = {};
};

// Any number of processes may share a folder. A folder that users other than root and this one could change or
// replace, by its whole path (judged_file.hpp), is neither used nor made, with one warning: its bytes would be given to
// drivers. [any-thread]
class Store {
 public:
  explicit Store(StoreOptions options) : options_(std::move(options)) {}

  // Nothing when there is no entry or no intact one; a damaged one is logged once and, if possible, removed.
  std::optional<StoredEntry> Find(EntryKind kind, const Digest& key);
  // Replaces the entry and makes room. Failure is one warning; returns the reason, empty if the entry is kept. The text
  // is at most kMaxEntryText bytes, and the origin is left out where it does not fit.
  std::string Save(EntryKind kind, const Digest& key, std::string_view text, std::span<const uint8_t> bytes,
                   const EntryOrigin& origin = {});
  // OK if there is no such entry afterwards.
  Status Remove(EntryKind kind, const Digest& key);

  // All entries, by kind and key; with `check` each is read whole. Changes nothing, not even the times of last use. A
  // folder that does not exist has none; kUnavailable for one that is not used.
  Result<std::vector<EntryInfo>> List(bool check);

  // The maximal size of an entry, and of all together.
  size_t limit() const { return static_cast<size_t>(options_.max_bytes); }
  const std::filesystem::path& folder() const { return options_.folder; }
  std::filesystem::path PathOf(EntryKind kind, const Digest& key) const;

 private:
  // The folder, opened once and checked; null where there is none or it is refused. All accesses go through this
  // descriptor, so that no other folder can replace it; one that was removed is opened and checked again. Under mutex_.
  std::shared_ptr<const Descriptor> Folder(bool make);
  // The same, with one warning when it is refused, or with an error.
  std::shared_ptr<const Descriptor> FolderOrWarning(bool make);
  Result<std::shared_ptr<const Descriptor>> UsableFolder();
  Status Write(int folder, EntryKind kind, const Digest& key, std::string_view text, std::span<const uint8_t> bytes);
  // Removes files until `more` bytes fit; `replaced` is not counted. The first to be removed is the one with the
  // largest product of size and time since its last use: for entries of one size the least recently used, and
  // decisions, whose removal frees little, after blobs. Returns the bytes that are still free besides.
  uint64_t MakeRoom(int folder, const std::string& replaced, uint64_t more);

  const StoreOptions options_;
  std::mutex saving_;  // held while an entry is written; guards the next two
  uint64_t free_ = 0;  // bytes that may be written without listing the folder, for a second after the last listing
  std::chrono::steady_clock::time_point listed_{};
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Descriptor> folder_;
  std::string refusal_;             // why the folder is not used; empty: it is
  std::set<std::string> reported_;  // names of entries whose problem has been logged
  bool refusal_logged_ = false, warned_ = false;
};

}  // namespace deputy::host
