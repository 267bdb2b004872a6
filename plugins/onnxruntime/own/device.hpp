// The hardware that EPs are offered, and what they make of it.
#pragma once

#include <cstdint>
#include <string>

#include "own/key_values.hpp"

namespace ort {

struct HardwareDevice {
  HardwareDeviceType type = kCpu;
  uint32_t vendor_id = 0, device_id = 0;
  std::string vendor = {};
  KeyValuePairs metadata = {};
};

struct EpDevice {
  EpFactory* factory = nullptr;
  const HardwareDevice* hardware = nullptr;
  std::string provider = {}, vendor = {};
  KeyValuePairs metadata = {}, options = {};
  const MemoryInfo* memory = nullptr;  // of the EP
};

namespace own {

// This machine's CPU. Made at the first call. [any-thread]
const HardwareDevice& Cpu();

// From the text of /proc/cpuinfo.
HardwareDevice CpuOf(const std::string& info);

}  // namespace own
}  // namespace ort
