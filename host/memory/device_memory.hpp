// Memory of a device, which the CPU does not address: buffers of its delegate, and copies from and to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"

namespace deputy::host {

// A part of a file in memory (memfd_create) that others have as well, sealed against becoming smaller.
struct MemoryFilePart {
  int file = -1;
  uint64_t offset = 0, bytes = 0;
};

// Of an opened delegate. [any-thread]
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // deputy_tensor.domain of its buffers: objects with one number are one memory.
  virtual uint64_t domain() const = 0;
  // How often the device was lost, with all buffers that were made before.
  virtual uint64_t losses() const = 0;
  // It will not be there again: the process that had it has ended. New contexts may have another memory.
  virtual bool has_ended() const { return false; }
  // It was lost; `seen`: losses() when what was lost was made, so that a loss that several users find counts once.
  virtual void CountLoss(uint64_t seen) = 0;
  // The name of a new buffer, which is not 0; its contents are undefined. The buffer goes to Release, once.
  virtual Result<uint64_t> Allocate(size_t bytes, size_t alignment) = 0;
  // The same for a buffer on memory that is there, without a copy. kNotSupported: the device cannot reach this memory.
  virtual Result<uint64_t> Import(const MemoryFilePart&) {
    return Error(StatusCode::kNotSupported, "the device imports no memory");
  }
  virtual void Release(uint64_t handle) = 0;
  // Copies that have ended when the call returns. kDeviceLost: no buffer of the domain is valid any more.
  virtual Status CopyIn(const void* from, uint64_t handle, size_t bytes) = 0;
  virtual Status CopyOut(uint64_t handle, void* to, size_t bytes) = 0;
};

// Owns a buffer of a device. Moves only.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> Make(std::shared_ptr<DeviceMemory> memory, size_t bytes, size_t alignment) {
    const uint64_t losses = memory->losses();
    DEPUTY_ASSIGN_OR_RETURN(const uint64_t handle, memory->Allocate(bytes, alignment));
    return DeviceBuffer(std::move(memory), handle, bytes, alignment, losses);
  }
  // `host`: where the CPU has the memory, aligned to `alignment`.
  static Result<DeviceBuffer> Import(std::shared_ptr<DeviceMemory> memory, const MemoryFilePart& part, const void* host,
                                     size_t alignment) {
    const uint64_t losses = memory->losses();
    DEPUTY_ASSIGN_OR_RETURN(const uint64_t handle, memory->Import(part));
    DeviceBuffer made(std::move(memory), handle, static_cast<size_t>(part.bytes), alignment, losses);
    made.host_ = host;
    return made;
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept = default;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (memory_ != nullptr) memory_->Release(handle_);
  }

  uint64_t handle() const { return handle_; }
  size_t size() const { return bytes_; }
  size_t alignment() const { return alignment_; }
  DeviceMemory& memory() const { return *memory_; }
  // Where the CPU has the same bytes; null: nowhere.
  const void* host() const { return host_; }
  // False: the device was lost since it was made.
  bool is_valid() const { return memory_->losses() == losses_; }

 private:
  DeviceBuffer(std::shared_ptr<DeviceMemory> memory, uint64_t handle, size_t bytes, size_t alignment, uint64_t losses)
      : memory_(std::move(memory)), handle_(handle), losses_(losses), bytes_(bytes), alignment_(alignment) {}

  std::shared_ptr<DeviceMemory> memory_;  // null after a move
  uint64_t handle_, losses_;
  size_t bytes_, alignment_;
  const void* host_ = nullptr;
};

}  // namespace deputy::host
