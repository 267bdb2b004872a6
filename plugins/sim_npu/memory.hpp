// The device's own memory: a budget, blocks reserved from it, and the arena of a program's tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

class DeviceMemory;

// A reserved share of the budget, released by the destructor.
class Block {
 public:
  Block(std::shared_ptr<DeviceMemory> memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

 private:
  std::shared_ptr<DeviceMemory> memory_;
  size_t bytes_;
};

// [any-thread]
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  explicit DeviceMemory(size_t budget) : budget_(budget) {}

  // NOT_SUPPORTED when the budget does not hold it: another delegate can still take the nodes.
  deputy::sdk::Result<std::unique_ptr<Block>> Reserve(size_t bytes);
  size_t used() const;
  size_t budget() const { return budget_; }

  // A buffer for the host's tensors; OUT_OF_MEMORY when the budget does not hold it. Names are never used again.
  deputy::sdk::Result<uint64_t> Allocate(size_t bytes, size_t alignment);
  // A buffer on memory that others have too, in front of the device's own.
  deputy::sdk::Result<uint64_t> Import(const deputy::sdk::SharedMemory& memory);
  void Release(uint64_t handle);
  // The device was lost and is there again: buffers from before are not.
  void LoseBuffers();
  // Where the simulation has bytes of a buffer, until its release; INVALID_ARGUMENT outside of it, DEVICE_LOST for one
  // from before a loss.
  deputy::sdk::Result<void*> Find(uint64_t handle, uint64_t offset, uint64_t bytes) const;

 private:
  friend class Block;
  struct Buffer {
    std::unique_ptr<Block> block;  // null: imported
    std::shared_ptr<void> storage;
    unsigned char* first = nullptr;  // aligned
    size_t bytes = 0;
  };

  uint64_t Keep(Buffer buffer);

  const size_t budget_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  mutable std::mutex buffers_mutex_;  // of all below
  std::unordered_map<uint64_t, Buffer> buffers_;
  uint64_t newest_ = 0, newest_lost_ = 0;
};

// A tensor's lifetime: from the step that writes it to the last step that reads it.
struct Lifetime {
  size_t elements = 0;
  size_t first = 0, last = 0;
  size_t offset = 0;  // in elements; set by PlanArena
};

// Assigns offsets so that tensors with overlapping lifetimes do not overlap; returns the arena's size in elements.
size_t PlanArena(std::vector<Lifetime>& tensors);

}  // namespace sim_npu
