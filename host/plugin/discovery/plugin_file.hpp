// A plugin's file for the checks before it is loaded: opened once, read in pieces, distinguished from a file that
// replaces it later. Read, not mapped, because a mapping of a file that shrinks meanwhile ends the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

// Random access to the bytes of a possibly hostile file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // All `count` bytes at `offset` into `out`, or false.
  virtual bool Read(uint64_t offset, void* out, size_t count) const = 0;
  // The error of the system that a read ended with, as errno; 0: none did.
  virtual int read_error() const { return 0; }
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  bool Read(uint64_t offset, void* out, size_t count) const override;

 private:
  std::span<const uint8_t> bytes_;
};

// Same identity: the same file, neither written to nor replaced in between.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

// A file that belongs to a plugin besides its own (plugin_parts.hpp).
struct PluginPart {
  std::filesystem::path path;
  FileIdentity identity;          // all 0: there is none
  std::vector<uint8_t> build_id;  // of its linker; may be empty
  bool at_load = false;           // the plugin maps it while it is loaded

  bool operator==(const PluginPart&) const = default;
};

// That the system did not give the bytes of a file, by its error number.
Rejection RejectionOfErrno(int error);

// Of the file that `path` leads to now; fails for anything but a regular file.
Checked<FileIdentity> IdentityOf(const std::filesystem::path& path);

class PluginFile final : public ByteSource {
 public:
  // Follows symbolic links. Never blocks on a pipe.
  static Checked<std::unique_ptr<PluginFile>> Open(const std::filesystem::path& path);
  // Takes a file that is open for reading; fails for anything but a regular one.
  static Checked<std::unique_ptr<PluginFile>> Of(Descriptor opened);
  const FileIdentity& identity() const { return identity_; }
  // Files of its note, whose content counts as its own; and libraries that it is known to map. Empty until they are
  // set.
  const std::vector<PluginPart>& parts() const { return parts_; }
  const std::vector<PluginPart>& mapped() const { return mapped_; }
  void set_parts(std::vector<PluginPart> parts) { parts_ = std::move(parts); }
  void set_mapped(std::vector<PluginPart> mapped) { mapped_ = std::move(mapped); }
  // How users other than root and this one could change the open file; empty if they cannot.
  std::string Distrust() const;
  uint64_t size() const override { return identity_.size; }
  bool Read(uint64_t offset, void* out, size_t count) const override;
  int read_error() const override { return read_error_; }

 private:
  explicit PluginFile(Descriptor opened) : file_(std::move(opened)) {}
  Descriptor file_;
  mutable std::atomic<int> read_error_{0};
  FileIdentity identity_;
  std::vector<PluginPart> parts_, mapped_;
};

}  // namespace deputy::host
