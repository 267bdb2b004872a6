// Descriptions of memory, and the allocator of the host's memory.
#pragma once

#include <memory>
#include <string>

#include "api/types.hpp"

namespace ort {

struct MemoryDevice {
  MemoryDeviceType type = kCpuMemory;
  int32_t memory_type = 0;
  uint32_t vendor_id = 0, device_id = 0;

  bool operator==(const MemoryDevice& other) const {
    return type == other.type && memory_type == other.memory_type && vendor_id == other.vendor_id &&
           device_id == other.device_id;
  }
};

struct MemoryInfo {
  std::string name;
  AllocatorType allocator = kDeviceAllocator;
  MemType type = kDefaultMem;
  MemoryDevice device = {};
};

namespace own {

inline constexpr size_t kAlignment = 64;

const MemoryInfo& HostMemory();
// Bytes aligned to kAlignment; never released. [any-thread]
Allocator& HostAllocator();

struct FreeMemory {
  void operator()(void* memory) const;
};
using Memory = std::unique_ptr<void, FreeMemory>;
// NULL: there is none left. At least one byte.
Memory Allocate(size_t size);

}  // namespace own
}  // namespace ort
