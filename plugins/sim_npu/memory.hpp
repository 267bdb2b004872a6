// The device's own memory: a budget, blocks reserved from it, and the arena of a program's tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
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

 private:
  friend class Block;
  const size_t budget_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
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
