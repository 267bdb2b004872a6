// The file of one entry of the store: its name, its format and the checks of a reader. host/docs/store.md defines it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.hpp"
#include "base/status.hpp"
#include "store/entry_origin.hpp"

namespace deputy::host {

// The numbers are part of the format; a new kind gets the next one.
enum class EntryKind : uint32_t {
  kBlob,        // a compiled partition, as its delegate serialized it
  kVerdict,     // the result of verifying a partition
  kPlacement,   // the placement that was chosen for a model by measuring
  kCosts,       // measured costs of operators
  kModel,       // what is known of a model as a whole
  kProbe,       // a plugin's description of itself
  kQuarantine,  // a plugin file that is not run again
  kFaults,      // contents of models that have ended a plugin's worker process
};
inline constexpr EntryKind kEntryKinds[] = {EntryKind::kBlob,       EntryKind::kVerdict, EntryKind::kPlacement,
                                            EntryKind::kCosts,      EntryKind::kModel,   EntryKind::kProbe,
                                            EntryKind::kQuarantine, EntryKind::kFaults};
std::string_view NameOf(EntryKind kind);  // "blob", "verdict", ...: also the suffix of its files

struct StoredEntry {
  std::string text;                // a small text beside the bytes; a blob's compatibility
  std::span<const uint8_t> bytes;  // aligned to 64; they live as long as `keep`
  std::shared_ptr<const void> keep;
  EntryOrigin origin = {};
};

// "<64 hexadecimal digits>.<kind>", and back; nothing for any other name.
std::string EntryFileName(EntryKind kind, const Digest& key);
std::optional<std::pair<EntryKind, Digest>> ParseEntryFileName(std::string_view name);

// The size of the file of an entry.
uint64_t EntryFileSize(std::string_view text, std::span<const uint8_t> bytes);

inline constexpr size_t kMaxEntryText = 4095;  // with the origin

// Replaces the entry's file in the open folder, atomically; kInvalidArgument for a text over the format's limit.
Status WriteEntry(int folder, EntryKind kind, const Digest& key, std::string_view text, std::span<const uint8_t> bytes);

// Checks the whole file. kNotFound: there is none. kModel: damaged, foreign or not trusted, also one over `limit`
// bytes. kNotSupported: intact, and of another version of the format. Other codes: it could not be read.
Result<StoredEntry> ReadEntry(int folder, EntryKind kind, const Digest& key, uint64_t limit);

// The text of an entry, with its origin behind it; the header is checked, the rest is not read. Codes as above.
Result<std::string> ReadEntryText(int folder, EntryKind kind, const Digest& key, uint64_t limit);

}  // namespace deputy::host
