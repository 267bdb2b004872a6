// Compiled partitions on disk: a folder with one file per partition, named by its content (partition_key.hpp). Nothing
// that goes wrong here is an error of the model: what cannot be read is compiled, what cannot be written is compiled
// again next time, and the log says which. host/docs/blob-cache.md defines the files.
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

// Any number of processes may share a folder. One that users other than root and this one could change is not used at
// all, with one warning: its bytes would be handed to drivers. [any-thread]
class BlobCache {
 public:
  explicit BlobCache(CacheOptions options) : options_(std::move(options)) {}

  // Nothing when there is no entry, or none that is whole: that is logged and removed, if it may be.
  std::optional<CachedBlob> Find(const Digest& key);
  // Replaces the entry and makes room by forgetting what was not used for longest. Failure to store is one warning.
  void Store(const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes);

  // What one blob may have at most.
  size_t limit() const { return static_cast<size_t>(options_.max_bytes); }
  std::filesystem::path PathOf(const Digest& key) const;

 private:
  // The folder, opened once and checked; null where there is none or it is refused. Everything below goes through this
  // descriptor, so that no other folder can take its place; one that was removed is opened and checked anew. Under the
  // lock.
  std::shared_ptr<const Descriptor> Folder(bool make);
  void Refuse(const std::string& why);
  Status Write(int folder, const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes);
  // Removes the files that were not used for longest until `more` bytes fit.
  void MakeRoom(int folder, uint64_t more);

  const CacheOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const Descriptor> folder_;
  bool refused_ = false, warned_ = false;
};

}  // namespace deputy::host
