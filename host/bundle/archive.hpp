// A bundle as an archive: tar in gzip, every byte covered by a digest at its end (host/docs/bundle-format.md). The only
// user of libarchive. Errors of an archive that is refused: kInvalidArgument (damaged), kFailedPrecondition (a path or
// kind of entry that is not safe), kResourceExhausted (larger than the limits); of the system: kNotFound, kUnavailable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/status.hpp"

struct archive;

namespace deputy::host::bundle {

inline constexpr size_t kMostFiles = 1024;
inline constexpr uint64_t kMostBytes = uint64_t{16} << 30;  // of all files together, unpacked

struct ArchiveFile {
  std::string path;
  std::span<const uint8_t> bytes;
};

// Writes regular files in the given order. The same files give the same bytes. Atomic, as every file of the host.
Status WriteArchive(std::span<const ArchiveFile> files, const std::filesystem::path& output);

class ArchiveReader {
 public:
  struct Entry {
    std::string path;  // relative, safe, unique
    uint64_t size = 0;
  };

  // Compares the digest of the whole file.
  static Result<std::unique_ptr<ArchiveReader>> Open(const std::filesystem::path& path);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // The next file; nothing at the end.
  Result<std::optional<Entry>> Next();
  // The bytes of the file that Next returned, in pieces; `take` may end the reading with an error.
  Status Read(const Entry& entry, const std::function<Status(std::span<const uint8_t>)>& take);

 private:
  explicit ArchiveReader(std::shared_ptr<const MappedFile> file);
  Status Damaged() const;

  std::shared_ptr<const MappedFile> file_;
  ::archive* const archive_;
  std::vector<std::string> seen_;
  uint64_t bytes_ = 0;
};

}  // namespace deputy::host::bundle
