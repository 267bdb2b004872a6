#include "own/memory.hpp"

#include <cstdlib>
#include <cstring>

#include "own/key_values.hpp"
#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

void* Alloc(Allocator*, size_t size) { return Allocate(size).release(); }
void Free(Allocator*, void* memory) { FreeMemory()(memory); }
const MemoryInfo* Info(const Allocator*) { return &HostMemory(); }
Status* GetStats(const Allocator*, KeyValuePairs** out) {
  return Guarded([&]() -> Status* {
    *out = new KeyValuePairs;
    return nullptr;
  });
}

Status* CreateMemoryInfo(const char* name, AllocatorType allocator, int device, MemType type, MemoryInfo** out) {
  return Guarded([&]() -> Status* {
    const std::string text = name;
    const bool is_gpu = text == "Cuda" || text == "WebGPU_Buffer" || text == "WebGPU_Buf" || text == "DML";
    *out =
        new MemoryInfo{text, allocator, type, {is_gpu ? kGpuMemory : kCpuMemory, 0, 0, static_cast<uint32_t>(device)}};
    return nullptr;
  });
}
Status* CreateCpuMemoryInfo(AllocatorType allocator, MemType type, MemoryInfo** out) {
  return CreateMemoryInfo("Cpu", allocator, 0, type, out);
}
Status* CreateMemoryInfoForDevice(const char* name, MemoryDeviceType device, uint32_t vendor, int32_t number,
                                  int32_t memory_type, size_t, AllocatorType allocator, MemoryInfo** out) {
  return Guarded([&]() -> Status* {
    *out = new MemoryInfo{name, allocator, kDefaultMem, {device, memory_type, vendor, static_cast<uint32_t>(number)}};
    return nullptr;
  });
}
// As ONNX Runtime: zero for equal ones.
Status* CompareMemoryInfo(const MemoryInfo* a, const MemoryInfo* b, int* out) {
  *out = a->name == b->name && a->allocator == b->allocator && a->type == b->type && a->device == b->device ? 0 : -1;
  return nullptr;
}
Status* MemoryInfoGetName(const MemoryInfo* info, const char** out) {
  *out = info->name.c_str();
  return nullptr;
}
Status* MemoryInfoGetId(const MemoryInfo* info, int* out) {
  *out = static_cast<int>(info->device.device_id);
  return nullptr;
}
Status* MemoryInfoGetMemType(const MemoryInfo* info, MemType* out) {
  *out = info->type;
  return nullptr;
}
Status* MemoryInfoGetType(const MemoryInfo* info, AllocatorType* out) {
  *out = info->allocator;
  return nullptr;
}
void MemoryInfoGetDeviceType(const MemoryInfo* info, MemoryDeviceType* out) { *out = info->device.type; }
int32_t MemoryInfoGetDeviceMemType(const MemoryInfo* info) { return info->device.memory_type; }
uint32_t MemoryInfoGetVendorId(const MemoryInfo* info) { return info->device.vendor_id; }
void ReleaseMemoryInfo(MemoryInfo* info) {
  if (info != &HostMemory()) delete info;
}

const MemoryDevice* MemoryInfo_GetMemoryDevice(const MemoryInfo* info) { return &info->device; }
bool MemoryDevice_AreEqual(const MemoryDevice* a, const MemoryDevice* b) { return *a == *b; }
MemoryDeviceType MemoryDevice_GetDeviceType(const MemoryDevice* device) { return device->type; }
int32_t MemoryDevice_GetMemoryType(const MemoryDevice* device) { return device->memory_type; }
uint32_t MemoryDevice_GetVendorId(const MemoryDevice* device) { return device->vendor_id; }
uint32_t MemoryDevice_GetDeviceId(const MemoryDevice* device) { return device->device_id; }

Status* AllocatorAlloc(Allocator* allocator, size_t size, void** out) {
  *out = allocator->Alloc(allocator, size);
  return nullptr;
}
Status* AllocatorFree(Allocator* allocator, void* memory) {
  allocator->Free(allocator, memory);
  return nullptr;
}
Status* AllocatorGetInfo(const Allocator* allocator, const MemoryInfo** out) {
  *out = allocator->Info(allocator);
  return nullptr;
}
Status* AllocatorGetStats(const Allocator* allocator, KeyValuePairs** out) {
  return allocator->GetStats == nullptr ? GetStats(allocator, out) : allocator->GetStats(allocator, out);
}
Status* GetAllocatorWithDefaultOptions(Allocator** out) {
  *out = &HostAllocator();
  return nullptr;
}
// EPs get only the allocator of the host's memory, which stays.
void ReleaseAllocator(Allocator*) {}

}  // namespace

const MemoryInfo& HostMemory() {
  static const MemoryInfo info{"Cpu"};
  return info;
}

Allocator& HostAllocator() {
  static Allocator allocator{kLastVersion, Alloc, Free, Info, Alloc, GetStats, nullptr};
  return allocator;
}

void FreeMemory::operator()(void* memory) const { std::free(memory); }

Memory Allocate(size_t size) {
  if (size > SIZE_MAX - kAlignment) return nullptr;
  return Memory(
      std::aligned_alloc(kAlignment, size == 0 ? kAlignment : (size + kAlignment - 1) / kAlignment * kAlignment));
}

void SetMemoryFunctions(Tables& tables) {
  tables.Set(Slot::CreateMemoryInfo, CreateMemoryInfo);
  tables.Set(Slot::CreateCpuMemoryInfo, CreateCpuMemoryInfo);
  tables.Set(Slot::CreateMemoryInfo_V2, CreateMemoryInfoForDevice);
  tables.Set(Slot::CompareMemoryInfo, CompareMemoryInfo);
  tables.Set(Slot::MemoryInfoGetName, MemoryInfoGetName);
  tables.Set(Slot::MemoryInfoGetId, MemoryInfoGetId);
  tables.Set(Slot::MemoryInfoGetMemType, MemoryInfoGetMemType);
  tables.Set(Slot::MemoryInfoGetType, MemoryInfoGetType);
  tables.Set(Slot::MemoryInfoGetDeviceType, MemoryInfoGetDeviceType);
  tables.Set(Slot::MemoryInfoGetDeviceMemType, MemoryInfoGetDeviceMemType);
  tables.Set(Slot::MemoryInfoGetVendorId, MemoryInfoGetVendorId);
  tables.Set(Slot::ReleaseMemoryInfo, ReleaseMemoryInfo);
  tables.Set(Slot::AllocatorAlloc, AllocatorAlloc);
  tables.Set(Slot::AllocatorFree, AllocatorFree);
  tables.Set(Slot::AllocatorGetInfo, AllocatorGetInfo);
  tables.Set(Slot::AllocatorGetStats, AllocatorGetStats);
  tables.Set(Slot::GetAllocatorWithDefaultOptions, GetAllocatorWithDefaultOptions);
  tables.Set(Slot::ReleaseAllocator, ReleaseAllocator);
  tables.Set(EpSlot::MemoryInfo_GetMemoryDevice, MemoryInfo_GetMemoryDevice);
  tables.Set(EpSlot::MemoryDevice_AreEqual, MemoryDevice_AreEqual);
  tables.Set(EpSlot::MemoryDevice_GetDeviceType, MemoryDevice_GetDeviceType);
  tables.Set(EpSlot::MemoryDevice_GetMemoryType, MemoryDevice_GetMemoryType);
  tables.Set(EpSlot::MemoryDevice_GetVendorId, MemoryDevice_GetVendorId);
  tables.Set(EpSlot::MemoryDevice_GetDeviceId, MemoryDevice_GetDeviceId);
}

}  // namespace ort::own
