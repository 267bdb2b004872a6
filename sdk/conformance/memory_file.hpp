// Memory of memfd_create that a delegate imports.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace deputy::conformance {

// Zeros, sealed against becoming smaller, and mapped. is_open() is false where there is no memory.
class MemoryFile {
 public:
  static constexpr const char* kName = "deputy imports";

  explicit MemoryFile(size_t size) : size_(size), file_(memfd_create(kName, MFD_ALLOW_SEALING)) {
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size)) != 0 ||
        fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
      return;
    void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (base != MAP_FAILED) data_ = static_cast<uint8_t*>(base);
  }
  ~MemoryFile() {
    if (data_ != nullptr) munmap(data_, size_);
    Close();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  bool is_open() const { return data_ != nullptr; }
  int file() const { return file_; }
  uint8_t* data() { return data_; }
  // What others that have the descriptor could change of it.
  std::pair<int, int> FlagsAndSeals() const { return {fcntl(file_, F_GETFL), fcntl(file_, F_GET_SEALS)}; }
  // The mapping stays.
  void Close() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  size_t size_;
  int file_;
  uint8_t* data_ = nullptr;
};

// What this process still has of such memory, by a mapping or a descriptor; "": nothing.
inline std::string LeftOfMemoryFiles() {
  std::string line;
  for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);)
    if (line.find(MemoryFile::kName) != std::string::npos) return "a mapping";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
    if (std::filesystem::read_symlink(entry.path(), error).string().find(MemoryFile::kName) != std::string::npos)
      return "a descriptor";
  return "";
}

}  // namespace deputy::conformance
