// Lists of a delegate: operators that it can run, and devices that it finds. Copied out of its tables and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/devices.h"
#include "plugin/rejection.hpp"

namespace deputy::host {

inline constexpr uint32_t kMaxCapabilities = 1024;
inline constexpr uint32_t kMaxDevices = 256;

struct CapabilityRow {
  std::string domain, op_type, note;
  uint32_t min_version = 0, max_version = 0;  // 0: any
  uint32_t min_rank = 0, max_rank = DEPUTY_ANY_RANK;
  uint32_t layouts = 1;         // bits 1 << DEPUTY_LAYOUT_...
  std::vector<int32_t> dtypes;  // empty: any

  bool operator==(const CapabilityRow&) const = default;
};

struct DeviceEntry {
  std::string name, driver;
  uint32_t kind = 0;  // deputy_device_kind
  uint64_t memory_bytes = 0, frequency_hz = 0;

  bool operator==(const DeviceEntry&) const = default;
};
// "npu"; "other" for kinds that this host does not know.
const char* NameOfDeviceKind(uint32_t kind);

// Empty for a delegate without the table.
std::optional<Rejection> ListCapabilities(const deputy_delegate& table, std::vector<CapabilityRow>& rows);

// The devices as they are now. A failure is the delegate's own ("no driver"); a breach of the contract is a rejection.
// [load-time]
std::optional<Rejection> EnumerateDevices(const deputy_delegate& table, const deputy_host* host,
                                          std::vector<DeviceEntry>& devices, Status& failure);

}  // namespace deputy::host
