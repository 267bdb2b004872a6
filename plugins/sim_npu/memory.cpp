#include "memory.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace sim_npu {

using deputy::sdk::Code;
using deputy::sdk::Result;
using deputy::sdk::Status;

Block::~Block() {
  const std::lock_guard<std::mutex> lock(memory_->mutex_);
  memory_->used_ -= bytes_;
}

Result<std::unique_ptr<Block>> DeviceMemory::Reserve(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > budget_ - used_) {
    constexpr size_t kKibibyte = 1024;
    return Status(Code::kNotSupported, "needs " + std::to_string(bytes / kKibibyte) +
                                           " KiB of device memory, but only " +
                                           std::to_string((budget_ - used_) / kKibibyte) + " of " +
                                           std::to_string(budget_ / kKibibyte) + " are available (option 'memory')");
  }
  auto block = std::make_unique<Block>(shared_from_this(), bytes);
  used_ += bytes;
  return block;
}

size_t DeviceMemory::used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

size_t PlanArena(std::vector<Lifetime>& tensors) {
  // The largest first, each at the lowest free offset: simple, and within a few per cent of the optimum on real
  // networks.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensors[a].elements > tensors[b].elements; });
  size_t size = 0;
  std::vector<size_t> placed;  // by offset
  for (const size_t index : order) {
    Lifetime& tensor = tensors[index];
    tensor.offset = 0;
    for (const size_t other : placed) {
      const Lifetime& near = tensors[other];
      if (near.last < tensor.first || tensor.last < near.first) continue;
      if (tensor.offset + tensor.elements <= near.offset) break;
      tensor.offset = std::max(tensor.offset, near.offset + near.elements);
    }
    const auto place = std::upper_bound(placed.begin(), placed.end(), tensor.offset,
                                        [&](size_t offset, size_t other) { return offset < tensors[other].offset; });
    placed.insert(place, index);
    size = std::max(size, tensor.offset + tensor.elements);
  }
  return size;
}

}  // namespace sim_npu
