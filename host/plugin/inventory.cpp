#include "plugin/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "plugin/status_handle.hpp"
#include "plugin/table_check.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxName = 128, kMaxNote = 256;
constexpr uint32_t kMaxDTypes = 64;

Rejection Bad(std::string text) { return {RejectReason::kBadTable, std::move(text)}; }

std::string OwnerOf(const deputy_delegate& table) {
  return "'" + std::string(std::string_view(table.id.data, table.id.size)) + "'";
}

std::string CopyInto(std::string_view subject, const deputy_str& from, size_t limit, std::string& to) {
  CopiedText copied = CopyText(from, limit);
  if (!copied.fault.empty()) return fmt::format("{} {}", subject, copied.fault);
  to = CleanText(copied.text, limit);
  return {};
}

// The fault, or empty.
std::string CopyRow(const deputy_capability* raw, CapabilityRow& row) {
  if (raw == nullptr || !DEPUTY_HAS(raw, deputy_capability, note)) return "has no description";
  for (const auto& [field, from, to] :
       {std::tuple{"domain", &raw->domain, &row.domain}, std::tuple{"operator", &raw->op_type, &row.op_type}})
    if (std::string fault = CopyInto(field, *from, kMaxName, *to); !fault.empty()) return fault;
  if (std::string fault = CopyInto("note", raw->note, kMaxNote, row.note); !fault.empty()) return fault;
  if (row.op_type.empty()) return "names no operator";
  row.min_version = raw->min_version;
  row.max_version = raw->max_version;
  row.min_rank = raw->min_rank;
  row.max_rank = raw->max_rank;
  row.layouts = raw->layouts == 0 ? 1u << DEPUTY_LAYOUT_DENSE : raw->layouts;
  if (row.min_rank > row.max_rank) return fmt::format("has ranks from {} to {}", row.min_rank, row.max_rank);
  if (row.max_version != 0 && row.min_version > row.max_version)
    return fmt::format("has definitions from {} to {}", row.min_version, row.max_version);
  if (raw->dtype_count > kMaxDTypes || (raw->dtype_count != 0 && raw->dtypes == nullptr))
    return fmt::format("says that it has {} dtypes", raw->dtype_count);
  for (uint32_t i = 0; i < raw->dtype_count; ++i) row.dtypes.push_back(raw->dtypes[i]);
  return {};
}

// Behind a deputy_device_sink.
struct DeviceCollector {
  std::vector<DeviceEntry>& devices;
  std::string fault;

  std::string Take(const deputy_device_info* raw) {
    if (raw == nullptr || !DEPUTY_HAS(raw, deputy_device_info, frequency_hz)) return "a device has no description";
    if (devices.size() >= kMaxDevices) return fmt::format("it adds more than {} devices", kMaxDevices);
    DeviceEntry device;
    if (std::string wrong = CopyInto("a device's name", raw->name, kMaxName, device.name); !wrong.empty()) return wrong;
    if (std::string wrong = CopyInto("a device's driver", raw->driver, kMaxNote, device.driver); !wrong.empty())
      return wrong;
    if (device.name.empty()) return "a device has no name";
    if (std::any_of(devices.begin(), devices.end(), [&](const DeviceEntry& d) { return d.name == device.name; }))
      return fmt::format("two devices are called '{}'", device.name);
    device.kind = raw->kind <= DEPUTY_DEVICE_DSP ? raw->kind : deputy_device_kind{DEPUTY_DEVICE_OTHER};
    device.memory_bytes = raw->memory_bytes;
    device.frequency_hz = raw->frequency_hz;
    devices.push_back(std::move(device));
    return {};
  }

  static deputy_status* Add(void* self, const deputy_device_info* raw) {
    auto& collector = *static_cast<DeviceCollector*>(self);
    return AnswerOfSink([&] { return collector.Take(raw); },
                        [&](const std::string& wrong) {
                          if (collector.fault.empty()) collector.fault = wrong;
                        });
  }
};

}  // namespace

const char* NameOfDeviceKind(uint32_t kind) {
  switch (kind) {
    case DEPUTY_DEVICE_CPU: return "cpu";
    case DEPUTY_DEVICE_GPU: return "gpu";
    case DEPUTY_DEVICE_NPU: return "npu";
    case DEPUTY_DEVICE_DSP: return "dsp";
    default: return "other";
  }
}

std::optional<Rejection> ListCapabilities(const deputy_delegate& table, std::vector<CapabilityRow>& rows) {
  const deputy_ext_capabilities* extension = CapabilitiesOf(table);
  if (extension == nullptr) return std::nullopt;
  uint32_t count = 0;
  if (!Returned(SiteOf(extension->capability_count, "capability_count"),
                [&] { count = extension->capability_count(&table); }))
    return Rejection{RejectReason::kThrew, "an exception left capability_count of " + OwnerOf(table)};
  if (count > kMaxCapabilities) return Bad(fmt::format("{} says that it has {} capabilities", OwnerOf(table), count));
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_capability* raw = nullptr;
    if (!Returned(SiteOf(extension->capability_at, "capability_at"),
                  [&] { raw = extension->capability_at(&table, i); }))
      return Rejection{RejectReason::kThrew, "an exception left capability_at of " + OwnerOf(table)};
    if (const std::string fault = CopyRow(raw, rows.emplace_back()); !fault.empty())
      return Bad(fmt::format("capability {} of {} {}", i, OwnerOf(table), fault));
  }
  return std::nullopt;
}

std::optional<Rejection> EnumerateDevices(const deputy_delegate& table, const deputy_host* host,
                                          std::vector<DeviceEntry>& devices, Status& failure) {
  const deputy_ext_devices* extension = DevicesOf(table);
  if (extension == nullptr) return std::nullopt;
  DeviceCollector collector{devices, {}};
  deputy_device_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &collector;
  sink.add = DeviceCollector::Add;
  deputy_status* raw = nullptr;
  if (!Returned(SiteOf(extension->enumerate, "enumerate"), [&] { raw = extension->enumerate(&table, host, &sink); }))
    return Rejection{RejectReason::kThrew, "an exception left enumerate of " + OwnerOf(table)};
  const StatusHandle status{raw};
  if (!collector.fault.empty()) return Bad(fmt::format("enumerate of {}: {}", OwnerOf(table), collector.fault));
  if (status) failure = ToStatus(*status);
  return std::nullopt;
}

}  // namespace deputy::host
