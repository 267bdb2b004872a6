#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

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

Result<uint64_t> DeviceMemory::Allocate(size_t bytes, size_t alignment) {
  Result<std::unique_ptr<Block>> block = Reserve(bytes);
  if (!block.ok()) return Status(Code::kOutOfMemory, block.status().message());
  Buffer buffer;
  buffer.block = std::move(block).value();
  const std::shared_ptr<unsigned char[]> storage(new unsigned char[bytes + alignment]());
  const size_t past = reinterpret_cast<uintptr_t>(storage.get()) % alignment;
  buffer.first = storage.get() + (past == 0 ? 0 : alignment - past);
  buffer.storage = storage;
  buffer.bytes = bytes;
  return Keep(std::move(buffer));
}

Result<uint64_t> DeviceMemory::Import(const deputy::sdk::SharedMemory& memory) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t skipped = memory.offset % page;
  const size_t size = static_cast<size_t>(skipped + memory.byte_size);
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor,
                          static_cast<off_t>(memory.offset - skipped));
  if (base == MAP_FAILED)
    return Status(Code::kNotSupported, std::string("the memory cannot be mapped: ") + std::strerror(errno));
  Buffer buffer;
  buffer.storage = std::shared_ptr<void>(base, [size](void* first) { munmap(first, size); });
  buffer.first = static_cast<unsigned char*>(base) + skipped;
  buffer.bytes = static_cast<size_t>(memory.byte_size);
  return Keep(std::move(buffer));
}

uint64_t DeviceMemory::Keep(Buffer buffer) {
  const std::lock_guard<std::mutex> lock(buffers_mutex_);
  buffers_.emplace(++newest_, std::move(buffer));
  return newest_;
}

void DeviceMemory::Release(uint64_t handle) {
  const std::lock_guard<std::mutex> lock(buffers_mutex_);
  buffers_.erase(handle);
}

void DeviceMemory::LoseBuffers() {
  const std::lock_guard<std::mutex> lock(buffers_mutex_);
  newest_lost_ = newest_;
}

Result<void*> DeviceMemory::Find(uint64_t handle, uint64_t offset, uint64_t bytes) const {
  const std::lock_guard<std::mutex> lock(buffers_mutex_);
  const auto found = buffers_.find(handle);
  if (found == buffers_.end()) return Status(Code::kInvalidArgument, "there is no buffer " + std::to_string(handle));
  if (handle <= newest_lost_)
    return Status(Code::kDeviceLost, "buffer " + std::to_string(handle) + " was lost with the device");
  if (offset > found->second.bytes || bytes > found->second.bytes - offset)
    return Status(Code::kInvalidArgument, "buffer " + std::to_string(handle) + " ends before byte " +
                                              std::to_string(offset) + " + " + std::to_string(bytes));
  return static_cast<void*>(found->second.first + offset);
}

namespace {

// In the order of time, each in the smallest free range that holds it: in a time that grows little faster than their
// number.
size_t PlanInOrder(std::vector<Lifetime>& tensors) {
  std::vector<size_t> begins(tensors.size()), ends(tensors.size());
  std::iota(begins.begin(), begins.end(), size_t{0});
  std::iota(ends.begin(), ends.end(), size_t{0});
  std::stable_sort(begins.begin(), begins.end(),
                   [&](size_t a, size_t b) { return tensors[a].first < tensors[b].first; });
  std::stable_sort(ends.begin(), ends.end(), [&](size_t a, size_t b) { return tensors[a].last < tensors[b].last; });
  std::map<size_t, size_t> free;                // offset, elements
  std::set<std::pair<size_t, size_t>> by_size;  // elements, offset
  size_t size = 0;
  const auto erase = [&](std::map<size_t, size_t>::iterator range) {
    by_size.erase({range->second, range->first});
    return free.erase(range);
  };
  const auto give = [&](size_t offset, size_t elements) {
    if (elements == 0) return;
    auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + elements) {
      elements += next->second;
      next = erase(next);
    }
    if (next != free.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      offset = std::prev(next)->first;
      elements += std::prev(next)->second;
      erase(std::prev(next));
    }
    free[offset] = elements;
    by_size.insert({elements, offset});
  };
  size_t ended = 0;
  for (const size_t index : begins) {
    Lifetime& tensor = tensors[index];
    for (; ended < ends.size() && tensors[ends[ended]].last < tensor.first; ++ended)
      give(tensors[ends[ended]].offset, tensors[ends[ended]].elements);
    tensor.offset = 0;
    if (tensor.elements == 0) continue;
    const auto fit = by_size.lower_bound({tensor.elements, 0});
    if (fit == by_size.end()) {
      tensor.offset = size;
      size += tensor.elements;
      continue;
    }
    const auto range = free.find(fit->second);
    const auto [offset, elements] = *range;
    erase(range);
    tensor.offset = offset;
    give(offset + tensor.elements, elements - tensor.elements);
  }
  return size;
}

// Above, the time of the order by size, which grows with the square of the number, is felt.
constexpr size_t kMostBySize = 4096;

}  // namespace

size_t PlanArena(std::vector<Lifetime>& tensors) {
  if (tensors.size() > kMostBySize) return PlanInOrder(tensors);
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
