// Files: descriptors, read-only mappings and whole reads, with errors that state the cause.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace deputy::host {

// A file descriptor that is closed with its owner. Negative: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Replace(-1); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Replace(other.Release());
    return *this;
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Replace(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// How the bytes of a file come into memory.
enum class FileAccess {
  kMapped,  // as pages of the file: a change of the file changes them, and the process ends when it reads a removed
            // page
  kCopied,  // as a copy, which nothing can change
};

// The bytes of a regular file, mapped read-only (private), and open. Unmapped and closed with the last reference.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& path,
                                                        FileAccess access = FileAccess::kMapped);
  // Takes a regular file that is open for reading.
  static Result<std::shared_ptr<const MappedFile>> Of(Descriptor file, FileAccess access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // Of the file, or of the copy.
  int descriptor() const { return descriptor_.get(); }
  // DropPages of all bytes. [any-thread]
  void DropPages() const;

 private:
  MappedFile() = default;

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  Descriptor descriptor_;
};

// Takes the whole pages among these bytes of a read-only file mapping out of the memory of the process; the next read
// maps them again, from the system's cache of the file or from the disk. For bytes that have been read for the last
// time, or for the last time soon. [any-thread]
void DropPages(std::span<const uint8_t> mapped);

// Fills `to` from an offset of a file on; false when it cannot. [any-thread]
bool ReadAt(int descriptor, uint64_t offset, std::span<uint8_t> to);

// What is in a folder, in the order of the names; `error` is set when it cannot be read, or not to its end.
// std::filesystem's iterators end the process when memory lacks. [any-thread]
std::vector<std::filesystem::path> PathsIn(const std::filesystem::path& folder, std::error_code& error);

// Reads a whole file into memory; refuses anything but a regular file, and files over `limit` bytes.
Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t limit);

// The type of a file, in words for messages.
inline const char* KindOfFile(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace deputy::host
