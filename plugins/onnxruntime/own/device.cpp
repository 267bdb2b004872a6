#include "own/device.hpp"

#include <fstream>
#include <iterator>
#include <memory>

#include "own/memory.hpp"
#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

HardwareDeviceType HardwareDevice_Type(const HardwareDevice* device) { return device->type; }
uint32_t HardwareDevice_VendorId(const HardwareDevice* device) { return device->vendor_id; }
const char* HardwareDevice_Vendor(const HardwareDevice* device) { return device->vendor.c_str(); }
uint32_t HardwareDevice_DeviceId(const HardwareDevice* device) { return device->device_id; }
const KeyValuePairs* HardwareDevice_Metadata(const HardwareDevice* device) { return &device->metadata; }

// Devices that an EP makes itself, for compiling ahead of time.
Status* CreateHardwareDevice(HardwareDeviceType type, uint32_t vendor_id, uint32_t device_id, const char* vendor,
                             const KeyValuePairs* metadata, HardwareDevice** out) {
  return Guarded([&]() -> Status* {
    *out = new HardwareDevice{type, vendor_id, device_id, vendor == nullptr ? "" : vendor,
                              metadata == nullptr ? KeyValuePairs() : *metadata};
    return nullptr;
  });
}
void ReleaseHardwareDevice(HardwareDevice* device) {
  if (device != &Cpu()) delete device;
}

Status* CreateEpDevice(EpFactory* factory, const HardwareDevice* hardware, const KeyValuePairs* metadata,
                       const KeyValuePairs* options, EpDevice** out) {
  return Guarded([&]() -> Status* {
    if (factory == nullptr || hardware == nullptr) return Fail("a device without factory or hardware");
    auto device = std::make_unique<EpDevice>();
    device->factory = factory;
    device->hardware = hardware;
    const char* name = factory->GetName == nullptr ? nullptr : factory->GetName(factory);
    const char* vendor = factory->GetVendor == nullptr ? nullptr : factory->GetVendor(factory);
    device->provider = name == nullptr ? "" : name;
    device->vendor = vendor == nullptr ? "" : vendor;
    if (metadata != nullptr) device->metadata = *metadata;
    if (options != nullptr) device->options = *options;
    *out = device.release();
    return nullptr;
  });
}
void ReleaseEpDevice(EpDevice* device) { delete device; }
Status* EpDevice_AddAllocatorInfo(EpDevice* device, const MemoryInfo* memory) {
  device->memory = memory;
  return nullptr;
}
const char* EpDevice_EpName(const EpDevice* device) { return device->provider.c_str(); }
const char* EpDevice_EpVendor(const EpDevice* device) { return device->vendor.c_str(); }
const KeyValuePairs* EpDevice_EpMetadata(const EpDevice* device) { return &device->metadata; }
const KeyValuePairs* EpDevice_EpOptions(const EpDevice* device) { return &device->options; }
const HardwareDevice* EpDevice_Device(const EpDevice* device) { return device->hardware; }
const MemoryInfo* EpDevice_MemoryInfo(const EpDevice* device, int32_t) {
  return device->memory == nullptr ? &HostMemory() : device->memory;
}

}  // namespace

HardwareDevice CpuOf(const std::string& info) {
  HardwareDevice cpu;
  // The names that the instruction CPUID gives, and the numbers of the vendors among PCI devices.
  if (info.find("GenuineIntel") != std::string::npos) {
    cpu.vendor = "Intel";
    cpu.vendor_id = 0x8086;
  } else if (info.find("AuthenticAMD") != std::string::npos) {
    cpu.vendor = "AMD";
    cpu.vendor_id = 0x1022;
  }
  return cpu;
}

const HardwareDevice& Cpu() {
  static const HardwareDevice cpu = [] {
    std::ifstream file("/proc/cpuinfo");
    return CpuOf(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  }();
  return cpu;
}

void SetDeviceFunctions(Tables& tables) {
  tables.Set(Slot::HardwareDevice_Type, HardwareDevice_Type);
  tables.Set(Slot::HardwareDevice_VendorId, HardwareDevice_VendorId);
  tables.Set(Slot::HardwareDevice_Vendor, HardwareDevice_Vendor);
  tables.Set(Slot::HardwareDevice_DeviceId, HardwareDevice_DeviceId);
  tables.Set(Slot::HardwareDevice_Metadata, HardwareDevice_Metadata);
  tables.Set(Slot::EpDevice_EpName, EpDevice_EpName);
  tables.Set(Slot::EpDevice_EpVendor, EpDevice_EpVendor);
  tables.Set(Slot::EpDevice_EpMetadata, EpDevice_EpMetadata);
  tables.Set(Slot::EpDevice_EpOptions, EpDevice_EpOptions);
  tables.Set(Slot::EpDevice_Device, EpDevice_Device);
  tables.Set(Slot::EpDevice_MemoryInfo, EpDevice_MemoryInfo);
  tables.Set(EpSlot::CreateHardwareDevice, CreateHardwareDevice);
  tables.Set(EpSlot::ReleaseHardwareDevice, ReleaseHardwareDevice);
  tables.Set(EpSlot::CreateEpDevice, CreateEpDevice);
  tables.Set(EpSlot::ReleaseEpDevice, ReleaseEpDevice);
  tables.Set(EpSlot::EpDevice_AddAllocatorInfo, EpDevice_AddAllocatorInfo);
}

}  // namespace ort::own
