// Memory of memfd_create that a delegate imports.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace deputy::conformance {

// Zeros, sealed against becoming smaller, and mapped. is_open() is false where there is no memory.
class MemoryFile {
 public:
  explicit MemoryFile(size_t size) : size_(size), file_(memfd_create("deputy-conformance", MFD_ALLOW_SEALING)) {
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

}  // namespace deputy::conformance
