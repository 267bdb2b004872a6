// Files: read-only mappings and whole reads, with errors that state the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace deputy::host {

// A regular file mapped read-only (private). Unmapped with the last reference. Changing the file meanwhile is at the
// caller's risk, as with any mapping.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // Returns the memory of the pages read so far to the system; further reads load them again. For files most of which
  // have been read for the last time. [any-thread]
  void DropPages() const;

 private:
  MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  const uint8_t* data_;
  size_t size_;
};

// Reads a whole file into memory; refuses anything but a regular file, and files over `limit` bytes.
Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t limit);

}  // namespace deputy::host
