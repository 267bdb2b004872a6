// Compiled partitions on disk: a folder with one file per partition, named by its content (partition_key.hpp). No
// failure here is an error of the model: a partition that cannot be read is compiled, one that cannot be written is
// compiled again next time, and the log reports it. host/docs/blob-cache.md defines the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/status.hpp"
#include "delegate/extensions.hpp"

namespace deputy::host {

struct CacheOptions {
  std::filesystem::path folder;  // made when something is stored
  uint64_t max_bytes = 0;        // of all files together
};

struct CachedBlob {
  std::string compatibility;
  Blob blob;
};

// Any number of processes may share a folder. A folder that users other than root and this one could change is not
// used, with one warning: its bytes would be given to drivers. [any-thread]
class BlobCache {
 public:
  explicit BlobCache(CacheOptions options) : options_(std::move(options)) {}

  // Nothing when there is no entry or no intact one; a damaged one is logged and, if possible, removed.
  std::optional<CachedBlob> Find(const Digest& key);
  // Replaces the entry and makes room by removing the least recently used ones. Failure to store is one warning.
  void Store(const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes);

  // The maximal size of one blob.
  size_t limit() const { return static_cast<size_t>(options_.max_bytes); }
  std::filesystem::path PathOf(const Digest& key) const;

 private:
  // The folder, opened once and checked; null where there is none or it is refused. All accesses go through this
  // descriptor, so that no other folder can replace it; one that was removed is opened and checked again. Under the
  // lock.
  std::shared_ptr<const Descriptor> Folder(bool make);
  void Refuse(const std::string& why);
  Status Write(int folder, const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes);
  // Removes the least recently used files until `more` bytes fit.
  void MakeRoom(int folder, uint64_t more);

  const CacheOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const Descriptor> folder_;
  bool refused_ = false, warned_ = false;
};

}  // namespace deputy::host
